#!/bin/bash
# SPDX-License-Identifier: MIT
# Tools that run out of memory, or of disk, at a few of the places where they may: one line, and no half file.
[ -f "${TB:?}/long/failing.so" ] || exit 1
exec "${SRC:?}/tests/long/failing.sh" 3
