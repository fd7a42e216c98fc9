#!/bin/bash
# SPDX-License-Identifier: MIT
# ms-top --listen: each answer, who gets one, clients that are slow, many, or broken, traces that end.
exec python3 "$SRC/tests/cli/listen/check.py"
