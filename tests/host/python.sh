#!/bin/sh
# SPDX-License-Identifier: MIT
# Python programs, launched and attached to: their frames in the stacks, against what Python itself says.
python=/usr/bin/python3
version=$($python -c 'import sys; print("%d.%d" % sys.version_info[:2])') || exit 1
case $version in
3.[89] | 3.1[0-5]) ;;
*)
	echo "needs Python 3.8 to 3.15, this one is $version"
	exit 77
	;;
esac
exec $python "${SRC:?}/tests/host/python.py" "$@"
