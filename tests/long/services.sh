#!/bin/bash
# SPDX-License-Identifier: MIT
# Services under load, attached to and let go again and again. An argument: how many times a second each; 100.
exec python3 "${SRC:?}/tests/long/services.py" "${1:-100}"
