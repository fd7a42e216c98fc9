#!/bin/sh
# SPDX-License-Identifier: MIT
# Threads that free each other's blocks, come, go, and end in every way.
exec /usr/bin/python3 "${SRC:?}/tests/targets/compare.py" handover threadexit shortthreads temporary pingpong pingpong:free
