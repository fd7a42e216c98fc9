#!/bin/sh
# SPDX-License-Identifier: MIT
# Each format of ms-report read by the program that it is for: go tool pprof, ms_print, heaptrack_print, callgrind_annotate, and in a browser
# speedscope's page and dh_view. The one gprof2dot that Debian has, in ruby-stackprof, is older than its JSON and reads callgrind's format;
# export-gprof2dot.sh has the JSON.
set -eu
if [ -z "${MS_CHECK_ALL-}" ]; then
	echo 'make check-all installs pprof, heaptrack, valgrind, a browser and speedscope'
	exit 77
fi
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$SRC/tests/cli/html"
# shellcheck source=tests/cli/report/fixtures.sh
. "$SRC/tests/cli/report/fixtures.sh"
gcc -O1 -g -pthread -I"$SRC/include" -fno-optimize-sibling-calls -o program "$SRC/tests/cli/export/program.c"
ms-record -q --leak-check=no -o real.trace ./program
ms-snap -q --every 1ms --at peak --at end --at mark:warm -o real.db real.trace
npm pack --silent speedscope@1.25.0 >/dev/null
tar -xzf speedscope-*.tgz
python3 "$SRC/tests/cli/export/consumers.py" package/dist/release/index.html run.db real.db hidden.db sampled.db two.db
gprof2dot=$(dpkg -L ruby-stackprof | grep '/gprof2dot\.py$')
python3 "$SRC/tests/cli/export/gprof2dot.py" "$gprof2dot" callgrind run.db real.db
