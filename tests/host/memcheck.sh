#!/bin/sh
# SPDX-License-Identifier: MIT
# Totals of real programs equal memcheck's.
if [ -z "${MS_CHECK_ALL-}" ]; then
	echo 'only with make check-all'
	exit 77
fi
cd "$PWD" && exec /usr/bin/python3 "${SRC:?}/tests/host/memcheck.py" sqlite3 perl jq git
