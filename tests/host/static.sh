#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs without .eh_frame_hdr, as static ones are, have whole call stacks.
exec python3 "$SRC/tests/host/static.py"
