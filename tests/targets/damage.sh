#!/bin/sh
# SPDX-License-Identifier: MIT
# Traces that are cut, damaged, still growing, or left behind by a killed recorder.
exec /usr/bin/python3 "${SRC:?}/tests/targets/damage.py" cut flip growing killed
