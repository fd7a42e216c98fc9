#!/bin/sh
# SPDX-License-Identifier: MIT
# fork, exec, spawn, and every way in which a process can end.
exec /usr/bin/python3 "${SRC:?}/tests/targets/compare.py" fork exec spawn endings endings:_exit endings:quick_exit endings:exit_group endings:abort endings:fault endings:kill endings:term endings:thread
