#!/bin/sh
# SPDX-License-Identifier: MIT
# redis-server under load gives the same answers when it is recorded.
if [ -z "${MS_CHECK_ALL-}" ]; then
	echo 'only with make check-all'
	exit 77
fi
exec /usr/bin/python3 "${SRC:?}/tests/host/redis.py"
