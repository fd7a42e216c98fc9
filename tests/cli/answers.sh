#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs of tests/cli/answers, each with one memory defect whose line is known: on which row of which group of a report's first screen the
# guilty line stands. With make check-all beside it: on which record of memcheck and heaptrack, and that the rows of a page are those that
# a browser shows.
set -eu
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$SRC/tests/cli/html"
exec python3 "$SRC/tests/cli/answers/answers.py"
