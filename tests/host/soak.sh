#!/bin/bash
# SPDX-License-Identifier: MIT
# A server under load, recorded with --keep=live: counted to the byte.
exec "${SRC:?}/tests/long/soak.sh" 10
