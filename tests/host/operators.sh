#!/bin/bash
# SPDX-License-Identifier: MIT
# Who provides operator new, and whose malloc comes first: modules of C++ in a program of C, sanitizers, allocators that cannot be hooked.
exec python3 "$SRC/tests/host/operators.py"
