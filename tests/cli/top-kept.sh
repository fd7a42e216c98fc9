#!/bin/bash
# SPDX-License-Identifier: MIT
# What keeps blocks alive, in ms-top: a scan asked for with K, the view of all keepers, those of a site, before the scan, where there is none, and in
# JSON. The figures are those that tests/targets/kept is made to have.
set -u
# shellcheck source-path=SCRIPTDIR source=top/lib.sh
. "$SRC/tests/cli/top/lib.sh"
record="$BIN/ms-record"

# begin TRACE PROGRAM OPTION...: a recorded program that is ready and goes on when it is let go.
begin() {
	local trace=$1 program=$2
	shift 2
	rm -f ready go truth
	mkfifo go
	# shellcheck disable=SC2086
	"$record" -q -o "$trace" "$@" "$TB"/targets/kept/$program &
	recorder=$!
	until_true test -e ready
}
finish() {
	: >go
	wait $recorder || fail "recorder: status $?"
}
# shown FROM TO NAME: the lines of the screen from one that matches to one that does, without times, lines and folders of the source and what depends
# on the C library; compared with standard input.
shown() {
	cat >expected
	for _ in $(seq 300); do
		screen
		sed -nE "/$1/,/$2/p" screen | sed -E 's/ at [0-9.]+ m?s/ at T/; s/(kept\.c:)[0-9]+/\1N/g; s/ +[^ ]*(tests.targets.kept.kept\.c)/  src\/\1/; /C library.s data/s/^ +[0-9]+ +[0-9.]+/N/; s/[^ ]+…$/…/; s/ \([^)]*…$/ …/; s/ +$//' >lines
		cmp -s lines expected && return
		sleep 0.1
	done
	fail "$3: $(diff lines expected)"
}

# ---- while it runs ----
begin live.trace kept
start 100 24 -d 200ms live.trace
sees '^kept \([0-9]+\)   live\.trace   recording '
keys 6
sees '^  no retention scan yet: press K for one'
sees '\[6 Kept by\] +0 keepers$'
keys K
sees '^kept \(pid [0-9]+\): g_owner keeps 97\.7 KiB of 281\.6 KiB; 1\.5 KiB unreachable; stopped for '
sees '\[6 Kept by\] +10 keepers$'
sees 'owner \*'
shown RETAINS smaller 'keepers' <<'END'
  RETAINS     %  BLOCKS  KEPT BY, as of a scan at T: 280 K of 282 K live, 1.46 K unreachable
>  97.7 K  34.7     101  + global g_owner (kept.c:N, owner *); also reached from global g_alias
   50.8 K  18.0     500  + global g_list (kept.c:N, node *)
   50.8 K  18.0     500  + shared by g_list + g_middle
   48.8 K  17.3      50  + thread 'worker-7', frame run_worker (kept.c:N)
   13.7 K   4.9      20  + global g_table (kept.c:N, void **)
   9.77 K   3.5       2  + global cache.0 (kept.c:N, void *[4])
   3.91 K   1.4      10  + mapping of 1.0 MiB
   2.93 K   1.0       1  + thread 'worker-7', thread_local local_block (kept.c:N, void *)
   1.46 K   0.5       5  + global g_beside (kept.c:N, void **)
N       1  + the C library's data of thread 'worker-7'
        8   0.0       1    smaller ones
END
# opened, by site and caller
keys Enter
shown RETAINS g_list 'below a keeper' <<'END'
  RETAINS     %  BLOCKS  KEPT BY, as of a scan at T: 280 K of 282 K live, 1.46 K unreachable
>  97.7 K  34.7     101  - global g_owner (kept.c:N, owner *); also reached from global g_alias
   97.7 K  34.7     101   - +0 some kept.c:N < make_owner kept.c:N (1 of its own)
   96.9 K  34.4     100      some kept.c:N < make_owner kept.c:N
   50.8 K  18.0     500  + global g_list (kept.c:N, node *)
END
keys j j j Enter
sees '^>  50\.8 K +18\.0 +500  - global g_list'
sees '^   50\.8 K +18\.0 +500     \+0 some kept\.c:[0-9]+ < make_list kept\.c:[0-9]+, linked$'
# a row with nothing below it is a site
keys k Enter
sees '^ live 96\.9 K in 100 blocks '
shown '^ kept by' '0  some' 'what keeps the blocks of a site' <<'END'
 kept by, as of a scan at T
   96.9 K 100.0     100  global g_owner (kept.c:N, owner *); also reached from global g_alias
     global g_owner → some kept.c:N < make_owner → some kept.c:N < make_owner
>  0  some  src/tests/targets/kept/kept.c:N
END
# blocks that two keep
keys q 1
sees '^\[1 Sites\]'
keys / make_list Enter Enter
sees '^ live 102 K in 1\.00 k blocks '
shown '^ kept by' '0  some' 'keepers of a site' <<'END'
 kept by, as of a scan at T
   50.8 K  50.0     500  global g_list (kept.c:N, node *)
     global g_list → some kept.c:N < make_list (500 times)
   50.8 K  50.0     500  shared by g_list + g_middle
     global g_middle → some kept.c:N < make_list (500 times)
>  0  some  src/tests/targets/kept/kept.c:N
END
keys q / lose Enter Enter
sees '^ live 1\.46 K in 5 blocks '
sees '^ kept by, as of a scan at [0-9.]+ m?s: no keeper: its blocks are unreachable, or newer than the scan$'
# on small screens
keys q 6
$S resize-window -x 80 -y 24
sees '^  RETAINS     %  BLOCKS  KEPT BY, as of a scan at [0-9.]+ m?s: 280 K of 282 K live'
sees '^1 Sites 2 Tree 3 Threads 4 Timeline 5 Sizes \[6 Kept by\] +10 keepers$'
keys '?'
sees ' 6 +what keeps blocks alive|^6 +what keeps blocks alive'
sees 'K +scan: what keeps blocks alive'
keys x
$S resize-window -x 40 -y 10
sees '^1 2 3 4 5 \[6 Kept by\] +10 keepers$'
shown RETAINS worker-7 '40 columns' <<'END'
  RETAINS  KEPT BY
   97.7 K  - global g_owner …
   97.7 K   - +0 some kept.c:N < …
>  96.9 K      some kept.c:N < …
   50.8 K  - global g_list …
   50.8 K     +0 some kept.c:N < …
   50.8 K  + shared by g_list + g_middle
   48.8 K  + thread 'worker-7', frame …
END
$S resize-window -x 100 -y 24
# ---- when it has ended ----
finish
sees '^kept .*   ended   '
keys K
sees "no recorder is writing 'live\.trace': its recording has ended"
# shellcheck disable=SC2317  # until_true calls it
before() { keys '{' && screen && grep -q '^  no retention scan up to this moment' screen; }
until_true before
keys End
sees '\[6 Kept by\] +10 keepers$'
keys Q
ends 0
timeout 600 "$T" --json -n 1 live.trace | jq -S '.retention | [.scans, .keepers]' >frame.json
"$BIN/ms-report" --json live.trace | jq -S '.retention | [.scans, .keepers] | del(.[][].process)' >report.json
[ "$(jq -c '[.[0][0].kept_bytes, (.[1] | length), .[1][0].name, .[1][0].retained_bytes]' frame.json)" = '[286812,11,"g_owner",100000]' ] || fail "--json: $(cat frame.json)"
cmp frame.json report.json || fail "--json: $(diff frame.json report.json)"

# ---- a scan that is refused, one that has too little memory, and none ----
begin refused.trace kept --retention=no
start 100 24 -d 200ms refused.trace
sees '^kept .*   recording '
keys K
sees "the recorder of 'refused\.trace': retention scans are off: --retention=no, --leak-check=no"
finish
sees '   ended   '
keys 6
sees '^  no retention scan in this recording: ms-record --retention$'
keys q
ends 0
timeout 600 "$T" --json -n 1 refused.trace | jq -e 'has("retention") | not' >/dev/null || fail '--json without a scan'
begin short.trace 'keptcxx 10000' --retention=memory:1M
start 120 24 -d 200ms short.trace
sees '^keptcxx .*   recording '
keys K
sees 'what keeps blocks is not known: the search needs more memory than --retention=memory allows$'
keys 6
sees '^  not known: the scan needed more memory than ms-record --retention=memory allows'
sees '^  RETAINS +% +BLOCKS  KEPT BY, as of a scan at [0-9.]+ m?s$'
keys 1 Enter
sees '^ kept by, as of a scan at [0-9.]+ m?s: not known: the scan needed more memory'
finish
keys Q
ends 0

# ---- the recorder of a trace in FILE.d/ is that of FILE; one that only polls has nothing to scan ----
rm -f ready go
mkfifo go
# shellcheck disable=SC2016 # for the shell there
"$record" -q -o exec.trace --follow=all sh -c 'exec "$0"' "$TB/targets/kept/kept" &
recorder=$!
until_true test -e ready
start 100 24 -d 200ms exec.trace
sees '^kept \([0-9]+\)   kept\.[0-9.]+\.trace   recording '
keys K
sees '^kept \(pid [0-9]+\): g_owner keeps 97\.7 KiB of 281\.6 KiB; '
keys 6
sees '\[6 Kept by\] +10 keepers$'
finish
keys Q
ends 0
"$record" --poll -q -o poll.trace sh -c 'until [ -e over ]; do sleep 0.1; done' &
recorder=$!
until_true test -s poll.trace
start 100 24 -d 200ms poll.trace
sees '   recording '
keys K
sees '^allocations were not recorded: there is nothing to scan$'
: >over
wait $recorder || fail "polling: status $?"
keys Q
ends 0

[ $failures = 0 ] && echo ok
exit $((failures != 0))
