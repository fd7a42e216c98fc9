#!/bin/sh
# SPDX-License-Identifier: MIT
# Real programs give the same output and status when they are recorded, and reports with whole stacks.
exec /usr/bin/python3 "${SRC:?}/tests/host/programs.py" sqlite3 python3 perl gcc git jq cxx
