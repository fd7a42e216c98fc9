#!/bin/sh
# SPDX-License-Identifier: MIT
# Java runs as without the recorder, and its stacks lead through its code where that keeps frame pointers.
if [ -z "${MS_CHECK_ALL-}" ] || ! command -v javac >/dev/null; then
	echo 'only with make check-all, where there is a JDK'
	exit 77
fi
exec /usr/bin/python3 "${SRC:?}/tests/host/java.py"
