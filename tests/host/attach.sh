#!/bin/bash
# SPDX-License-Identifier: MIT
# ms-record -p: running processes are recorded and let go, again and again, and are what they were; ms-record is killed at any
# moment; what cannot be had is refused.
exec python3 "$SRC/tests/host/attach.py"
