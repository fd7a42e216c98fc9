#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/host/python.sh with the Pythons before it.
exec "${SRC:?}/tests/host/python-others.sh" 3.8 3.9 3.10
