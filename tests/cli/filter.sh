#!/bin/sh
# SPDX-License-Identifier: MIT
# ms-filter: every option alone, in pairs and in stages on a fixture whose figures are known.
set -eu
[ -x "$BIN/ms-filter" ]
{ "$SRC/libcommon/snapshot/columns" schema && cat "$SRC/tests/cli/filter/fixture.sql"; } | sqlite3 fixture.db
exec python3 "$SRC/tests/cli/filter/check.py" fixture.db
