#!/bin/bash
# SPDX-License-Identifier: MIT
# Events lost at random: the recorder is stopped while threads do not wait for it. An argument: how many runs; 300.
exec python3 "${SRC:?}/tests/long/losses.py" "${1:-300}"
