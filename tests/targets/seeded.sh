#!/bin/sh
# SPDX-License-Identifier: MIT
# 100 multi-threaded programs made from seeds: half with one lock around each call, so that the peak is known, half free.
set --
for seed in $(seq 1 100); do
	if [ -n "${MS_CHECK_ALL-}" ]; then
		set -- "$@" "seeded:$seed" "seeded:$seed:free"
	elif [ $((seed % 2)) = 0 ]; then
		set -- "$@" "seeded:$seed:free"
	else
		set -- "$@" "seeded:$seed"
	fi
done
exec /usr/bin/python3 "${SRC:?}/tests/targets/compare.py" "$@"
