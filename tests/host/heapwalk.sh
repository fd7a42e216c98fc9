#!/bin/bash
# SPDX-License-Identifier: MIT
# glibc's heap is walked from outside while the process runs: every block that it has is found, none that it gave back; a damaged heap
# is said to be one.
exec python3 "$SRC/tests/host/heapwalk.py"
