#!/bin/sh
# SPDX-License-Identifier: MIT
# A hook that is refused: the command is not run, but one that no longer waited for its hooks, and so runs already, is left alone.
exec /usr/bin/python3 "${SRC:?}/tests/targets/custom/refused.py"
