#!/bin/bash
# SPDX-License-Identifier: MIT
# Whoever stops the threads of a process is itself stopped, killed, or gets no processor. An argument: how many times; 300.
MS_STOPS=${1:-300} exec python3 "${SRC:?}/tests/host/watchdog.py"
