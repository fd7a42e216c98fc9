#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/host/python.sh with the next Python, whose frames lie otherwise.
if [ -z "${MS_CHECK_ALL-}" ] || ! python3.12 -c 'import ctypes, sqlite3' >/dev/null 2>&1; then
	echo 'only with make check-all, where there is python3.12'
	exit 77
fi
PYTHON=$(command -v python3.12)
export PYTHON
exec python3.12 "${SRC:?}/tests/host/python.py" "$@"
