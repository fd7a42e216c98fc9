#!/bin/sh
# SPDX-License-Identifier: MIT
# Stacks in hard places: deep recursion, longjmp, signals, coroutines, modules that come and go.
exec /usr/bin/python3 "${SRC:?}/tests/targets/compare.py" deep longjmp sigraise sigtimer fibers dlopen
