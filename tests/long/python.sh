#!/bin/sh
# SPDX-License-Identifier: MIT
# Stacks of Python programs: each as CPython says that it was. An argument: how many at least; 1 million.
exec "${SRC:?}/tests/host/python.sh" "${1:-1000000}"
