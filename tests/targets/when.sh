#!/bin/bash
# SPDX-License-Identifier: MIT
# --when: conditions that come true between known steps of a program, and what is done then: launched, attached, on standby,
# followed, sampled, 100 at a time, and in a control group where one can be made.
# shellcheck disable=SC2015,SC2016,SC2317 # {pid} and $ are for the commands of --when; wait_for calls functions
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
PATH=$BIN:$PATH
STEPS=$TB/targets/steps
begin() { # COMMAND...: runs it, with fifos through which `step` speaks to the program
	rm -f in out fired low && mkfifo in out
	"$@" <in >out 2>err &
	recorder=$!
	exec 7>in 8<out
}
step() { # WHAT: done when it answers; `after` is the time of the answer
	echo "$*" >&7
	read -r -t 600 after <&8 || die "no answer to '$*': $(cat err)"
}
over() {
	exec 7>&-
	wait "$recorder"
	is 'the status' "$?" 0
	exec 8<&-
}
lines() { # FILE N
	[ -e "$1" ] && [ "$(wc -l <"$1")" = "$2" ]
}
sql() { # TRACE QUERY [OPTION...]
	local trace=$1 query=$2
	shift 2
	rm -f run.db && ms-snap -q -o run.db "$@" "$trace" && sqlite3 -separator ' ' run.db "$query"
}
MARKS='SELECT name FROM mark ORDER BY seq'

# ---- levels: once for each time, a tenth below in between; what a command is told, whatever the trace is called ----
name='a b;$(touch hacked)`touch hacked`'\''".trace'
begin ms-record -o "$name" --when 'live > 3M : mark:big, exec:printf "%s\n" {pid} {rss} >>values; echo "{trace}" >>fired; echo a word' \
	--when 'live < 2100k: checkpoint, exec:echo {rss} >>low; exit 3' --when 'live > 9M: stop' "$STEPS"
step grow 1000
step grow 1000
step grow 900
a1=$after
step grow 300
wait_for lines fired 1
child=$(pgrep -P $recorder -x steps)
rss=$(($(cut -d ' ' -f 2 "/proc/$child/statm") * $(getconf PAGESIZE)))
step drop
e1=$after
step grow 300
step drop
step drop
wait_for lines low 1
step grow 900
a2=$after
step grow 300
wait_for lines fired 2
step drop
e2=$after
over
[ ! -e hacked ] || fail 'the name of the trace was run'
is 'the trace in commands' "$(sort -u fired)" "$name"
{ read -r pid && read -r told; } <values
is 'the pid in commands' "$pid" "$child"
[ $((told - rss)) -lt 2000000 ] && [ $((rss - told)) -lt 2000000 ] ||
	fail "the resident bytes in commands: $told, not $rss"
is 'the marks' "$(sql "$name" "$MARKS" | tr '\n' ' ')" 'live > 3M big live < 2100k live > 3M big '
# 3,200 KiB are live at both, and the buffer of standard output
for at in 'mark:live > 3M' mark:big 'mark:live > 3M#2' mark:big#last; do
	is "what is live at $at" "$(sql "$name" 'SELECT live_bytes FROM snapshot' --at "$at")" 3280896
done
is 'what is live at the low one' "$(sql "$name" 'SELECT live_bytes FROM snapshot' --at 'mark:live < 2100k')" 2052096
between=$(sql "$name" "SELECT max(time_ns) - min(time_ns) FROM mark WHERE name = 'big'")
[ "$between" -ge $((a2 - e1)) ] && [ "$between" -le $((e2 - a1)) ] ||
	fail "the marks are $between ns apart: the steps before them were answered at $a1 and $a2, those after them at $e1 and $e2"
is 'what commands print' "$(grep -v '^ms-record: ' "$name.log" | sort | uniq -c | tr -s ' ')" ' 2 a word'
is 'whose commands' "$(grep -c "^ms-record: [0-9.]* m*s: steps (pid $child): live . [0-9]*[Mk]: " "$name.log")" 3
grep -q '^  when  *live > 3M: 2 times, first at .*, last at ' err || fail "no two times in: $(cat err)"
grep -q '^  when  *live < 2100k: once, at ' err || fail "not once in: $(cat err)"
grep -q '1 of 1 command failed: exit status 3' err || fail "no failed command in: $(cat err)"
grep -q '^  when  *live > 9M: never$' err || fail "not never in: $(cat err)"
"$TB/trace-dump" "$name" | grep '^block' | grep -q checkpoint || fail 'no checkpoint'
"$TB/trace-dump" "$name" | grep -c '^block.*checkpoint' >count
is 'the checkpoints' "$(cat count)" 1

# ---- growth, failures, and no more often than stated ----
begin ms-record -o run.trace --when 'live grows 1M in 1h, 2 times: exec:echo >>fired' --when 'failed: mark:full, exec:echo >>low' "$STEPS"
for n in 1 2; do
	step grow 700
	step grow 700
	wait_for lines fired $n
done
step grow 3000
step fail
wait_for lines low 1
over
is 'growth, twice, and a failure' "$(sql run.trace "$MARKS" | tr '\n' ' ')" 'live grows 1M in 1h live grows 1M in 1h failed full '
is 'the failure is before its mark' "$(sql run.trace "SELECT failed_allocations FROM process")" 1

# ---- a program that ends because of a failure: no mark any more, or one, but the command ----
printf 'fail\n' | ms-record -q -o run.trace --when 'failed: exec:echo {pid} >>end' "$STEPS" >out2
wait_for lines end 1

# ---- scans, in this order, and then the command, when they are in the trace; the end of the recording ----
begin ms-record -o run.trace --leak-check=auto:5m --when 'live > 3M: resident, retention, exec:ms-report --retained {trace} >kept; echo >>fired' \
	--when 'live > 7M: stop, exec:ms-report --json {trace} >now.json; echo >>low' "$STEPS"
step grow 4000
wait_for lines fired 1
grep -q '^ *3.9 MiB .* blocks (steps.c:' kept || fail "the command did not see what keeps the blocks: $(cat kept)"
step grow 4000
wait_for lines low 1
step grow 4000
over
is 'the report of the command' "$(jq -c '[.quality.complete, .totals.unfreed_bytes]' now.json)" '[true,8196096]'
is 'the scans' "$(sql run.trace "SELECT label, state FROM scan WHERE label <> 'end'")" 'mark:live > 3M done'
is 'the resident memory' "$(sql run.trace 'SELECT DISTINCT label FROM resident ORDER BY 1' | tr '\n' ' ')" 'mark:live > 3M '
is 'what keeps it' "$(sql run.trace "SELECT r.name FROM kept k JOIN keeper r ON r.id = k.keeper AND r.scan = k.scan
	WHERE k.parent IS NULL ORDER BY k.retained_bytes DESC LIMIT 1")" blocks
grep -q 'until recording was stopped by --when' err || fail "not stopped in: $(cat err)"

# ---- a command gets no pipe that somebody else reads ----
mkfifo pipe
cat pipe >piped &
printf 'grow 3000\nuntil pid\n' >script
ms-record -q -o pipe --when 'live > 1M: exec:echo "<{trace}>" >pid.{pid}' "$STEPS" <script >out2
is 'the path of a pipe' "$(cat pid.*)" '<>'
wait

# ---- start: nothing is recorded before ----
begin ms-record -q -o run.trace --when 'rss > 30M: start, exec:echo >>fired' "$STEPS"
step grow 1000
step grow 40000
wait_for lines fired 1
step grow 3000
over
is 'recorded from the start on' "$(sql run.trace 'SELECT allocations, unfreed_bytes FROM process')" '1 3072000'
is 'its mark' "$(sql run.trace "$MARKS")" 'rss > 30M'
printf 'grow 10\n' | ms-record -o run.trace --when 'rss > 1T: start' "$STEPS" >out2 2>err
grep -q "^  start  *no condition of --when with the action 'start' became true: nothing was recorded$" err || fail "not started: $(cat err)"

# ---- each process by its own figures ----
begin ms-record -q -o run.trace --follow=all --when 'live > 2M: mark:m, exec:echo {pid} "{trace}" >>fired' "$STEPS"
step grow 1500
step fork
step grow 1000
step grow 1500
wait_for lines fired 1
read -r pid file <fired
is 'who' "$(cat "/proc/$pid/comm") $(ps -o ppid= -p "$pid" | tr -d ' ')" "steps $(pgrep -P $recorder -x steps)"
over
is 'marks of the child' "$(sql "$file" "$MARKS" | tr '\n' ' ')" 'live > 2M m '
is 'marks of the parent' "$(sql run.trace "$MARKS")" ''

# ---- 100 at a time, trivial ones: started one by one: on a busy machine 100 together would not wait until all are recorded ----
rm -f fired
mkfifo ready
printf 'grow 1\nuntil go\ngrow 3000\nuntil done\n' >script
ms-record -q -o run.trace --follow=all --when 'live > 2M: exec:echo {pid} >>fired; touch done.{pid}' \
	sh -c 'exec 3<>ready; for i in $(seq 100); do "$0" <script >&3 & read -r _ <&3; all="$all $!"; done
		for pid in $all; do : >go.$pid; done; wait' "$STEPS" 2>err
[ ! -s err ] || fail "without a command: $(cat err), not recorded: $(grep 'not recorded' run.trace.d/index)"
is 'the processes' "$(sort -u fired | wc -l)" 100
for trace in run.trace.d/steps.*.trace; do
	sql "$trace" 'SELECT group_concat(name) FROM mark'
done >marked
is 'their marks' "$(uniq -c marked | tr -s ' ')" ' 100 live > 2M'

# ---- attached, on standby, sampled ----
begin "$STEPS"
step grow 5000
ms-record -q -o run.trace --when 'live > 3M: exec:echo >>fired' --when 'rss > 5M, once: exec:echo >>low' -p $recorder 7>&- 8<&- &
attached=$!
wait_for lines low 1
step grow 4000
wait_for lines fired 1
over
wait $attached
is 'marks of an attached process' "$(sql run.trace "$MARKS" | sort | tr '\n' ' ')" 'live > 3M rss > 5M '
begin ms-record --standby "$STEPS"
step grow 5000
ms-record -q -o run.trace --when 'live > 3M: exec:echo >>fired' --when 'rss > 5M, once: exec:echo >>low' -p "$(pgrep -P $recorder -x steps)" 7>&- 8<&- &
attached=$!
wait_for lines low 1
step grow 4000
wait_for lines fired 1
over
wait $attached
is 'marks of a process on standby' "$(sql run.trace "$MARKS" | sort | tr '\n' ' ')" 'live > 3M rss > 5M '
begin ms-record -q -s 4k -o run.trace --when 'live > 3M: exec:echo >>fired' "$STEPS"
step grow 4000
wait_for lines fired 1
over
is 'marks of a sampled process' "$(sql run.trace "$MARKS")" 'live > 3M'

# ---- commands that are left at the end are ended by a signal; nothing of them is left ----
begin ms-record -q -o run.trace --when 'every 1s, once: exec:echo $$ >>fired; sleep 6000 & sleep 6000' "$STEPS"
wait_for lines fired 1
exec 7>&-
while kill -TERM $recorder 2>/dev/null; do sleep 0.1; done
wait $recorder
exec 8<&-
is 'what is left of a command' "$(ps -o pid= -s "$(cat fired)" -g "$(cat fired)")" ''

# ---- a control group, by both versions' names ----
root=/sys/fs/cgroup
for folder in "$root/memory" "$root"; do
	group=$folder/memscope-when.$$
	[ -e "$folder/memory.limit_in_bytes" ] || grep -qsw memory "$folder/cgroup.subtree_control" || continue
	mkdir "$group" 2>/dev/null || continue
	{ echo 512M >"$group/memory.limit_in_bytes" || echo 512M >"$group/memory.max"; } 2>/dev/null
	begin sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" ms-record -o run.trace \
		--when 'cgroup > 60%: mark:c, exec:echo >>fired' --when 'cgroup > 1T: stop' "$STEPS"
	step grow 1000
	step grow 400000
	wait_for lines fired 1
	over
	is 'marks of a control group' "$(sql run.trace "$MARKS" | tr '\n' ' ')" 'cgroup > 60% c '
	grep -q '^  when  *cgroup > 1T: never$' err || fail "no never in: $(cat err)"
	rmdir "$group" || fail "cannot remove '$group'"
	break
done
finish
