#!/bin/sh
# SPDX-License-Identifier: MIT
# Real programs lose as much for sure as Valgrind finds in them.
set -eu
if [ "${MS_CHECK_ALL:-0}" != 1 ]; then
	echo "only with make check-all"
	exit 77
fi
command -v valgrind >/dev/null || { echo "valgrind is not installed"; exit 77; }
git init -q .
git -c user.name=a -c user.email=a commit -q --allow-empty -m one
python3 "$SRC/tests/host/leakreal.py"
