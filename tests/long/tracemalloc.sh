#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs of Python's standard library: what tracemalloc has at a moment, byte for byte and stack for stack. Arguments: names; all 20.
python=/usr/bin/python3
version=$($python -c 'import sys; print("%d.%d" % sys.version_info[:2])') || exit 1
if [ "$version" != 3.11 ]; then
	echo "needs Python 3.11, this one is $version"
	exit 77
fi
exec $python "${SRC:?}/tests/long/traced.py" "$@"
