#!/bin/bash
# SPDX-License-Identifier: MIT
# ms-report --annotate: figures of each line that are known beforehand, recursion, inlined calls, names of files, sources that are gone.
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# report ARG...: what it says goes to out, and must be without complaint
report() {
	{ ms-report "$@" >out 2>err && [ ! -s err ]; } || die "ms-report $*: status $?: $(cat err)"
}
# rows WHAT ARG...: lines of CSV without the source
rows() {
	report --csv --annotate "$@"
	cut -d, -f1-5 out | tail -n +2
}
mkdir -p one two far/app/one
# tests/cli/annotate/app.c has the lines that figures are expected of
cp "$SRC"/tests/cli/annotate/*.c .
mv first.c one/part.c
mv second.c two/part.c
gcc -g -O0 -I"$SRC/include" -o app app.c one/part.c two/part.c || exit 1
ms-record -q -o run.trace ./app || die 'cannot record'
ms-snap -o run.db --at start --at mark:half --at peak --at end run.trace

# malloc's sizes: 10 rings of 4 by recursion (100 B), their names (7 B); 5 blocks of 1,000 B by what is inlined; 3 of 64 KiB, freed at once
# (what is below the first of each 4 rings by the recursion: 30 of both); main keeps two parts of 1 KiB, and three after the mark
want='19,280,40,280,40
24,4000,40,4000,40
25,0,0,3210,60
26,0,0,280,40
32,5000,5,5000,5
38,0,0,4280,80
40,0,0,5000,5
41,0,0,2048,2
43,0,0,3072,3'
[ "$(rows app.c --metric live run.db)" = "$want" ] || die "live: $(cat out)"
# what one file holds of its own is what --by file says, in each metric
for metric in live peak allocated allocations temporary; do
	for file in app.c one/part.c two/part.c; do
		report --csv --by file --metric "$metric" run.db
		case $metric in live) column=live_bytes ;; peak) column=peak_bytes ;; allocated) column=allocated_bytes ;; *) column=$metric ;; esac
		by=$(python3 -c 'import csv, sys; print(sum(int(r[sys.argv[1]]) for r in csv.DictReader(open("out")) if r["file"].endswith("/" + sys.argv[2])))' "$column" "$file")
		report --csv --annotate "$file" --metric "$metric" run.db
		own=$(python3 -c 'import csv; print(sum(int(list(r.values())[1]) for r in csv.DictReader(open("out"))))')
		[ "$by" = "$own" ] || die "$file by $metric: $own, but --by file says $by"
	done
done
[ "$(rows two/part.c --metric allocated run.db)" = '11,196608,3,196608,3' ] || die "allocated: $(cat out)"
[ "$(rows one/part.c --metric live --at mark:half run.db)" = '12,2048,2,2048,2' ] || die "--at: $(cat out)"
[ "$(rows one/part.c run.trace@mark:half)" = '12,2048,2,2048,2' ] || die "@POINT: $(cat out)"
[ "$(rows one/part.c --metric live run.trace)" = '12,5120,5,5120,5' ] || die "the end: $(cat out)"

# text: the source beside the figures, tabs as blanks; a file that is long in parts
report --width 120 --annotate app.c --metric live run.db
grep -qF 'app.c by line, live at the end: self 9.1 KiB, inclusive 14.1 KiB, whole program 14.1 KiB' <(tr '\n' ' ' <out | tr -s ' ') || die "title: $(cat out)"
grep -q '^  24 * 3.9 KiB  *40 * 3.9 KiB  *40          struct ring \*r = malloc(100);$' out || die "a line: $(cat out)"
grep -q '^  25  *3.1 KiB  *60          r->next = ' out || die "a line with nothing of its own: $(cat out)"
{ grep -q '^   1 ' out && [ "$(grep -c '^ *[0-9][0-9]*\( \|$\)' out)" = "$(wc -l <app.c)" ]; } || die "a short file is whole: $(cat out)"
report --annotate two/part.c --metric allocated run.db
[ "$(grep -o '^ *[0-9][0-9]* ' out | tr -d ' ' | tr '\n' ' ')" = '8 9 10 11 12 13 14 ' ] || die "a long file in parts: $(cat out)"
grep -q '^ *\.\.\.$' out || die "what is left out: $(cat out)"
report --annotate app.c --metric live --limit 2 run.db
{ [ "$(grep -c '^  [34].* 4.9 KiB  ' out)" = 2 ] && ! grep -q '^  38 .*KiB' out && grep -q '4.2 KiB.* 7 more lines$' out; } || die "--limit: $(cat out)"
report --json --annotate app.c --metric live --limit 2 run.db
jq -ce '[.views[0].rows[] | [.line, .self_bytes, .inclusive_bytes]], .views[0].more' out >json
[ "$(tr '\n' ' ' <json)" = '[[32,5000,5000],[40,0,5000]] {"rows":7,"self_bytes":4280,"self_blocks":80} ' ] || die "--limit in JSON: $(cat json)"
report --md --annotate app.c run.db
grep -q '^```text' out || die 'markdown'
report --json --annotate app.c --metric live run.db
jq -e '.views[0] | .view == "annotate" and (.rows | length) == 9 and (.rows[2] | .line == 25 and .self_bytes == 0 and
	.inclusive_bytes == 3210 and (.source | test("link")))' out >/dev/null || die "json: $(cat out)"
report --annotate app.c --width 40 --ascii run.db
[ "$(awk 'length > 40' out)" = '' ] || die "40 columns: $(cat out)"

# sampled: an estimate a line, its interval in the title and in JSON
ms-record -q -s 1 -o sampled.trace ./app || die 'cannot sample'
report --annotate app.c --metric live sampled.trace
grep -q '^  24 * [0-9.]* KiB .*struct ring' out || die "sampled: $(cat out)"
report --json --annotate app.c --metric live sampled.trace
jq -e '.views[0].rows[] | select(.line == 24) | .self_bytes_low <= 4000 and .self_bytes_high >= 4000' out >/dev/null || die "sampled: $(cat out)"

# names: on the disk, as typed, ambiguous, unknown
for name in "$PWD/app.c" ./app.c one/../app.c; do
	report --annotate "$name" run.db
done
refused() { # STATUS-2 TEXT ARG...
	text=$1
	shift
	ms-report "$@" >out 2>err
	{ [ "$? $(wc -l <err)" = '2 1' ] && [ ! -s out ] && grep -qF -- "$text" err; } || die "$*: $(cat out err)"
}
refused "'part.c' is ambiguous: '$PWD/" --annotate part.c run.db
refused "/two/part.c'" --annotate part.c run.db
refused "no frame is in 'three/part.c': did you mean '$PWD/" --annotate three/part.c run.db
refused "no frame is in 'none.c' (--by file lists the files)" --annotate none.c run.db
refused "no frame is in 'none.c'" --annotate none.c run.trace
refused 'anonymize does not hide' --anonymize --annotate app.c run.db
refused 'is not available in that format' --html=x.html --annotate app.c run.db
refused 'given twice' --annotate app.c --annotate one/part.c run.db
refused "--annotate" --annotate '' run.db

# built elsewhere: the same parts; the source is gone; shorter than it was; a folder has its name
mv one/part.c far/app/one/part.c
report --width 120 --annotate far/app/one/part.c --metric live run.db
{ grep -q "; source: far/app/one/part.c" <(tr '\n' ' ' <out | tr -s ' ') && grep -q '^  12  *5.0 KiB  *5  *5.0 KiB  *5  .*malloc(1024)' out; } || die "moved: $(cat out)"
report --width 120 --annotate one/part.c --metric live run.db
{ grep -q 'source not found' <(tr '\n' ' ' <out | tr -s ' ') && grep -q '^  12  *5.0 KiB .* keep_one$' out; } || die "gone: $(cat out)"
mkdir one/part.c
report --annotate one/part.c run.db
head -c 20 two/part.c >start && mv start two/part.c
report --annotate two/part.c --metric allocated run.db
grep -q '(no such line in the source)' out || die "short: $(cat out)"
head -c 3000 /dev/urandom >two/part.c
report --annotate two/part.c --metric allocated run.db
exit 0
