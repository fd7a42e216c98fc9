#!/bin/bash
# SPDX-License-Identifier: MIT
# Python programs of generators, coroutines, exceptions and threads that hand over the interpreter's lock without end, while ms-record, or they,
# are killed at any moment. An argument: for how many seconds; 600.
exec python3 "${SRC:?}/tests/long/storms.py" "${1:-600}"
