#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs in C that call every entry point, compared with their own counts.
exec /usr/bin/python3 "${SRC:?}/tests/targets/compare.py" entry realloc zerofail temporary library peak mark churn ctors vla
