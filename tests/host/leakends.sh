#!/bin/sh
# SPDX-License-Identifier: MIT
# What the first programs that everybody tries forget is found however they end: no word that is left over on the stack hides it.
set -eu
python3 "$SRC/tests/host/leakends.py"
