#!/bin/bash
# SPDX-License-Identifier: MIT
# A plugin that is opened and closed over and over is one module, with one site for each call stack.
exec python3 "$SRC/tests/host/reload.py"
