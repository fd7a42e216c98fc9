#!/bin/bash
# SPDX-License-Identifier: MIT
# Whoever stops the threads of a process is itself stopped, killed, or gets no processor: the process goes on.
exec python3 "$SRC/tests/host/watchdog.py"
