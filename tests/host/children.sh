#!/bin/bash
# SPDX-License-Identifier: MIT
# Forked children of a process that ms-record is attached to: each has a trace with exactly what it says that it did, or is said not to be recorded;
# they live on when the recorder leaves or is killed, and can be attached to themselves.
exec python3 "$SRC/tests/host/children.py"
