#!/bin/sh
# SPDX-License-Identifier: MIT
# Python programs, launched and attached to: their frames in the stacks, against what Python itself says.
python=/usr/bin/python3
version=$($python -c 'import sys; print("%d.%d" % sys.version_info[:2])') || exit 1
if [ "$version" != 3.11 ]; then
	echo "needs Python 3.11, this one is $version"
	exit 77
fi
exec $python "${SRC:?}/tests/host/python.py" "$@"
