#!/bin/bash
# SPDX-License-Identifier: MIT
# ms-record --standby: a program and its children are woken again and again, without being traced, and every trace has exactly what was done while
# it was recorded; whoever is killed meanwhile, the program goes on.
exec python3 "$SRC/tests/host/standby.py"
