#!/bin/sh
# SPDX-License-Identifier: MIT
# Address space, usable sizes and stacks of frees, compared with the programs' own counting.
exec /usr/bin/python3 "${SRC:?}/tests/targets/beside.py" mapped:1 mapped:2:4 mapped:3:16 mapped:4:1:150 mapfork usable:1 usable:2:4 usable:3:16
