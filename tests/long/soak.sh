#!/bin/bash
# SPDX-License-Identifier: MIT
# redis-server at full rate for long, recorded with --max-size and --keep=live, ms-top following. An argument: for how many seconds; 3600.
command -v redis-benchmark >/dev/null || {
	echo 'soak: no redis'
	exit 77
}
exec python3 "${SRC:?}/tests/long/soak.py" "${1:-3600}"
