#!/bin/sh
# SPDX-License-Identifier: MIT
# Hostile traces, databases and programs: one clear line of every tool, 2 s of the processor and 256 MB at most.
exec python3 "$SRC/tests/cli/hostile_files.py" "$@"
