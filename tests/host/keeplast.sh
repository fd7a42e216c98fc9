#!/bin/bash
# SPDX-License-Identifier: MIT
# --keep=last: the last span of time is there to the event, before it what was live, and totals of the whole run.
exec python3 "$SRC/tests/host/keeplast.py"
