#!/bin/sh
# SPDX-License-Identifier: MIT
# ms-top reads every byte of a trace that grows once, whatever pieces it comes in, and maps none of it: strace counts.
set -eu
if ! command -v strace >/dev/null; then
	echo 'needs strace, which counts what is read'
	exit 77
fi
[ "$MODE" = release ] || exit 0 # a sanitizer does not run under strace
timeout -s KILL 200 "$SRC/tests/bench/top" reads
