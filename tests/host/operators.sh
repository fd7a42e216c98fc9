#!/bin/bash
# SPDX-License-Identifier: MIT
# Who provides operator new to modules of C++ in a program of C.
exec python3 "$SRC/tests/host/operators.py"
