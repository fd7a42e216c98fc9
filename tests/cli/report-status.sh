#!/bin/bash
# SPDX-License-Identifier: MIT
# ms-report's exit status and its one line of complaint: bad options, bad input, outputs that fail, incomplete input, budgets.
set -u
# shellcheck source=tests/cli/report/fixtures.sh
. "$SRC/tests/cli/report/fixtures.sh"
failed=0
fail() {
	echo "FAILED: $*"
	failed=1
}
# STATUS TEXT ARGUMENTS: standard error is one line that holds TEXT, or empty when TEXT is
try() {
	local want=$1 text=$2 rc=0 lines
	shift 2
	ms-report "$@" >out 2>err </dev/null || rc=$?
	[ "$rc" = "$want" ] || fail "ms-report $*: status $rc, expected $want: $(cat err)"
	lines=$(wc -l <err)
	if [ -z "$text" ]; then
		[ "$lines" = 0 ] || fail "ms-report $*: unexpected: $(cat err)"
	else
		grep -qF -- "$text" err || fail "ms-report $*: no '$text' in: $(cat err)"
		[ "$lines" = 1 ] || fail "ms-report $*: $lines lines: $(cat err)"
		grep -q '^ms-report: ' err || fail "ms-report $*: no name in: $(cat err)"
	fi
}

# options
try 2 "unknown option '--nonsense'" --nonsense run.db
try 2 "unknown option '-x'" -x run.db
try 2 "option '--site' needs an argument" run.db --site
try 2 "bad --site 'x'" --site x run.db
try 2 "no site 77 in this snapshot" --site 77 run.db
try 2 "bad --tree 'sideways': expected down or up" --tree=sideways run.db
try 2 "bad --by 'colour'" --by colour run.db
try 2 "bad --metric 'x'" --metric x --tree run.db
try 2 "--metric is for --html, --tree, --annotate, --by and these of --export: folded, svg-flame, pprof, speedscope, gprof2dot" --metric live run.db
try 2 "--by size cannot be sorted by --metric failed" --by size --metric failed run.db
try 2 "--by process cannot be sorted by --metric mapped" --by process --metric mapped run.db
try 2 "--by thread cannot be sorted by --metric mapped" --by thread --metric mapped run.db
try 2 "--by program cannot be sorted by --metric live" --by program --metric live run.db
try 2 "bad --style=width '5'" --width 5 run.db
try 2 "bad --growth=reach '0': must be more than 0" --growth --reach 0 run.db
try 2 "bad --limit '-1'" --limit -1 run.db
try 2 "bad --color 'red'" --color=red run.db
try 2 "only one format can go to standard output" --json --csv run.db
try 2 "--tree is not available in that format" --json --tree run.db
try 2 "--threads is not available in that format" --folded --threads run.db
try 2 "--csv is one table" --csv --threads --sizes run.db
try 2 "--sql was given twice" --sql 'SELECT 1' --sql 'SELECT 2' run.db
try 2 "--sql is not available in that format" --folded --sql 'SELECT 1' run.db
try 2 "no file name after '--json='" --json= run.db
try 2 "two outputs cannot go to one file: 'x'" --json=x --md=x run.db
try 2 "option '--at': empty argument" --at '' run.db
try 2 "'7s'" --at 7s run.db
try 2 "'7s'" run.db@7s
try 2 "conflicting --at" --at peak run.db@end

# queries: one SELECT that reads, and nothing is written before it was answered
for query in 'DELETE FROM site' 'UPDATE site SET id = 1' 'CREATE TABLE t(x)' 'CREATE TEMP VIEW v AS SELECT 1' "ATTACH 'x.db' AS x" 'DETACH main' \
	'PRAGMA table_info(site)' 'VACUUM' 'BEGIN' "VACUUM INTO 'x.db'" 'REPLACE INTO meta VALUES (1, 2)' 'ANALYZE'; do
	try 2 'bad query: only SELECT is allowed' --sql "$query" run.db
done
try 2 'bad query: one SELECT only' --sql 'SELECT 1; SELECT 2' run.db
try 0 '' --sql 'SELECT 1; ' run.db
try 2 'bad query: it is empty' --sql ' -- nothing' run.db
try 2 'bad query: near "SELEC": syntax error' --sql 'SELEC 1' run.db
try 2 'bad query: no such column: sight' --sql 'SELECT sight FROM site' run.db
try 2 'bad query: not authorized' --sql "SELECT load_extension('x')" run.db
try 2 'bad query: string or blob too big' --sql 'SELECT randomblob(100000000)' run.db
try 2 'more than 1,000,000 rows: add a LIMIT' --csv --sql 'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c' run.db
try 2 'bad query' --text=touched --md=touched2 --sql 'SELECT' run.db
[ -z "$(ls touched* x.db 2>/dev/null)" ] || fail 'something was written although the query failed'

# input
: >empty
echo 'hello, this is a text file and not a trace at all, nor a snapshot of anything, as one can see' >text
try 2 "empty" empty
try 2 "text" text
try 2 "none.trace" none.trace
ms-report <empty >out 2>err
[ "$? $(wc -l <err)" = '2 1' ] || fail "empty standard input: $(cat err)"
ms-report - <run.db >out 2>err || fail "a snapshot on standard input: $(cat err)"
grep -q 'ms-report --site 1 FILE' out || fail 'standard input has no name to type'
cmp -s <(ms-report --json <run.db) <(ms-report --json run.db) || fail 'a pipe and a file differ'
# a terminal on standard input must not hang
script -qec 'ms-report' /dev/null >out 2>&1 </dev/null
grep -q 'nothing to report on' out || fail "a terminal as input: $(cat out)"

# output
ms-report run.db >/dev/full 2>err
[ "$? $(cat err)" = "2 ms-report: cannot write 'standard output': No space left on device" ] || fail "/dev/full: $(cat err)"
for f in text md json csv folded; do
	try 2 "cannot write '/dev/full': No space left on device" --$f=/dev/full run.db
	try 2 "cannot write '/nowhere/x'" --$f=/nowhere/x run.db
done
ms-report --help >/dev/full 2>err
[ $? = 2 ] || fail "--help to /dev/full"
echo before >keep
try 2 "no site 77" --text=keep --site 77 run.db
[ "$(cat keep)" = before ] || fail 'an output was touched although the run failed'
try 0 "" --json=j.json --md=m.md --csv=c.csv --folded=f.folded --text=t.txt run.db
[ ! -s out ] || fail 'with files only, standard output stays empty'
for f in j.json m.md c.csv f.folded t.txt; do [ -s "$f" ] || fail "$f is missing"; done
jq -e .format j.json >/dev/null || fail 'not JSON'
cmp -s t.txt <(ms-report run.db) || fail 'text to a file and to standard output differ'

# incomplete input
try 2 "incomplete: the trace has no end" cut.db
try 2 "incomplete: 4,096 bytes" damaged.db
try 0 "" --allow-partial cut.db
grep -q 'INCOMPLETE' out || fail 'no banner'
for f in json csv folded; do try 2 "incomplete" --$f cut.db; done
try 2 "" -q cut.db
try 0 "" growing.db
try 0 "" lost.db
try 0 "" killed.db

# budgets
try 0 "" --fail-on 'unfreed_bytes > 1244756' run.db
try 1 "budget 'unfreed_bytes > 1244755' is broken: the figure is 1244756" --fail-on 'unfreed_bytes > 1244755' run.db
try 1 "is broken: the figure is 3405476" -q --fail-on 'peak_bytes>=3405476' run.db
try 1 "is broken" --fail-on 'allocations == 105137' run.db
try 0 "" --fail-on 'allocations != 105137' --fail-on 'frees<1' --fail-on ' frees <= 102010 ' run.db
try 1 "is broken" --fail-on 'peak_bytes > 3M' run.db
try 0 "" --fail-on 'peak_bytes > 3.25MiB' run.db
try 1 "is broken" --fail-on 'peak_time_ns > 2s' run.db
try 1 "is broken" --fail-on 'peak_time_ns = 2500000000' run.db
try 2 "budget 'unreachable_bytes > 0' cannot be checked: the program was not scanned for leaks" --fail-on 'unreachable_bytes > 0' run.db
# of what filters leave, so that suppressions count
try 2 "budget 'shown_unreachable_bytes > 0' cannot be checked: the program was not scanned for leaks" --fail-on 'shown_unreachable_bytes > 0' run.db
try 1 "is broken: the figure is 195180" --fail-on 'shown_unreachable_bytes > 0' leaky.db
ms-filter -q --not-verdict unreachable -o shown.db leaky.db
try 1 "is broken: the figure is 192000 (187.5 KiB), most of it at site 2: " --fail-on 'shown_unreachable_bytes > 0' shown.db
try 1 "is broken: the figure is 3000" --fail-on 'shown_unreachable_blocks > 2999' shown.db
try 1 "is broken: the figure is 195180" --fail-on 'unreachable_bytes > 0' shown.db
ms-filter -q --not-verdict indirect -o shown.db shown.db
try 0 "" --fail-on 'shown_unreachable_bytes > 0' --fail-on 'shown_unreachable_blocks > 0' shown.db
try 2 "cannot be checked: the figure is not available in this recording" --allow-partial --fail-on 'temporary_allocations > 0' sampled.db
try 2 "cannot be checked: events were lost" --fail-on 'peak_bytes > 1G' lost.db
try 2 "cannot be checked: the recording is sampled" --fail-on 'peak_bytes > 1G' sampled.db
try 1 "is broken" --allow-partial --fail-on 'peak_bytes > 1k' lost.db
ms-report --fail-on 'peak_bytes > 1k' cut.db >out 2>err
[ $? = 2 ] || fail 'a budget on an incomplete recording'
try 1 "is broken" --allow-partial --fail-on 'peak_bytes > 1k' cut.db
ms-report --fail-on 'peak_bytes > 1k' --fail-on 'frees > 1' --fail-on 'frees > 1G' run.db >out 2>err
[ $? = 2 ] || fail 'a count has no unit'
ms-report --fail-on 'peak_bytes > 1k' --fail-on 'frees > 1' --fail-on 'frees > 1000000' run.db >out 2>err
[ "$? $(wc -l <err)" = '1 2' ] || fail "two broken budgets: $(cat err)"
ms-report --fail-on 'peak_bytes > 1k' --fail-on 'unreachable_blocks > 1' run.db >out 2>err
[ $? = 2 ] || fail 'undecided beats broken'
try 2 "no figure 'speed'" --fail-on 'speed > 1' run.db
try 2 "no figure 'peak': did you mean peak_bytes?" --fail-on 'peak > 1' run.db
try 2 "no figure 'delta_peak': did you mean delta_peak_bytes?" --fail-on 'delta_peak > 1' run.db
try 2 "no figure 'unfred_bytes': did you mean unfreed_bytes?" --fail-on 'unfred_bytes > 1' run.db
try 2 "site() has no figure 'live_bits': did you mean live_bytes?" --fail-on 'site("f*").live_bits > 1' run.db
try 2 "'unfreed_blocks' is a count, which takes no unit: expected a whole number, not '10k'" --fail-on 'unfreed_blocks > 10k' run.db
try 2 "'live_blocks' is a count, which takes no unit" --fail-on 'site("f*").live_blocks > 10M' run.db
try 0 "its pattern matches no site, so its figure is 0" --fail-on 'site("nowhere*").live_bytes > 1' run.db
try 2 "its pattern matches no site (--fail-on=strict)" --strict --fail-on 'site("nowhere*").live_bytes > 1' run.db
try 2 "its pattern matches no site (--fail-on=strict)" -q --strict --fail-on 'site("nowhere*").live_bytes > 1' --fail-on 'frees < 0' run.db
try 0 "" --strict --fail-on 'site("*").live_bytes > 1G' run.db
try 2 "needs a budget" --strict run.db
try 2 "expected >, >=" --fail-on 'frees ~ 1' run.db
try 2 "expected a number" --fail-on 'frees >' run.db
try 2 "bad budget 'peak_bytes > -1'" --fail-on 'peak_bytes > -1' run.db
try 2 "bad budget 'peak_bytes > 1x'" --fail-on 'peak_bytes > 1x' run.db
try 2 "bad budget ''" --fail-on '' run.db

# of a part of the program
try 1 "the figure is 192000 (187.5 KiB), most of it at site 2: orderd::PriceCache::insert src/cache.cpp:77 < orderd::Feed::tick" --fail-on 'site("orderd::Price*").live_bytes > 187k' run.db
try 0 "" --fail-on 'site("orderd::Price*").live_bytes > 188k' run.db
try 1 "the figure is 1244756 (1.2 MiB)" -q --fail-on ' site( "*" ).live_bytes>1' run.db
try 1 "the figure is 1244756 (1.2 MiB), most of it at site 1:" --fail-on 'site("*").live_bytes >= 1244756' run.db
try 1 "is broken: the figure is 100120, most of it at site 8:" --fail-on 'site("orderd::[PL]*[rt]::[df]*").allocations == 100120' run.db
try 0 "its pattern matches no site" --fail-on 'site("nothing").allocations > 0' run.db
try 2 "filters hid sites" --fail-on 'site("orderd::*").allocations > 0' hidden.db
try 2 "cannot be checked: the figure is not available in this recording" --allow-partial --fail-on 'site("orderd::*").temporary > 0' sampled.db
try 2 "bad budget 'site(x).live_bytes > 1': expected site(\"PATTERN\")" --fail-on 'site(x).live_bytes > 1' run.db
try 2 "expected site(\"PATTERN\")" --fail-on 'site("").live_bytes > 1' run.db
try 2 "expected ').FIGURE' after the pattern" --fail-on 'site("x") live_bytes > 1' run.db
try 2 "site() has no figure 'unfreed_bytes'" --fail-on 'site("x").unfreed_bytes > 1' run.db
# from a file
printf '# what the nightly run may hold\n\n  unfreed_bytes > 2M  # at its end\r\npeak_bytes > 3M\n' >budgets
try 1 "budget 'peak_bytes > 3M' is broken" --budgets budgets run.db
try 0 "" --budgets /dev/null run.db
echo 'speed > 1' >>budgets
try 2 "budgets:5: bad budget 'speed > 1'" --budgets budgets run.db
try 2 "cannot open 'absent'" --budgets absent run.db
try 2 "cannot read '.'" --budgets . run.db

# colour
for c in '' --color=never; do
	ms-report $c run.db | grep -q "$(printf '\033')\\[" && fail "colour $c"
done
ms-report --color=always run.db | grep -q "$(printf '\033')\\[1m" || fail 'no colour'
script -qec 'TERM=xterm ms-report --no-pager run.db' /dev/null </dev/null | grep -q "$(printf '\033')\\[1m" || fail 'no colour on a terminal'
script -qec 'NO_COLOR=1 TERM=xterm ms-report --no-pager run.db' /dev/null </dev/null | grep -q "$(printf '\033')" && fail 'colour with NO_COLOR'

# what everybody asks
[ "$(ms-report -V)" = "ms-report $(sed -n 's/^VERSION := //p' "$SRC/Makefile")" ] || fail "-V: $(ms-report -V)"
ms-report -h | grep -q '^usage: ms-report' || fail '-h'
exit $failed
