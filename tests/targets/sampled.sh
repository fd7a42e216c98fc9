#!/bin/sh
# SPDX-License-Identifier: MIT
# Estimates of sampled recordings: 200 runs with make check-all, of which the truth has to be in 181 intervals, else 40.
if [ -n "${MS_CHECK_ALL-}" ]; then
	set -- 200 181
else
	set -- 40 34
fi
exec /usr/bin/python3 "${SRC:?}/tests/targets/sampled.py" "$@"
