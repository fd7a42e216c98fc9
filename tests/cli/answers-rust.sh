#!/bin/sh
# SPDX-License-Identifier: MIT
# The questions of answers-service.sh to its twin in Rust.
set -eu
if [ -z "${MS_CHECK_ALL-}" ] || ! command -v rustc >/dev/null; then
	echo 'only with make check-all, where there is rustc'
	exit 77
fi
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$SRC/tests/cli/html"
mkdir old new
rustc -g -O -A unexpected_cfgs -o old/depot "$SRC/tests/cli/answers/depot.rs"
rustc -g -O -A unexpected_cfgs --cfg slip -o new/depot "$SRC/tests/cli/answers/depot.rs"
exec python3 "$SRC/tests/cli/answers/service.py" rs old/depot new/depot
