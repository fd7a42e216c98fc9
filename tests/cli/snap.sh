#!/bin/bash
# SPDX-License-Identifier: MIT
# ms-snap: the examples of its pages, equal bytes by every way, statuses, and what it refuses.
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
"$TB/cli/snap-traces" || exit 1
if [ -x "$BIN/ms-report" ]; then
	python3 "$SRC/tests/cli/snap/examples.py" "$SRC/man/ms-snap.1" "$SRC/man/ms-snapshot.5" || fail "examples"
fi

# ---- the same bytes by every way ----
{ ms-snap run.trace >a.db && ms-snap -o b.db run.trace && cp b.db c.db && ms-snap --output=c.db ./run.trace; } || fail "status"
{ cmp a.db b.db && cmp a.db c.db; } || fail "bytes differ"
{ ms-snap -o piped1.db - <run.trace && ms-snap -o piped2.db < <(cat run.trace) && cmp piped1.db piped2.db; } || fail "bytes from a pipe differ"
ms-snap --at peak --at end --at mark:warm#2 - < <(cat run.trace) >piped3.db || fail "a mark of a pipe"
[ "$(sqlite3 piped3.db "SELECT live_bytes FROM snapshot WHERE label = 'mark:warm#2'")" = 307 ] || fail "mark of a pipe"
{ ms-snap -o at.db run.trace@1ms && [ "$(sqlite3 at.db 'SELECT label FROM snapshot')" = 1ms ]; } || fail "FILE@POINT"
for f in *.db.*; do
	[ ! -e "$f" ] || fail "left behind: $f"
done
[ "$(sqlite3 a.db 'PRAGMA integrity_check; PRAGMA application_id; PRAGMA user_version; PRAGMA journal_mode; PRAGMA freelist_count' | tr '\n' ' ')" = \
	"ok 1297310575 2 delete 0 " ] || fail "properties of the file"

# ---- every table and column stands in the manual ----
for word in $(sqlite3 a.db "SELECT name FROM sqlite_schema UNION SELECT c.name FROM sqlite_schema t, pragma_table_info(t.name) c" | grep -v autoindex); do
	grep -qw -- "$word" "$SRC/man/ms-snapshot.5" || fail "ms-snapshot(5) does not mention $word"
done

# ---- incomplete: status 2 and a line, the snapshot is written; --allow-partial: 0 ----
end=$("$TB/trace-dump" -b run.trace | grep -A1 -m1 ' end (9) ' | sed -nE 's/^  at ([0-9]+),.*/\1/p')
head -c $((end + 20)) run.trace >cut.trace
ms-snap -o cut.db cut.trace 2>err && fail "cut: status 0"
{ [ "$(wc -l <err)" = 1 ] && grep -q "^ms-snap: 'cut.trace' is incomplete" err; } || fail "cut: $(cat err)"
[ "$(sqlite3 cut.db 'SELECT complete, unfreed_bytes FROM process')" = "0|300" ] || fail "cut: figures"
ms-snap --allow-partial -q -o cut.db cut.trace 2>err || fail "cut: --allow-partial"
[ -s err ] && fail "cut: -q is not quiet"

# ---- one file of a folder that is no trace costs that one only: a line, status 2, and it is said downstream ----
mkdir part none
cp run.trace part/app.77.0.trace
echo garbage >part/bad.1.1.trace
: >part/empty.1.2.trace
mkdir part/folder.trace && mkfifo part/fifo.trace
ms-snap -o part.db part 2>err && fail "part: status 0"
[ "$(cat err)" = "ms-snap: 2 traces are left out: cannot read 'part/bad.1.1.trace': not a MemScope trace; \
cannot read 'part/empty.1.2.trace': empty file (--allow=partial makes the exit status 0)" ] || fail "part: $(cat err)"
[ "$(sqlite3 part.db "SELECT key, value FROM meta WHERE key IN ('complete', 'processes', 'traces_unreadable')" | tr '\n' ' ')" = \
	"complete|0 processes|1 traces_unreadable|2 " ] || fail "part: meta"
ms-snap -q --allow-partial -o part.db part 2>err || fail "part: --allow-partial"
[ -s err ] && fail "part: -q is not quiet"
ms-filter --min 1 -o part2.db part.db 2>err && fail "part: ms-filter forgets it"
ms-report part2.db >out 2>err && fail "part: ms-report has status 0"
grep -q '^\*\*\* INCOMPLETE: 2 traces could not be read' out || fail "part: the report says $(head -n 2 out)"
echo garbage >none/bad.1.1.trace

# ---- spans and series of moments ----
span() { # WANT ARG...
	local want=$1
	shift
	ms-snap -o span.db "$@" run.trace || fail "ms-snap $*: status $?"
	local got
	got=$(sqlite3 span.db "SELECT whole, from_ns, to_ns, allocations, frees, failed_allocations, peak_bytes, unfreed_bytes FROM process;
		SELECT group_concat(label || '=' || live_bytes, ' ') FROM (SELECT * FROM snapshot ORDER BY id)" | tr '\n' ' ')
	[ "$got" = "$want " ] || fail "ms-snap $*: $got"
}
span '0|200000||2|3|1|307|300 start=150 peak=307 end=300' --from mark:warm
span '0|200000|600000|2|2|1|307|307 start=150 peak=307 end=307' --from mark:warm --to 600us
span '0||600000|4|2|1|307|307 start=0 peak=307 end=307' --from start --to peak
span '0|600000||0|1|0|307|300 start=307 peak=307 end=300' --from peak --to end
span '0|2000000||0|0|0|300|300 start=300 peak=300 end=300' --from end
span '0||0|0|0|0|0|0 start=0 peak=0 end=0' --to start
span '0|600000|1000000|1|2|0|307|307 700us=307' --from mark:reload --to mark:warm#last --at 700us
# beside peak and end, which formats of other programs need; --at replaces those two
span '1|||4|3|1|307|300 peak=307 end=300 0s=0 0.0005s=107 0.001s=307 0.0015s=300 0.002s=300' --every 500us
span '0|600000||0|1|0|307|300 start=307 peak=307 end=300 0.001s=307 0.0015s=300 0.002s=300' --every 500us --from 600us
span '1|||4|3|1|307|300 0.001s=307 0s=0 0.002s=300' --every 1ms --at 0.001s
span '0|600000||0|1|0|307|300 end=300 0.001s=307 0.0015s=300 0.002s=300' --every 500us --from 600us --at end
# It has no checkpoint: read in part, it is read from its first event to the moment. A pipe cannot be.
ms-snap -o part.db --read=part --at 500us run.trace
[ "$(sqlite3 part.db 'SELECT whole, live_bytes, coalesce(sum(s.allocations), 0) FROM process, snapshot, site s')" = '0|107|0' ] || fail "read in part"
{ ms-snap -o part.db --read=part --at 500us - < <(cat run.trace) && ms-snap -o all.db --read=all --at 500us run.trace &&
	[ "$(sqlite3 part.db 'SELECT whole, allocations FROM process')" = "$(sqlite3 all.db 'SELECT whole, allocations FROM process')" ]; } || fail "a pipe in part"

# ---- what it refuses, in one line ----
refuse() { # PATTERN ARG...
	local pattern=$1
	shift
	ms-snap "$@" >out 2>err </dev/null
	local rc=$?
	{ [ $rc = 2 ] && [ "$(wc -l <err)" = 1 ] && grep -Eq "^ms-snap: .*$pattern" err && [ ! -s out ]; } || {
		fail "ms-snap $*: status $rc, $(wc -c <out) bytes of output"
		cat err
	}
}
refuse "mark:NAME#last" --from yesterday run.trace
refuse "it lasted 2.0 ms" --from 5s run.trace
refuse "it lasted 2.0 ms" --to 5s run.trace
refuse "its marks are: warm, reload, warm" --to mark:cold run.trace
refuse "later than --to '500us'" --from 1ms --to 500us run.trace
refuse "no point '1500us' in the span, which ends at --to '1ms'" --at 1500us --to 1ms run.trace
refuse "bad --every '0': must be more than 0" --every 0 run.trace
refuse 'makes 20,001 points of 2.0 ms: use 0.001s or more, .*at most 10,000' --every 100ns run.trace
refuse "bad --read 'some': expected auto, all or part" --read=some run.trace
refuse 'use peak, end, start, 1.5s, -10m, 14:30:05, mark:NAME, mark:NAME#3, mark:NAME#last or scan:2' --at 'then' run.trace
refuse "its marks are: warm, reload, warm" --at mark:cold run.trace
refuse "no point 'scan:7' in the recording: no scan was made" --at scan:7 run.trace
refuse "bad point 'scan:0': use" --at scan:0 run.trace
refuse "bad point 'scan:': use" --at scan: run.trace
refuse "it lasted 2.0 ms" --at 5s run.trace
refuse "bad --symbols 'all': expected debug-dir:FOLDER" --symbols=all run.trace
refuse 'cannot be combined with sysroot, debug-dir or debuginfod of --symbols' --no-symbols --sysroot / run.trace
full=$( (ulimit -f 0 && ms-snap --at -500us >/dev/null < <(cat run.trace)) 2>&1) && fail "no room for a copy of a pipe: status 0"
[ "$full" = "ms-snap: cannot copy 'standard input' to a temporary file in /tmp: File too large" ] || fail "no room for a copy of a pipe: $full"
refuse 'needs files' --symbols=embed -
refuse 'do not go with it' --symbols=embed -o x.db run.trace
refuse 'more than the limit of .*: raise it with --allow=image:SIZE' --max-image 4k -o x.db run.trace
refuse "bad size '4x'" --max-image 4x run.trace
refuse "option '-o' needs an argument" run.trace -o
refuse 'empty file name' -o '' run.trace
refuse 'No space left' -o /dev/full run.trace
refuse 'No such file' -o no/x.db run.trace
refuse 'folder' -o run.trace.d run.trace
refuse "cannot read 'none/bad.1.1.trace': not a MemScope trace" none
refuse "cannot read 'part/bad.1.1.trace': not a MemScope trace" run.trace part/bad.1.1.trace
refuse "cannot open 'run@no.trace': No such file" run@no.trace
refuse 'it is a database, not a MemScope trace .*only traces can be read together' a.db
refuse "unknown option '--evry': did you mean --every\? " --evry 1s run.trace
refuse "unknown option '--at-the-end' \(ms-snap --help=all lists all options\)" --at-the-end run.trace
[ -e x.db ] && fail "something was written"
ms-snap run.trace >/dev/full 2>err
{ [ $? = 2 ] && grep -q 'No space left' err; } || fail "/dev/full: $(cat err)"
mkfifo fifo
head -c 0 fifo &
exec 3>fifo
wait $!
ms-snap run.trace >&3 2>err
{ [ $? = 141 ] && [ ! -s err ]; } || fail "closed pipe: $(cat err)"
exec 3>&-

# ---- a terminal gets no database ----
python3 -c 'import pty, sys; sys.exit(pty.spawn(["sh", "-c", "ms-snap run.trace 2>err"]) >> 8)' </dev/null >out
{ [ $? = 2 ] && grep -q "terminal.*-o FILE.*ms-report" err && [ ! -s out ]; } || fail "terminal: $(cat err)"

echo "$failures failures"
finish
