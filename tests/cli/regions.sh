#!/bin/bash
# SPDX-License-Identifier: MIT
# ms-snap --maps and --smaps, and what ms-report says of them.
exec python3 "$SRC/tests/cli/regions/check.py"
