#!/bin/sh
# SPDX-License-Identifier: MIT
# node runs as without the recorder, and its stacks lead through V8's code.
if [ -z "${MS_CHECK_ALL-}" ] || ! command -v node >/dev/null; then
	echo 'only with make check-all, where there is node'
	exit 77
fi
exec /usr/bin/python3 "${SRC:?}/tests/host/node.py"
