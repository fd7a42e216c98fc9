#!/bin/bash
# SPDX-License-Identifier: MIT
# ms-record -p: it, its helper or the process is killed at any moment; the process goes on, or its trace is right up to then.
exec python3 "$SRC/tests/host/attach_kills.py"
