#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs in C++, compared with their own counts.
exec /usr/bin/python3 "${SRC:?}/tests/targets/compare.py" cxx replaced throw cxxthread
