#!/bin/sh
# SPDX-License-Identifier: MIT
# Three programs in Python: what tracemalloc has in the same run, byte for byte and stack for stack.
exec "${SRC:?}/tests/long/tracemalloc.sh" generators json strings
