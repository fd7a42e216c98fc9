#!/bin/bash
# SPDX-License-Identifier: MIT
# What ms-top --listen serves, taken by the programs that it is for: Prometheus and its alerts, go tool pprof.
set -eu
if [ -z "${MS_CHECK_ALL-}" ]; then
	echo 'make check-all installs Prometheus and Go'
	exit 77
fi
g++ -std=c++17 -O1 -g -o server "$SRC/tests/cli/listen/server.cc" -lpthread
exec python3 "$SRC/tests/cli/listen/consumers.py"
