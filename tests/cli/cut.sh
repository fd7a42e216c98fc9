#!/bin/sh
# SPDX-License-Identifier: MIT
# ms-filter --trace-out: recordings of one program, whole, with everything beside the heap, sampled and with the past dropped, are cut.
set -eu
[ -x "$BIN/ms-filter" ]
gcc -O1 -g -pthread -I"$SRC/include" -o app "$SRC/tests/cli/filter/cut.c"
"$BIN/ms-record" -q --leak-check=no -o plain.trace ./app
"$BIN/ms-record" -q --leak-check=no --mmap --usable-size --free-stacks -o beside.trace ./app
"$BIN/ms-record" -q --leak-check=no --sample 2k -o sampled.trace ./app
"$BIN/ms-record" -q --leak-check=no --max-size 1M --keep=live -o live.trace ./app 150000
gcc -O1 -o ends "$SRC/tests/cli/filter/ends.c"
"$BIN/ms-record" -q --leak-check=no -o ends.trace ./ends
gcc -O1 -g -o verdicts "$SRC/tests/cli/filter/verdicts.c"
"$BIN/ms-record" -q --leak-check=yes -o verdicts.trace ./verdicts
exec python3 "$SRC/tests/cli/filter/cut.py"
