#!/bin/sh
# SPDX-License-Identifier: MIT
# A Valgrind suppression hides the same blocks from Valgrind and from ms-filter, but where leaksuppress.py says why not.
set -eu
if [ "${MS_CHECK_ALL:-0}" != 1 ]; then
	echo "only with make check-all"
	exit 77
fi
command -v valgrind >/dev/null || { echo "valgrind is not installed"; exit 77; }
python3 "$SRC/tests/host/leaksuppress.py" valgrind "$TB/targets/leaks" "$TB/targets/leaks"
