#!/bin/bash
# SPDX-License-Identifier: MIT
# ms-top of a trace: while it grows, when it has ended, at earlier moments; in a terminal, as plain frames and as JSON. The figures
# are those of ms-snap --at.
set -u
# shellcheck source-path=SCRIPTDIR source=top/lib.sh
. "$SRC/tests/cli/top/lib.sh"
record="$BIN/ms-record" snap="$BIN/ms-snap" traced=$TB/cli/top/traced feed=$TB/cli/top/feed
numbers() { python3 "$SRC/tests/cli/top/numbers.py" "$@" || fail "figures of $* differ: $(cat "$3")"; }

# ---- a program that does what it is told, recorded ----
mkfifo told
gone() { # it does not hear us any more
	wait $recorder
	fail "the program that is told what to do has ended, status $?: $(cat said.err)"
	exit 1
}
trap gone PIPE
begin() { # TRACE
	"$record" -q -o "$1" "$traced" <told >said 2>said.err &
	recorder=$!
	exec 9>told
	until_true eval "[ -s '$1' ] || ! kill -0 $recorder"
	kill -0 $recorder 2>/dev/null || gone
}
tell() {
	local n
	n=$(wc -l <said)
	echo "$*" >&9
	until_true eval "[ \$(wc -l <said) -gt $n ]"
}
finish() {
	echo quit >&9 # others may have inherited that end
	exec 9>&-
	wait $recorder || fail "recorder: status $?"
}

# ---- while it grows ----
begin live.trace
tell hoard 100
start 120 40 -d 200ms live.trace
sees '^traced \([0-9]+\)   live\.trace   recording   .*lag [0-9.]+ s   every event'
sees '^> +97\.7 K .* 100 .* hoard traced\.c:[0-9]+ < main'
tell churn 5000
sees '^ +0 .* 100 % .* temporary +churn traced\.c'
tell thread 40
sees '^ +19\.5 K .* 40 .* work traced\.c'
tell mark
# differences from a baseline; the selection stays with its site when that changes places
keys j
sees '^> +19\.5 K'
keys b
sees 'BASE now shows the change in LIVE since this moment'
tell hoard 300
sees '^ +391 K +\+293 K .* hoard'
tell thread 2000
sees '^> +996 K .* work' 'reordered'
sees '^. +996 K +\+977 K .* 2\.04 k .* work'
keys s
sees 'sort BASE'
keys s s v
sees 'sort -BLOCKS'
keys S S S v
sees 'sort LIVE'
# the views
keys 2
sees '^> +996 K +71\.8 +2\.04 k    work traced\.c:61$' 'without the start of threads'
sees '^  +391 K +28\.2 +402  - main traced\.c$'
sees ' hoard traced\.c'
keys j
keys Enter
sees '^> .*  \+ main traced\.c$'
keys Enter
sees ' hoard traced\.c'
keys 3
sees ' worker$'
sees 'LIVE +BLOCKS ALLOC/S +TOTAL'
keys 4
sees 'peak 1\.3[0-9] M at'
sees ' half way'
keys 5
sees '^> +32 - +63 +0 +0 +5\.00 k +100 %'
sees '^ +512 - +1023 +391 K +400 +400 +0 %'
keys Tab
sees '\[6 Kept by\]'
keys Tab
sees '\[1 Sites\]'
keys / hoard Enter
sees '^> .* hoard'
keys f wor
sees 'filter: wor \([0-9]+ hidden\)'
sees 'hidden by the filter'
screen
grep -q 'hoard traced.c:[0-9]* < main$' screen && fail "filtered, and yet there: $(cat screen)"
keys Escape
sees '^. .* hoard'
# a site
keys / hoard Enter Enter
sees '^ live 391 K in 400 blocks   \+293 K since the baseline'
sees '^> +0 +hoard .*traced\.c:[0-9]+$'
sees ' 1 +main .*traced\.c:[0-9]+$'
sees ' live bytes by size'
sees ' 512-1\.00 K .* 100 % 400'
sees ' live bytes by thread'
sees ' live blocks by age'
keys j
sees '^> +1 +main '
keys Escape
sees '\[1 Sites\]'
keys Escape
sees '^q: quit' 'Esc does not quit'
keys Space
sees 'FROZEN'
tell hoard 100
sleep 0.6
screen
grep -q '488 K' screen && fail 'frozen, and yet it moves'
keys Space
sees '^. +488 K '
keys '?'
sees '^\[ +earlier'
keys x
# a snapshot of this moment is that of ms-snap
keys w
sees 'wrote live\.trace\.[0-9.]+s\.db'
db=$(echo live.trace.*s.db) point=${db#live.trace.}
point=${point%.db}
"$snap" -q --at "$point" -o same.db live.trace || fail 'ms-snap of it'
# the file has grown since
tables='SELECT * FROM snapshot; SELECT * FROM site_stat; SELECT id, allocations, frees, allocated_bytes, temporary FROM site'
[ "$(sqlite3 "$db" "$tables")" = "$(sqlite3 same.db "$tables")" ] || fail 'another snapshot'
screen
numbers screen same.db screen
rm "$db"
# all sizes
for size in '40 10' '200 60' '60 20' '400 100' '80 24' '120 40'; do
	# shellcheck disable=SC2086
	set -- $size
	$S resize-window -x "$1" -y "$2"
	for view in 1 2 3 4 5 6; do
		keys $view
		sees "\\[$view [KSTZ]" "at $size"
	done
	keys 1 Enter
	sees '^─* ?[─]+ ' "a site at $size"
	keys q
done
# its end
finish
sees '^traced .*   ended   '
sees ' (unreachable|reachable|indirect) '

# ---- earlier moments ----
keys '['
sees 'PAST, at '
keys '[' '['
sees 'PAST, at '
keys '{' '{' '{'
sees 'PAST, at '
sees '^[> ] +[0-9]'
keys w
for _ in $(seq 3000); do
	screen
	grep -q 'wrote live' screen && break
	grep -q 'not there yet' screen && keys w
	sleep 0.1
done
sees 'wrote live\.trace\.[0-9.]+s\.db'
db=$(echo live.trace.*s.db) point=${db#live.trace.}
point=${point%.db}
"$snap" -q --at "$point" -o same.db live.trace || fail 'ms-snap of the past'
cmp "$db" same.db || fail 'another snapshot of the past'
numbers screen same.db screen
keys ']'
sees 'PAST, at '
keys End
sees '^traced .*   ended   '
keys End g
keys Q
ends 0

# ---- the same in plain frames and JSON ----
"$snap" -q --at end -o end.db live.trace
timeout 600 "$T" --json -n 1 live.trace >frame.json || fail "--json: status $?"
numbers json end.db frame.json
jq -e '.state == "ended" and .mode == "trace" and .trouble == false and .sites[1].caller.name == "main"' frame.json >/dev/null || fail "$(cat frame.json)"
start 100 25 live.trace
sees '^> +996 K'
screen
COLUMNS=100 LINES=25 timeout 600 "$T" -b -n 1 live.trace >frame || fail "-b: status $?"
sed -e 's/^>/ /' -e '/^? help/d' -e 's/ *$//' screen | sed -e '/^$/d' >shown
sed -e 's/ *$//' frame | cmp - shown || fail "a plain frame is not the screen: $(diff frame shown)"
keys q
ends 0
LC_ALL=C timeout 600 "$T" -b -n 1 live.trace | LC_ALL=C grep -q '[^ -~]' && fail 'not ASCII'
for columns in 40 60 80 200; do
	[ "$(COLUMNS=$columns timeout 600 "$T" -b -n 1 live.trace | python3 -c 'import sys; print(max(len(l.rstrip("\n")) for l in sys.stdin))')" -le $columns ] ||
		fail "a line of $columns columns is too long"
done

# ---- it becomes another program ----
# shellcheck disable=SC2016 # for the shell there
"$record" -q -o exec.trace --follow=all sh -c 'exec "$0"' "$traced" < <(echo hoard 7) >said || fail 'sh -c exec'
timeout 600 "$T" --json -n 1 exec.trace | jq -e '.command | test("^traced")' >/dev/null || fail 'not followed over exec'

# while it is watched: rates are of the new program alone, whose sites have the numbers of others
cat >twice.c <<'END'
#include <stdlib.h>
#include <unistd.h>
static void *volatile last;
static void churn(int n) { while (n--) free(last = malloc(100)); }
int main(int argc, char **argv)
{
	churn(argc < 2 ? 20000 : 5000);
	while (access(argc < 2 ? "seen.once" : "seen.twice", F_OK))
		usleep(10000);
	return argc < 2 ? execl(argv[0], argv[0], "again", (char *)NULL) : 0;
}
END
gcc -g -O1 -fno-builtin -o twice twice.c || fail gcc
"$record" -q -o twice.trace --follow=all ./twice &
recorder=$!
"$T" --json -d 200ms twice.trace >twice.frames &
top=$!
until_true eval "jq -se 'any(.allocations == 20000 and .rates.allocations_per_second > 0)' twice.frames >/dev/null"
kill -STOP $top # it sees no end of the old program, only the new one
touch seen.once
until_true eval "timeout 600 '$T' --json -n 1 twice.trace | jq -e 'select(.allocations == 5000)' >/dev/null"
kill -CONT $top
until_true eval "jq -se 'any(.allocations == 5000 and .rates.allocations_per_second > 0)' twice.frames >/dev/null"
touch seen.twice
wait $recorder || fail "twice: status $?"
wait $top || fail "ms-top of twice: status $?"
jq -se '[.[] | select((.command | endswith(" again")) and .state == "recording" and .rates.allocations_per_second > 0)] |
	length > 0 and all((([.sites[].allocations_per_second] | add) - .rates.allocations_per_second) | fabs < 1)' twice.frames >/dev/null ||
	fail "rates after exec: $(jq -c '[.command, .state, .rates, .sites]' twice.frames)"

# ---- a file that is written bit by bit ----
"$record" -q -o whole.trace "$traced" < <(for n in 1 2 3 4 5 6 7 8; do echo "churn 20000" && echo "hoard 10$n"; done) >said
coproc FEED { "$feed" whole.trace fed.trace; }
feed() {
	echo "$*" >&"${FEED[1]}"
	read -r _ <&"${FEED[0]}" || fail "feed $*"
}
fed() {
	local pid=$FEED_PID
	echo quit >&"${FEED[1]}"
	wait "$pid"
}
feed events 1000
start 110 30 -d 200ms fed.trace
sees '^traced .*   fed\.trace   recording   '
feed half
sleep 0.5
sees '^traced .*   recording   '
feed events 200000
feed rate 400000
sees '^> +816 K .* 836 .* hoard'
keys w
sees 'wrote fed\.trace\.[0-9.]+s\.db'
feed unlock
sees '^traced .*   ended   '
"$snap" -q --at end -o end.db whole.trace
screen
numbers screen end.db screen
keys q
ends 0
rm -f fed.trace.*.db
fed

# ---- files that something happens to ----
watched() { # FILE: a fresh, growing one and a terminal on it
	coproc FEED { "$feed" whole.trace "$1"; }
	feed events 60000
	start 120 30 -d 200ms "$1"
	sees '   recording   '
	sees '^> .* hoard'
}
watched removed.trace
rm removed.trace
sees '^traced .*   the file was removed'
feed events 400000
sees '^> +816 K .* 836 .* hoard'
keys w
sees 'the trace file no longer exists'
keys '['
sees 'PAST, at '
keys q
ends 0
fed

watched rotated.trace
mv rotated.trace rotated.trace~
cp live.trace rotated.trace
sees 'the file was replaced by another one: \^L reads that'
keys C-l
sees '^traced .*   rotated\.trace   ended   '
sees '996 K .* work'
keys q
ends 0
fed

watched cut.trace
feed cut 500
sees 'the file was truncated: what was read is kept'
sees '^> .* hoard'
keys q
ends 0
fed

watched killed.trace
feed unlock
sees 'INCOMPLETE: the recorder is gone'
keys q
ends 0
fed

cp whole.trace damaged.trace
size=$(stat -c %s damaged.trace)
printf 'damage in the middle' | dd of=damaged.trace bs=1 seek=$((size / 2)) conv=notrunc status=none || fail dd
COLUMNS=120 timeout 600 "$T" -b -n 1 damaged.trace >frame || fail "damaged: status $?"
expect 'DAMAGED: part of the file cannot be read'
head -c $((size / 2)) whole.trace >short.trace
COLUMNS=120 timeout 600 "$T" -b -n 1 short.trace >frame || fail "short: status $?"
expect 'INCOMPLETE: the recorder is gone'

# ---- what is no trace ----
wrong() { # MESSAGE ARGS
	local message=$1 rc
	shift
	timeout 600 "$T" -b -n 1 "$@" >out 2>err </dev/null
	rc=$?
	[ $rc = 2 ] || fail "$*: status $rc"
	grep -q -- "$message" err || fail "$*: $(cat err)"
}
: >empty.trace
wrong "cannot open 'nowhere.trace': No such file" nowhere.trace
wrong "cannot read 'empty.trace': empty file" empty.trace
wrong "cannot read 'end.db': it is a database" end.db
wrong "it is a folder; name a trace in it" .
wrong "cannot follow '/dev/null': it is not a regular file" /dev/null
wrong "one argument too many" live.trace live.trace
wrong "choose one" -p 1 live.trace

# ---- a recording that only begins: it is waited for; one that is over has what sites held at its peak ----
cat >begins.c <<'END'
#include <stdlib.h>
#include <unistd.h>
static void *volatile a, *volatile b;
static void __attribute__((noinline)) keep_small(void) { a = malloc(1000); }
static void __attribute__((noinline)) keep_large(void) { b = malloc(300000); }
int main(void) { keep_small(); keep_large(); while (access("seen", F_OK)) usleep(10000); free(a); free(b); return 0; }
END
gcc -g -O1 -fno-builtin -o begins begins.c || fail gcc
"$record" -q -o begins.trace ./begins &
recorder=$!
COLUMNS=100 timeout 600 "$T" -b -n 1 begins.trace >frame || fail 'a recording that only begins'
expect '^begins \([0-9]+\)   begins\.trace   recording  '
! grep -q ' PEAK ' frame || fail "a peak of what goes on: $(cat frame)"
: >seen
wait $recorder
COLUMNS=100 timeout 600 "$T" -b -n 1 begins.trace >frame || fail 'over'
expect '^    LIVEv    PEAK '
expect '^ +0 +293 K .* keep_large begins\.c:5'
expect '^ +0 +1000 .* keep_small begins\.c:4'
[ "$(grep -oE 'keep_(large|small)' frame | head -1)" = keep_large ] || fail "order by peak: $(cat frame)"
COLUMNS=100 timeout 600 "$T" -b -n 1 --sort -peak begins.trace >frame || fail '--sort -peak'
[ "$(grep -oE 'keep_(large|small)' frame | head -1)" = keep_small ] || fail "--sort -peak: $(cat frame)"

# ---- of a sampled recording figures are what samples stand for, or are not told; what was paused is not lost ----
cat >steady.c <<'END'
#include <stdlib.h>
#include <unistd.h>
static void *volatile last;
static void __attribute__((noinline)) churn(void) { free(last); last = malloc(100); }
int main(void) { for (int ms = 0; ms < 2500; ms++) { for (int i = 0; i < 20; i++) churn(); usleep(900); } return 0; }
END
gcc -g -O1 -fno-builtin -o steady steady.c || fail gcc
"$record" -q -s 10k -o sampled.trace ./steady || fail "-s: status $?"
timeout 600 "$T" --json -n 1 sampled.trace >frame.json || fail "--json: status $?"
jq -e '.threads[0].allocations == .allocations and .threads[0].live_blocks == null and .frees > 30000' frame.json >/dev/null || fail "sampled: $(cat frame.json)"
start 120 30 sampled.trace
sees '^steady .*   ended   .*sampled every 10\.0 K'
keys 3
sees '^> +[0-9.]+ K? +- +[0-9.]+ k +[0-9.]+ M +(4|5|6)[0-9.]+ k (4|5|6)[0-9.]+ k +- +[0-9]+ +steady'
keys 1 Enter
sees '^ live .* in [0-9]+ blocks?   allocated [0-9.]+ M in [0-9.]+ k calls$'
keys q '['
sees 'PAST, at '
sees '^Alloc +([0-9]|[12][0-9])\.[0-9]+ k/s'
keys Q
ends 0
"$record" -q --start-after 300ms -o late.trace ./steady || fail "--start-after: status $?"
COLUMNS=120 timeout 600 "$T" -b -n 1 late.trace >frame || fail "late: status $?"
expect '^steady .*   ended   .*   every event except during pauses'

# ---- what was lost is told ----
cat >burst.c <<'END'
#include <stdlib.h>
#include <unistd.h>
int main(void) { while (access("go", F_OK)) usleep(10000); for (int i = 0; i < 2000000; i++) free(malloc(100)); return 0; }
END
gcc -g -O1 -fno-builtin -o burst burst.c || fail gcc
"$record" -q --overflow=drop -o lossy.trace ./burst &
recorder=$!
until_true eval "'$record' --tell lossy.trace status 2>/dev/null | grep -q '^state recording'"
child=$(pgrep -P $recorder burst)
kill -STOP $recorder
touch go
until_true grep -q '^State:.Z' "/proc/$child/status"
kill -CONT $recorder
wait $recorder || fail "lossy: status $?"
lost=$("$BIN/ms-report" --json lossy.trace | jq .quality.events_lost)
[ "$lost" -gt 1000000 ] || fail "lossy: $lost events were lost"
timeout 600 "$T" --json -n 1 lossy.trace | jq -e ".events_lost == $lost" >/dev/null || fail "--json does not tell of $lost lost events"

# ---- the threads of a site are those with most, and the parts are of all ----
cat >crowd.c <<'END'
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
static void *volatile kept[4096];
static int n;
static void __attribute__((noinline)) keep(size_t size) { kept[n++] = malloc(size); }
static void *work(void *i)
{
	for (size_t size = 100; size <= 400; size *= 2)
		for (int k = 0; k < ((intptr_t)i == 12 ? 56 : 4); k++)
			keep(size);
	return NULL;
}
int main(void)
{
	for (intptr_t i = 1; i <= 12; i++) {
		pthread_t t;
		pthread_create(&t, NULL, work, (void *)i);
		pthread_join(t, NULL);
	}
	return 0;
}
END
gcc -g -O1 -fno-builtin -pthread -o crowd crowd.c || fail gcc
"$record" -q -o crowd.trace ./crowd || fail "crowd: status $?"
start 120 44 crowd.trace
sees '^> .* keep '
keys Enter
sees ' live bytes by thread'
sees '  too short a run to say whether it grows$'
sees ' thread 12 .* 56 % *$'
sees ' thread 1 .* 4 % *$'
sees ' and more threads'
keys Q
ends 0

# ---- nothing is allocated from frame to frame ----
coproc FEED { "$feed" whole.trace idle.trace; }
feed events 100000
frames() { # N -> allocations of ms-top
	"$record" -q --leak-check=no -o top.trace "$T" -b -d 100ms -n "$1" idle.trace >frames || fail "recording ms-top: status $?"
	"$snap" -q -o top.db top.trace && sqlite3 top.db 'SELECT allocations FROM process'
}
if [ "$MODE" = release ]; then
	few=$(frames 5) many=$(frames 25)
	[ "$few" = "$many" ] || fail "5 frames take $few allocations, 25 take $many"
fi
fed

# ---- record a process that was chosen ----
me=tr%p$$ trace=tr_p$$ # no other process has that name, and ms-record would take %p
cp "$traced" $me || fail cp
./$me <told >said &
target=$!
exec 9>told
tell hoard 5
start 100 30 -d 200ms --filter "'^$me\$'"
sees "^> +$target "
# only when that is confirmed
pid_of_top=$(pgrep -P "$($S list-panes -F '#{pane_pid}')" ms-top)
keys r
sees "^attach to $me \\($target\\) and record it\\? y: yes, any other key: no\$"
keys r
sees '^\? help'
$S send-keys -l $'\033r' # Alt-r
keys Space
sees 'FROZEN'
pgrep -P "$pid_of_top" >/dev/null && fail 'it records without being asked'
keys Space r y
sees "^recording to $trace\\.$target\\.trace until q\$"
sees "^$me \\($target\\)   $trace\\.$target\\.trace   recording   "
tell hoard 50
sees '^> +48\.8 K .* 50 .* hoard'
# nor does it end by a key that was not meant so: Alt-x, Shift-Left, Ctrl-Right, a function key
for key in x '[1;2D' '[1;5C' '[24~' Oq; do
	$S send-keys -l $'\033'"$key"
done
keys q
sees '^end the recording\? y: yes, any other key: no$'
keys q
sees '^\? help'
keys Q
sees '^quit, and end the recording\? y: yes, any other key: no$'
keys Escape
tell hoard 20
sees '^> +68\.4 K .* 70 .* hoard'
keys q y
sees "recorded to $trace\\.$target\\.trace"
sees '\[1 Processes\]'
keys q
ends 0
echo quit >&9
exec 9>&-
wait $target || fail "the recorded process: status $?"
target=
timeout 600 "$T" --json -n 1 $trace.*.trace | jq -e '.attached and .live_blocks == 70 and .state == "ended"' >/dev/null || fail 'what was recorded'

[ $failures = 0 ] && echo ok
exit $((failures != 0))
