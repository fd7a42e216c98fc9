#!/bin/sh
# SPDX-License-Identifier: MIT
# --gprof2dot read by gprof2dot, and drawn by dot: the total and every function's share, to the digits that it prints. No package of Debian's
# has a gprof2dot that reads JSON, so this is for who has installed one as "gprof2dot" or "gprof2dot.py"; what the file must be
# is tested in export.sh, and the program itself, on another format, in export-consumers.sh.
set -eu
program=$(command -v gprof2dot || command -v gprof2dot.py) || program=
if [ -z "$program" ] || ! command -v dot >/dev/null; then
	echo 'NOT TESTED: no gprof2dot here, which is in no package, or no dot: --gprof2dot was not read by the program that it is for'
	exit 77
fi
export PYTHONDONTWRITEBYTECODE=1
# shellcheck source=tests/cli/report/fixtures.sh
. "$SRC/tests/cli/report/fixtures.sh"
gcc -O1 -g -pthread -I"$SRC/include" -fno-optimize-sibling-calls -o program "$SRC/tests/cli/export/program.c"
ms-record -q --leak-check=no -o real.trace ./program
ms-snap -q -o real.db real.trace
python3 "$SRC/tests/cli/export/gprof2dot.py" "$program" json run.db real.db hidden.db
