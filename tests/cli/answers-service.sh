#!/bin/sh
# SPDX-License-Identifier: MIT
# Seven questions about the memory of a service, directly and by a wrapper script, and how many commands each answer takes.
set -eu
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$SRC/tests/cli/html"
mkdir slip
g++ -std=gnu++17 -O1 -g -fno-omit-frame-pointer -DSLIP -o slip/depot "$SRC/tests/cli/answers/depot.cc"
exec python3 "$SRC/tests/cli/answers/service.py" cc "$TB/cli/answers/depot" slip/depot
