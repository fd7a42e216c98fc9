#!/bin/sh
# SPDX-License-Identifier: MIT
# Valgrind finds the same leaks in the small programs, block by block, but where leakblocks.py says why not.
set -eu
if [ "${MS_CHECK_ALL:-0}" != 1 ]; then
	echo "only with make check-all"
	exit 77
fi
command -v valgrind >/dev/null || { echo "valgrind is not installed"; exit 77; }
python3 "$SRC/tests/host/leakblocks.py" valgrind "$TB/targets/leaks" "$TB/targets/leaks"
python3 "$SRC/tests/host/leakends.py" valgrind
