#!/bin/sh
# SPDX-License-Identifier: MIT
# Pages of ms-report --html in Chromium: nothing on the console, nothing asked of the network, search and zoom work, figures as in
# --json, hostile names are text, 100,000 sites open.
set -eu
if [ -z "${MS_CHECK_ALL-}" ]; then
	echo 'only with make check-all'
	exit 77
fi
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$SRC/tests/cli/html"
# shellcheck source=tests/cli/report/fixtures.sh
. "$SRC/tests/cli/report/fixtures.sh"
ms-diff -q run.db part.db >diff.db
fixture changed.db "UPDATE site_stat SET live_bytes = live_bytes * 2 WHERE site = 3; UPDATE site_stat SET live_bytes = 0 WHERE site = 1"
ms-diff -q run.db changed.db >changes.db
ms-diff -q run.db run.db >unchanged.db
# all cards that a run can have
cp leaky.db seven.db
# shellcheck disable=SC2154 # of fixtures.sh
sqlite3 seven.db "$grows"
python3 "$SRC/tests/cli/html/hostile.py" hostile.db
ms-snap -q --smaps -p $$ -o regions.db
"$SRC/libcommon/snapshot/columns" schema | sqlite3 many.db
python3 "$SRC/tests/cli/report/many.py" many.db 100000
python3 "$SRC/tests/cli/html/browser.py"
