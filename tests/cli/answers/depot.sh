#!/bin/sh
# SPDX-License-Identifier: MIT
# Starts depot as packages do: by a script that sets things up, env and timeout. Arguments: the program and its own.
set -eu
umask 022
env LC_ALL=C timeout 600 "$@"
