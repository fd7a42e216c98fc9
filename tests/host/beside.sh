#!/bin/sh
# SPDX-License-Identifier: MIT
# Real programs with --mmap, --usable-size and --free-stacks: same output and status, and figures that add up.
set -- sqlite3 python3 perl jq pymalloc
[ -z "${MS_CHECK_ALL-}" ] || set -- "$@" gcc jemalloc
exec /usr/bin/python3 "${SRC:?}/tests/host/beside.py" "$@"
