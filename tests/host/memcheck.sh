#!/bin/sh
# SPDX-License-Identifier: MIT
# Totals of real programs equal memcheck's: memcheck.py says how they are compared.
if [ -z "${MS_CHECK_ALL-}" ]; then
	echo 'only with make check-all'
	exit 77
fi
set -e
/usr/bin/python3 "${SRC:?}/tests/host/memcheck.py" apart sqlite3 perl jq git python3
/usr/bin/python3 "$SRC/tests/host/memcheck.py" together cc1 cxx_static
