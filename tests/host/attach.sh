#!/bin/bash
# SPDX-License-Identifier: MIT
# ms-record -p: running processes are recorded exactly and let go; what cannot be had is refused.
exec python3 "$SRC/tests/host/attach.py"
