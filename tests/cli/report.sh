#!/bin/sh
# SPDX-License-Identifier: MIT
# ms-report on a recording made by hand, whose figures are known: totals and a first screen.
set -eu
cat "$SRC/libcommon/schema.sql" "$SRC/tests/cli/report/run.sql" | sqlite3 run.db
ms-report run.db >first
grep -q 'peak 3.2 MiB in 4,112 blocks at 2.500 s' first
ms-report --json run.db | jq -e '.totals.allocated_bytes == 10368060 and .totals.peak_bytes == 3405476 and
	([.sites[].live_bytes] | add) == .totals.unfreed_bytes and ([.sites[].peak_bytes] | add) == .totals.peak_bytes' >/dev/null
