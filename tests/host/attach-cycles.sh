#!/bin/bash
# SPDX-License-Identifier: MIT
# ms-record -p: processes of all kinds are recorded and let go, again and again, and are what they were.
exec python3 "$SRC/tests/host/attach_cycles.py"
