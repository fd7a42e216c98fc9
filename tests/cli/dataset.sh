#!/bin/sh
# SPDX-License-Identifier: MIT
# ms-snap --dataset: what a partition says against the snapshot of the same trace, keys, refusals, many writers, killed ones; ms-diff --history:
# noise from the runs before, runs chosen by key, and partitions of any damage.
set -eu
gcc -g -O1 -o app "$SRC/tests/cli/dataset/app.c"
exec python3 -B "$SRC/tests/cli/dataset/check.py"
