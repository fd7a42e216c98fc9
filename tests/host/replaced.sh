#!/bin/bash
# SPDX-License-Identifier: MIT
# Names are those of the code that ran, whatever became of its file: replaced, overwritten, removed, closed at once. Where the file
# is not to be had, there is no name, and ms-report --modules says so.
exec python3 "$SRC/tests/host/replaced.py"
