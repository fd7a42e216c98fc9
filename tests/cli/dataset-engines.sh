#!/bin/sh
# SPDX-License-Identifier: MIT
# The recipes of ms-dataset(5) in the engines that they name, on a thousand runs of real traces with what is planted in them: each query must find it.
set -eu
if [ -z "${MS_CHECK_ALL-}" ]; then
	echo 'only with make check-all: it needs DuckDB, PostgreSQL and ClickHouse'
	exit 77
fi
export MS_COMMITS=50
python3 -B "$SRC/tests/cli/dataset/make.py" history $MS_COMMITS 20
npm install --silent --no-audit --no-fund @duckdb/node-api@1.5.6-r.1 >/dev/null
python3 -B "$SRC/tests/cli/dataset/engines.py" sqlite duckdb postgresql clickhouse shards
