#!/bin/bash
# SPDX-License-Identifier: MIT
# Hostile programs with and without ms-record. An argument: the rounds on an idle machine, and, above 1, as many on a busy one; 20.
exec python3 "${SRC:?}/tests/long/hosts.py" "$@"
