#!/bin/sh
# SPDX-License-Identifier: MIT
# The formats of other programs, read by readers of our own (tests/cli/export/formats.py): their totals and call stacks are those of --json to
# the byte, of databases by hand and of a recorded program; and what cannot be had is refused. tests/cli/export-consumers.sh has the programs.
set -eu
# shellcheck source=tests/cli/report/fixtures.sh
. "$SRC/tests/cli/report/fixtures.sh"
# of one size class, a single block that comes and goes is a byte longer than the others
fixture odd.db "UPDATE site SET allocated_bytes = allocated_bytes + 2 WHERE id = 7; UPDATE site_size SET allocated_bytes = allocated_bytes + 2 WHERE site = 7;
	UPDATE process SET allocated_bytes = allocated_bytes + 2"
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
python3 "$SRC/tests/cli/export/check.py" run.db run.db@1.5s lost.db sampled.db hidden.db allhidden.db nothing.db two.db part.db headless.db odd.db

# each has a name for --export, and some an option that stands for it
names='folded svg-flame svg-timeline pprof speedscope gprof2dot massif dhat heaptrack callgrind chrome-trace'
[ "$(ms-report --export=list | cut -d ' ' -f 1 | tr '\n' ' ')" = "$names " ] || { ms-report --export=list && exit 1; }
[ "$(ms-report --export list --export=wrong | wc -l)" = 11 ]
for f in $names; do
	for db in run.db hidden.db two.db nothing.db; do
		older=--$f
		[ "$f" = "${f#svg-}" ] || older=--svg=${f#svg-}
		rm -f named
		ms-report "$older" $db >want
		ms-report --export="$f" $db | cmp - want
		ms-report --export="$f:-" $db | cmp - want
		ms-report --export "$f:named" $db
		cmp named want
	done
done
for wrong in pprf ppro pprofx Pprof '' :x list:x; do
	rc=0
	ms-report --export="$wrong" run.db >out 2>err || rc=$?
	want="ms-report: bad --export '${wrong%:*}': expected $(echo "$names" | sed 's/ /, /g') or list"
	if [ "$rc" != 2 ] || [ -s out ] || [ "$(cat err)" != "$want" ]; then echo "--export=$wrong: status $rc" && cat err && exit 1; fi
done

# what the figures are worth is said
says() { # DB WORDS
	for f in speedscope massif dhat heaptrack callgrind chrome-trace; do
		ms-report -q --allow-partial --$f "$1" >out
		grep -qF "$2" out || { echo "--$f $1 does not say: $2" && exit 1; }
	done
	ms-report -q --allow-partial --pprof "$1" | gzip -dc >out
	grep -qaF "$2" out || { echo "--pprof $1 does not say: $2" && exit 1; }
}
says cut.db 'INCOMPLETE: the trace has no end'
says growing.db 'still being recorded'
says lost.db '12 events LOST'
says sampled.db 'sampled every 512.0 KiB allocated: figures are estimates'
says headless.db 'not available, so 0 here or left out: temporary allocations'
says hidden.db 'hidden: 4 sites'

# a figure of a moment that the snapshot does not hold is said to be none, in the file and on standard error
lacks() { # FORMAT DB WORDS
	ms-report --"$1" "$2" >out 2>err
	grep -qaF "$3" out || { echo "--$1 $2 does not say: $3" && exit 1; }
	[ "$(cat err)" = "ms-report: --export=$1: $3 (ms-snap without --at keeps peak and end)" ] || { echo "--$1 $2:" && cat err && exit 1; }
	ms-report -q --"$1" "$2" 2>err >/dev/null
	[ ! -s err ] || { echo "--$1 -q $2:" && cat err && exit 1; }
}
without() { # DB LABEL
	fixture "$1" "UPDATE snapshot SET label = '1.7s' WHERE label = '$2'"
}
without peakless.db peak
without endless.db end
lacks massif peakless.db "no moment 'peak' in the snapshot: no tree is marked as the peak's"
lacks heaptrack peakless.db "no moment 'peak' in the snapshot: the peak shown is the largest of its moments"
lacks dhat peakless.db "no moment 'peak' in the snapshot: figures of the peak are 0 or left out"
lacks heaptrack endless.db "no moment 'end' in the snapshot: figures shown as live at the end, in use or leaked are those at its last moment"
lacks callgrind endless.db "no moment 'end' in the snapshot: figures shown as live at the end, in use or leaked are those at 1.5s"
ms-report --heaptrack peakless.db 2>/dev/null | grep -q "^X .* \[no moment 'peak' in the snapshot: "
[ "$(ms-report --folded peakless.db 2>&1 >/dev/null)" = \
	"ms-report: --export=folded: no moment 'peak' in the snapshot: what is live at the end is shown instead (ms-snap without --at keeps peak and end)" ]
for f in pprof speedscope gprof2dot massif dhat heaptrack callgrind chrome-trace folded; do
	ms-report --$f run.db 2>err >/dev/null
	[ ! -s err ] || { echo "--$f run.db:" && cat err && exit 1; }
done
for f in '--massif endless.db' '--chrome-trace peakless.db' '--folded --allocated peakless.db' '--json peakless.db'; do
	# shellcheck disable=SC2086
	ms-report $f 2>err >/dev/null
	[ ! -s err ] || { echo "$f:" && cat err && exit 1; }
done

# a program with a function whose name is hostile: as many bytes as it had
gcc -O1 -g -pthread -I"$SRC/include" -fno-optimize-sibling-calls -o program "$SRC/tests/cli/export/program.c"
python3 - <<'END'
with open("program", "rb") as f:
    image = f.read()
hostile = b"ho\n\tle\x1b<b>&|`,\""
with open("program", "wb") as f:
    f.write(image.replace(b"hostile_function", hostile.ljust(16, b"\0")))
END
ms-record -q --leak-check=no -o real.trace ./program 'an argument'
ms-snap -q -o real.db real.trace
ms-diff -q real.trace@peak real.trace@end >diff.db
ms-report --pprof=real.pb.gz --callgrind=real.callgrind --chrome-trace=real.trace.json real.db
python3 "$SRC/tests/cli/export/real.py"

refused() { # WORDS MESSAGE
	rc=0
	# shellcheck disable=SC2086
	ms-report $1 >out 2>err || rc=$?
	if ! { [ "$rc" = 2 ] && [ ! -s out ] && grep -qF -- "$2" err; }; then echo "ms-report $1: status $rc" && cat err && exit 1; fi
}
refused '--heaptrack=x.zst run.db' 'cannot write zstd, which'
refused '--pprof --metric failed run.db' '--metric failed is not available in that format'
refused '--dhat --leaks run.db' '--leaks is not available in that format'
refused '--massif --metric peak run.db' '--metric is for --html'
refused '--export=pprof:x --export=massif:x run.db' "two outputs cannot go to one file: 'x'"
refused '--export=pprof --export=massif run.db' 'only one format can go to standard output'
refused '--export=pprof: run.db' "no file name after '--export=pprof:'"
refused '--export=heaptrack:x.zst run.db' 'cannot write zstd, which heaptrack expects'
refused '--export=svg-flame diff.db' '--export=svg-flame shows one run'
fixture many.db "UPDATE site SET allocations = 1000000000000000000 WHERE id = 8"
refused '--heaptrack many.db' 'more than 10,000,000,000'
sleep 100 &
ms-snap -q --maps -p $! -o maps.db
kill $!
refused '--pprof maps.db' 'only figures from /proc'
ms-report --chrome-trace maps.db | jq -e '.otherData.command' >/dev/null
# --metric chooses what is shown first
ms-report --speedscope --metric allocations run.db | jq -e '.profiles[.activeProfileIndex].name == "allocations"' >/dev/null
ms-report --speedscope run.db | jq -e '.profiles[.activeProfileIndex].name == "bytes live at the end"' >/dev/null
ms-report --gprof2dot --allocated run.db | jq -e '.costs == [{"description": "bytes allocated", "unit": "bytes"}]' >/dev/null
