#!/bin/bash
# SPDX-License-Identifier: MIT
# Commands that nothing can be preloaded into (static, for musl, with a malloc of their own) are recorded from their first allocation
# on, and are what they are without a recorder; what cannot be is refused.
exec python3 "$SRC/tests/host/inject.py"
