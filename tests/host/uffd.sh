#!/bin/bash
# SPDX-License-Identifier: MIT
# Memory that a program delivers itself (userfaultfd) is not waited for: launched, attached to, scanned and looked at, it goes on.
exec python3 "$SRC/tests/host/uffd.py"
