#!/bin/sh
# SPDX-License-Identifier: MIT
# ms-diff and ms-report's budgets on changes, on snapshots whose figures are known.
set -eu
[ -x "$BIN/ms-diff" ]
{ "$SRC/libcommon/snapshot/columns" schema && cat "$SRC/tests/cli/filter/fixture.sql"; } | sqlite3 old.db
exec python3 "$SRC/tests/cli/diff/check.py" "$SRC"
