#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/host/python.sh with other Pythons, whose frames lie otherwise: the next ones, or those given.
found=
[ $# -gt 0 ] || set -- 3.12 3.13 3.14 3.15
for version; do
	python=python$version
	if [ -z "${MS_CHECK_ALL-}" ] || ! "$python" -c 'import ctypes' >/dev/null 2>&1; then
		continue
	fi
	found=1
	(mkdir "$version" && cd "$version" &&
		PYTHON=$(command -v "$python") /usr/bin/python3 "${SRC:?}/tests/host/python.py") || exit 1
done
if [ -z "$found" ]; then
	echo "only with make check-all, where there is a Python of $*"
	exit 77
fi
