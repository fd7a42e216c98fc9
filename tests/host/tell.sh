#!/bin/bash
# SPDX-License-Identifier: MIT
# --tell: every verb on a recording that runs, by its owner and refused to others; pauses and late starts with known counts.
# shellcheck disable=SC2317 # wait_for calls functions
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
tell() { # FILE VERB: must succeed without a word
	local said
	said=$("$BIN/ms-record" --tell "$1" "$2" 2>&1) || fail "--tell $1 $2: status $?"
	[ -z "$said" ] || fail "--tell $1 $2 says: $said"
}
refused() { # PATTERN COMMAND...: status 125 and one line
	local pattern=$1 said rc
	shift
	said=$("$@" 2>&1)
	rc=$?
	[ $rc = 125 ] || fail "$*: status $rc"
	[ "$(wc -l <<<"$said")" = 1 ] || fail "$*: more than a line: $said"
	[[ $said =~ ^ms-record:.*$pattern ]] || fail "$*: no '$pattern' in: $said"
}
refused_recorder() { # PATTERN FILE VERB
	refused "$1" "$BIN/ms-record" --tell "$2" "$3"
}
status() { # FILE KEY
	"$BIN/ms-record" --tell "$1" status | sed -n "s/^$2 //p"
}
state() { # FILE WHAT: its recorder says that it is so
	[ "$(status "$1" state 2>/dev/null)" = "$2" ]
}
begin() { # ARG...: ms-record ARG... longrun steps, which `step` speaks to
	mkfifo in out 2>/dev/null
	"$BIN/ms-record" "$@" "$TB/host/longrun" steps <in >out 2>err &
	recorder=$!
	exec 7>in 8<out
}
step() { # WHAT [N]
	local answer
	echo "$*" >&7
	read -r -t 60 answer <&8
	is "the answer to '$*'" "$answer" ok
}
let_end() {
	exec 7>&-
	wait "$recorder"
	is 'the status of the recorder' $? 0
	exec 8<&-
}

# ---- status, flush, mark ----
begin --follow=none -o a.trace
step a 500
step f 100
step t 50
tell a.trace flush
is 'figures in the file after a flush' "$("$BIN/ms-report" --json a.trace | jq -c '.totals|[.allocations,.frees,.unfreed_bytes]')" '[550,150,40000]'
is 'state' "$(status a.trace state)" recording
is 'allocations' "$(status a.trace allocations)" 550
is 'events' "$(status a.trace events)" 700
is 'live' "$(status a.trace live_bytes) $(status a.trace live_blocks)" '40000 400'
is 'peak' "$(status a.trace peak_bytes)" 50000
is 'lost' "$(status a.trace lost_events)" 0
is 'images' "$(status a.trace images)" 1
tell a.trace flush
same_size() { # between two of its blocks of samples
	[ "$(status a.trace file_bytes)" = "$(stat -c %s a.trace)" ]
}
wait_for same_size
tell "$PWD/../${PWD##*/}/./a.trace" mark:here
step a 10
ln -s a.trace link
ln a.trace hard
tell link mark:there
tell hard flush
"$BIN/ms-record" --tell fd:6 flush 6<a.trace || fail 'fd:6 does not lead to the recorder'
is 'live at the mark' "$("$BIN/ms-snap" --at mark:here a.trace | "$BIN/ms-report" --json --at mark:here | jq -c '.snapshots[]|[.label,.live_bytes]')" '["mark:here",40000]'
is 'marks and who made them' "$("$TB/trace-dump" a.trace | grep -A9 ' marks (7)' | grep -o '2="[a-z]*".*4=[0-9]*' | sed 's/ 3=[0-9]*//' | tr '\n' ' ')" '2="here" 4=0 2="there" 4=0 '

# ---- another user, wrong verbs, wrong files ----
if [ "$(id -u)" = 0 ]; then
	chmod 755 .
	cp "$BIN/ms-record" /tmp/ms-record.$$ && chmod 755 /tmp/ms-record.$$
	exec 6<a.trace
	for verb in flush pause resume stop status mark:x; do
		refused 'belongs to user' setpriv --reuid=65534 --clear-groups /tmp/ms-record.$$ --tell fd:6 $verb
	done
	exec 6<&-
	rm -f /tmp/ms-record.$$
	# what another user listens with under a file's name is not believed
	mkfifo squatted
	name=$(printf 'memscope-tell-%x-%x' "$(stat -c %d squatted)" "$(stat -c %i squatted)")
	# nor does a trace's socket have a name that is known before: this one is free
	guessed=$(printf 'memscope-tell-%x-%x' "$(stat -c %d a.trace)" "$(stat -c %i a.trace)")
	setpriv --reuid=65534 --clear-groups /usr/bin/python3 -c '
import socket, sys
def listen(name):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.bind(b"\0" + name.encode())
    s.listen()
    return s
s, guessed = listen(sys.argv[1]), listen(sys.argv[2])
print("ready", flush=True)
c = s.accept()[0]
c.recv(100)
c.send(b"0state recording\n")' "$name" "$guessed" >squatter 2>/dev/null &
	squatter=$!
	wait_for grep -q ready squatter
	refused_recorder 'runs as user 65534, who is neither root nor the owner of the file' squatted status
	tell a.trace flush
	kill $squatter 2>/dev/null
fi
for verb in '' nonsense leakcheck mark mark: flush2 STATUS; do
	refused_recorder 'flush, leak-check, retention, resident\[:NAME\], pause, resume|use mark:NAME' a.trace "$verb"
done
refused 'a verb is needed' "$BIN/ms-record" --tell a.trace
refused "not also 'stop'" "$BIN/ms-record" --tell a.trace flush stop
refused 'longer than 255' "$BIN/ms-record" --tell a.trace "mark:$(printf 'x%.0s' {1..256})"
refused_recorder 'No such file' missing.trace status
echo text >text
refused_recorder 'is not a trace' text status
cp a.trace copy.trace
refused_recorder 'its recording has ended' copy.trace status
refused_recorder 'no recorder is writing' in status

# ---- pause and resume ----
before=$(status a.trace events)
tell a.trace pause
is 'state' "$(status a.trace state)" paused
step a 30 # not recorded: at 110..139 of what is kept
step t 7
step f 410 # all that was recorded, and is freed now
step f 5   # of those that were not
tell a.trace pause
tell a.trace resume
step a 20
step f 25 # the other 25 of the pause
step r 15 # of these 20 the first 15
is 'events in and after the pause' $(($(status a.trace events) - before)) $((7 + 410 + 5 + 20 + 25 + 15)) # the 7 of step t are frees
is 'allocations not recorded' "$(status a.trace paused_allocations)" 37
tell a.trace pause
step r 20 # the old blocks go, the new ones are not recorded
tell a.trace resume
is 'live after the pauses' "$(status a.trace live_bytes)" 0
step a 1
let_end
is 'lost' "$(field 6 a.trace)" 0
is 'inferred frees' "$(field 10 a.trace)" 0
is 'frees of blocks that were not recorded' "$(field 11 a.trace)" 37
is 'allocations not recorded' "$(field 39 a.trace)" 57
is 'unfreed' "$(field 34 a.trace)" 100
quality=$("$BIN/ms-report" a.trace | sed -n '/^Quality/,/^$/p' | tr -s '\n ' ' ')
[[ $quality =~ "every event except during pauses" && $quality =~ paused\ [0-9.]+\ m?s:\ 57\ allocations\ not\ recorded ]] || fail "quality: $quality"
[[ $quality =~ unknown ]] && fail "frees of a pause are an alarm: $quality"
"$BIN/ms-report" --md a.trace | grep -q '57 allocations not recorded' || fail 'the markdown does not speak of the pause'
is 'quality in JSON' "$("$BIN/ms-report" --json a.trace | jq -c '.quality|[.events_lost,.paused_allocations,.paused_ns>0]')" '[0,57,true]'
grep -q '57 allocations not recorded' err || fail "the end does not speak of the pause: $(cat err)"
refused_recorder 'its recording has ended' a.trace status

# ---- stop: the trace is whole, the program goes on ----
begin --follow=none -o s.trace
step a 40
tell s.trace stop
"$TB/trace-dump" s.trace >dump
grep -qx ended dump || fail 'after stop the trace has no end'
[ "$MODE" != release ] || grep -q ' symbols (10)' dump || fail 'after stop there are no symbols'
size=$(stat -c %s s.trace)
step a 500
is 'state after stop' "$(status s.trace state)" stopped
is 'allocations after stop' "$(status s.trace allocations)" 40
tell s.trace stop
tell s.trace flush
for verb in pause resume mark:late; do
	refused_recorder 'has stopped' s.trace $verb
done
let_end
is 'size long after stop' "$(stat -c %s s.trace)" "$size"
is 'reason, allocations' "$(field 16 s.trace) $(field 5 s.trace)" '3 40'
grep -q 'until recording was stopped by --tell' err || fail "the end does not speak of the stop: $(cat err)"

# ---- --start-after ----
begin --follow=none --start-after mark:go -o g.trace
step a 70
step f 20
step r 5
is 'state before the start' "$(status g.trace state)" waiting
refused_recorder 'not begun' g.trace pause
step m gone
step m goo
step m go # its next allocation is recorded
step a 3
step f 50 # from before the start
step f 1
let_end
is 'recorded from the mark on' "$(field 5 g.trace) $(field 34 g.trace) $(field 11 g.trace)" '4 200 50'
is 'not recorded' "$(field 39 g.trace) $(field 38 g.trace)" "$((70 + 5 + 2)) 0"
"$BIN/ms-snap" -o g.db g.trace
is 'sizes recorded' "$(sqlite3 g.db 'select max(max_size) from site')" 12345
"$BIN/ms-report" g.trace | tr -s '\n ' ' ' | grep -q 'recording began [0-9.]* m\?s after the program started: 77 allocations not recorded' || fail "the report does not speak of the start: $("$BIN/ms-report" g.trace | head -4)"
late=$("$BIN/ms-report" --json g.trace | jq .quality.started_late_ns)
[ "$late" -gt 0 ] 2>/dev/null || fail "started_late_ns is $late"
grep -q 'start .*recording began' err || fail "the end does not speak of the start: $(cat err)"

"$BIN/ms-record" -q --start-after 1s -d 400ms -o d.trace "$TB/host/longrun" forever 100 60 &
recorder=$!
wait_for state d.trace stopped
kill $recorder # and so the program
wait $recorder
late=$("$BIN/ms-report" --json d.trace | jq '.quality.started_late_ns / 1e6 | floor')
[ "$late" -ge 100 ] || fail "--start-after 1s began at $late ms of the program"
length=$(($(field 1 d.trace) / 1000000 - late))
[ $length -ge 350 ] || fail "-d 400ms after the start lasted $length ms"
is 'reason with -d' "$(field 16 d.trace)" 3
"$BIN/ms-record" -o n.trace --start-after mark:never "$TB/host/longrun" steps </dev/null 2>err
grep -q "the mark 'never' was never set" err || fail "a mark that never came: $(cat err)"
grep -q 'allocated nothing' err && fail "no recording, but the program is said to have allocated nothing: $(cat err)"
"$BIN/ms-record" -q -o n.trace --start-after mark:never sort /dev/null
"$BIN/ms-report" n.trace >report
tr -s '\n ' ' ' <report | grep -q '^\*\*\* NOTHING WAS RECORDED: [1-9][0-9]* allocations* happened while recording was paused or had not begun \*\*\* ' || fail "a mark that never came: $(head -n 3 report)"
"$BIN/ms-record" -o e.trace --start-after 1h true 2>err
grep -qx '  start     the program ended within the 1h 00m 00s of --start-after: nothing was recorded' err || fail "an end before the start: $(cat err)"
begin --follow=none --start-after 1h -o r.trace
step a 5
tell r.trace resume
step a 2
let_end
is 'recorded since resume' "$(field 5 r.trace)" 2
for bad in 0 soon mark: ''; do
	refused 'start-after|duration' "$BIN/ms-record" --start-after "$bad" true
done

# ---- every image of a run has the mark; named pipes ----
"$BIN/ms-record" -q --follow=all -o t.trace sh -c 'sleep 60 & wait' &
recorder=$!
sleeper() { # the child has become another program, which is recorded
	child=$(cd t.trace.d 2>/dev/null && ls -- sleep.*.trace 2>/dev/null)
	[ -n "$child" ]
}
wait_for sleeper
tell t.trace mark:both
tell t.trace pause
tell t.trace resume
child=${child#sleep.}
kill "${child%%.*}"
wait $recorder
is 'images that ran at the mark' "$(for t in t.trace t.trace.d/*.trace; do "$TB/trace-dump" "$t" | grep -o '2="both"'; done | wc -l)" 2
mkfifo pipe
cat pipe >p.trace &
"$BIN/ms-record" -q -o pipe "$TB/host/longrun" forever 10 60 &
recorder=$!
wait_for state pipe recording
tell pipe mark:piped
tell pipe stop
kill $recorder
wait
grep -q '2="piped"' <("$TB/trace-dump" p.trace) || fail 'a pipe has no mark'

# ---- while a scan is at work ----
mkdir scan && cd scan || exit
begin --follow=none --no-symbols -o b.trace
step a 1000000
for _ in {1..20}; do # where the machine is busy a scan may be over before the next word is said
	rm -f order
	("$BIN/ms-record" --tell b.trace leak-check >said && echo scan >>order) &
	scan=$!
	("$BIN/ms-record" --tell b.trace resident >>said && echo resident >>order) &
	resident=$!
	sleep 0.1
	tell b.trace mark:meanwhile
	is 'allocations while it scans' "$(status b.trace allocations)" 1000000
	echo status >>order
	wait $scan $resident
	is 'both scans' "$(sort order | tr '\n' ' ')" 'resident scan status '
	[ "$(head -n 1 order)" != status ] || break
done
is 'who was answered first' "$(head -n 1 order)" status
grep -q 'longrun (pid [0-9]*): 0 B in 0 blocks unreachable' said || fail "the scan says $(cat said)"

# ---- a recorder that has no time ----
kill -STOP $recorder
"$BIN/ms-record" --tell b.trace status >said 2>err
is 'status of an answer that does not come' $? 125
is 'what is said then' "$(cat said err)" "ms-record: the recorder of 'b.trace' did not answer within 5 s; it may still do what was asked"
kill -CONT $recorder
echo q >&7
let_end >/dev/null
cd .. || exit

finish
