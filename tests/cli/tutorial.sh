#!/bin/sh
# SPDX-License-Identifier: MIT
# memscope-tutorial(7): its programs are built, its commands run in their order, and they say what the page shows.
set -eu
python3 "$SRC/tests/cli/tutorial.py" "$SRC/man/memscope-tutorial.7"
# what programs left for perf(1)
for trace in node.trace java.trace; do
	[ ! -f $trace ] || rm -f "/tmp/perf-$(ms-report --json $trace | jq '.processes[0].pid').map"
done
