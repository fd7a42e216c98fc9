#!/bin/bash
# SPDX-License-Identifier: MIT
# What a command that nothing can be preloaded into becomes and starts: static, dynamic, with a malloc of its own, for musl.
exec python3 "$SRC/tests/host/chain.py"
