#!/bin/sh
# SPDX-License-Identifier: MIT
# Moments of real programs' traces: read from a checkpoint, from the start, and by a plain replay, all the same; spans are differences.
exec /usr/bin/python3 "${SRC:?}/tests/targets/moments.py"
