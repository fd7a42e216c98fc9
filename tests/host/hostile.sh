#!/bin/bash
# SPDX-License-Identifier: MIT
# Hostile programs, and places where something is missing: output and status are the same with ms-record and without.
exec "${SRC:?}/tests/long/hosts.sh" 1
