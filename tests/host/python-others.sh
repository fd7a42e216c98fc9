#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/host/python.sh with the Pythons before and after it, whose frames lie otherwise.
found=
for version in 3.8 3.9 3.10 3.12 3.13; do
	python=python$version
	if [ -z "${MS_CHECK_ALL-}" ] || ! $python -c 'import ctypes' >/dev/null 2>&1; then
		continue
	fi
	found=1
	(mkdir $version && cd $version &&
		PYTHON=$(command -v $python) /usr/bin/python3 "${SRC:?}/tests/host/python.py" "$@") || exit 1
done
if [ -z "$found" ]; then
	echo 'only with make check-all, where there is another Python of 3.8 to 3.13'
	exit 77
fi
