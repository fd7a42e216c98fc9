#!/bin/sh
# SPDX-License-Identifier: MIT
# What ms-diff takes for the same site in two builds, for a corpus of changes of which it is known what is right.
exec python3 "$SRC/tests/cli/diff-pairs/check.py"
