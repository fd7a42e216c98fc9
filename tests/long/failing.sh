#!/bin/bash
# SPDX-License-Identifier: MIT
# Every allocation of our own tools fails in turn, and their disk is full from every write on. An argument: how many runs of each command.
exec python3 "${SRC:?}/tests/long/failing.py" "$@"
