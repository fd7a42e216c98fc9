#!/bin/bash
# SPDX-License-Identifier: MIT
# ms-record -p of a program with many threads that compute: nothing else on the machine stands still.
exec python3 "$SRC/tests/host/attach_still.py" -c 1 8
