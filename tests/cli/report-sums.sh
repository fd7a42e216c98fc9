#!/bin/sh
# SPDX-License-Identifier: MIT
# Rows, what is left out and what filters hide add up to the totals, in every view of ms-report and every format.
set -eu
# shellcheck source=tests/cli/report/fixtures.sh
. "$SRC/tests/cli/report/fixtures.sh"
python3 "$SRC/tests/cli/report/sums.py" run.db cut.db sampled.db hidden.db allhidden.db two.db nothing.db headless.db
