#!/bin/bash
# SPDX-License-Identifier: MIT
# ms-record --poll: figures, what is warned of, ends, statuses, files.
exec python3 "$SRC/tests/cli/poll/check.py"
