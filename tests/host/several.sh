#!/bin/bash
# SPDX-License-Identifier: MIT
# ms-record -p with several processes: each has a trace with exactly what it says that it did; one that cannot be had, or that ends, costs the
# others nothing.
exec python3 "$SRC/tests/host/several.py"
