#!/bin/sh
# SPDX-License-Identifier: MIT
# What is typed in zsh and fish is completed.
if [ -z "${MS_CHECK_ALL-}" ]; then
	echo 'make check-all installs zsh and fish'
	exit 77
fi
exec python3 "$SRC/tests/cli/completions.py" "$BIN/../completions" zsh fish
