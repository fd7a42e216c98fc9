#!/bin/bash
# SPDX-License-Identifier: MIT
# Bad input, bad options and bad outputs, the same list for every tool: one line on standard error that starts with the tool's name, the
# documented status, nothing on standard output, and no output file.
set -u
failures=0
mkdir in out
expect() { # TOOL STATUS PATTERN: what the last command must have done
	local why=
	[ "$rc" = "$2" ] || why="status $rc, not $2"
	[ "$(wc -l <err)" = 1 ] || why="$why; $(wc -l <err) lines on standard error, not 1"
	grep -q "^$1: " err || why="$why; the line does not start with '$1: '"
	grep -Eq "$3" err || why="$why; no '$3' in it"
	[ ! -s stdout ] || why="$why; $(wc -c <stdout) bytes on standard output"
	[ -z "$(ls -A out)" ] || why="$why; left behind: $(ls -A out)"
	rm -rf out && mkdir out
	[ -z "$why" ] && return
	failures=$((failures + 1))
	printf '%s\n    %s\n' "$what" "$why"
	sed 's/^/    | /' err | head -n 5
}
run() { # TOOL STATUS PATTERN [ARG...]: with standard input from ./stdin
	local tool=$1 status=$2 pattern=$3
	shift 3
	what="$tool $*"
	timeout -k 1 200 "$BIN/$tool" "$@" <stdin >stdout 2>err
	rc=$?
	expect "$tool" "$status" "$pattern"
}

# ---- the inputs ----
: >stdin
: >in/empty
printf 'Just some text, longer than any header: %0200d\n' 1 >in/text
head -c 4096 /dev/zero >in/zeroes
sqlite3 in/other.db 'CREATE TABLE t(x); INSERT INTO t VALUES(1)'
{ "$SRC/libcommon/snapshot/columns" schema && cat "$SRC/tests/cli/filter/fixture.sql"; } | sqlite3 in/good.db
copy() { cp in/good.db "in/$1" && shift && sqlite3 "$@" >/dev/null; }
copy newer.db in/newer.db 'PRAGMA user_version = 3'
copy extra.db in/extra.db 'ALTER TABLE site ADD COLUMN x'
copy less.db in/less.db 'DROP TABLE site_stat'
copy view.db in/view.db 'DROP TABLE mark; CREATE VIEW mark AS SELECT 1 AS process'
copy loop.db in/loop.db 'UPDATE stack SET parent = 9 WHERE id = 8'
copy wal.db in/wal.db 'PRAGMA journal_mode = WAL'
head -c 12288 in/good.db >in/cut.db
cp in/good.db in/scratched.db
for page in 2 3 4 5 6 7 8; do
	printf 'scratch scratch scratch' | dd of=in/scratched.db bs=4096 seek=$page conv=notrunc status=none
done
trace=$SRC/tests/golden/v1/full.trace
head -c 30 "$trace" >in/short.trace
{ head -c 20 "$trace" && printf x && tail -c +22 "$trace"; } >in/flipped.trace
# Version 2.0 with a right checksum (CRC-32C of the first 44 bytes)
python3 - "$trace" >in/newer.trace <<'END'
import struct
import sys
with open(sys.argv[1], "rb") as f:
    data = bytearray(f.read())
data[8] = 2
crc = 0xffffffff
for byte in data[:44]:
    crc ^= byte
    for _ in range(8):
        crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
data[44:48] = struct.pack("<I", crc ^ 0xffffffff)
sys.stdout.buffer.write(data)
END
mkdir in/folder
mkfifo in/fifo

# file, what the message says
inputs='in/nothing|No such file
in/text/below|Not a directory
in/empty|empty
in/text|neither a MemScope trace nor a snapshot|not a MemScope trace
in/zeroes|neither a MemScope trace nor a snapshot|not a MemScope trace
in/folder|no trace
in/short.trace|cut off inside the file header
in/flipped.trace|damaged file header
in/newer.trace|newer
in/other.db|not a MemScope'
snapshots='in/newer.db|newer MemScope
in/extra.db|not defined as in a MemScope snapshot
in/less.db|not defined as in a MemScope snapshot
in/view.db|not defined as in a MemScope snapshot
in/loop.db|damaged
in/cut.db|damaged|malformed
in/scratched.db|damaged|malformed|not a database'

# ---- what all readers share ----
for tool in ms-snap ms-filter ms-diff ms-report; do
	[ -x "$BIN/$tool" ] || continue
	out=()
	[ $tool = ms-report ] || out=(-o out/x)
	while IFS='|' read -r file pattern; do
		run $tool 2 "$pattern" "${out[@]}" "$file"
		[ $tool = ms-report ] || run $tool 2 "$pattern" "$file"
	done <<<"$inputs"
	[ $tool = ms-snap ] || while IFS='|' read -r file pattern; do
		run $tool 2 "$pattern" "${out[@]}" "$file"
		cp "$file" stdin
		run $tool 2 "$pattern" "${out[@]}" -
	done <<<"$snapshots"
	for file in empty text zeroes other.db; do
		cp "in/$file" stdin
		run $tool 2 'empty|not a MemScope|neither' "${out[@]}" -
	done
	: >stdin
	run $tool 2 'No such file' "${out[@]}" $'in/two\nlines\033[2J'
	run $tool 2 "unknown.* option '--no-such'" --no-such in/good.db
	run $tool 2 "unknown.* option '--no-such" --no-such=1 in/good.db
	run $tool 2 "unknown.* option '-Z'" -Z in/good.db
	run $tool 2 'no argument|misused' --quiet=yes in/good.db
	run $tool 2 'point|moment' "${out[@]}" in/good.db@nonsense
	what="$tool with standard input closed"
	timeout 200 "$BIN/$tool" "${out[@]}" - <&- >stdout 2>err
	rc=$?
	expect $tool 2 .
	what="$tool from a folder on standard input"
	timeout 200 "$BIN/$tool" "${out[@]}" - <in/folder >stdout 2>err
	rc=$?
	expect $tool 2 .
	for flag in -h -V; do
		what="$tool $flag >/dev/full"
		"$BIN/$tool" $flag >/dev/full 2>err
		rc=$?
		: >stdout
		expect $tool 2 'No space left'
		what="$tool $flag"
		"$BIN/$tool" $flag >stdout 2>err || { echo "$what: status $?"; failures=$((failures + 1)); }
		[ -s stdout ] || { echo "$what: says nothing"; failures=$((failures + 1)); }
		[ ! -s err ] || { echo "$what: says something on standard error"; failures=$((failures + 1)); }
	done
done

# ---- a trace that was cut: everything up to there, status 2, and 0 on demand ----
head -c 1000 "$trace" >in/cut.trace
for tool in ms-snap ms-filter ms-diff ms-report; do
	[ -x "$BIN/$tool" ] || continue
	# options, status, lines on standard error (a remark is allowed with --allow-partial)
	while IFS='|' read -r options status lines; do
		what="$tool $options in/cut.trace"
		# shellcheck disable=SC2086
		"$BIN/$tool" $options in/cut.trace >stdout 2>err
		rc=$?
		[ "$rc" = "$status" ] && [ -s stdout ] && [[ $(wc -l <err) =~ ^[$lines]$ ]] && continue
		echo "$what: status $rc, $(wc -c <stdout) bytes, $(wc -l <err) lines on standard error"
		failures=$((failures + 1))
	done <<<$'|2|1\n--allow-partial|0|01\n-q|2|0'
done

# ---- outputs ----
cp "$trace" in/keep.trace
for words in 'ms-snap -o' 'ms-filter -o' 'ms-report --json='; do
	tool=${words%% *}
	[ -x "$BIN/$tool" ] || continue
	option=${words#* }
	if [ "$option" = -o ]; then out=(-o in/keep.trace); else out=("${option}in/keep.trace"); fi
	run "$tool" 2 'it is a trace' "${out[@]}" in/keep.trace
	cmp -s "$trace" in/keep.trace || { echo "$words: the trace was overwritten"; failures=$((failures + 1)); }
done
for tool in ms-filter ms-diff ms-report; do
	[ -x "$BIN/$tool" ] || continue
	what="$tool >/dev/full"
	"$BIN/$tool" in/good.db >/dev/full 2>err
	rc=$?
	: >stdout
	expect $tool 2 'No space left'
	what="$tool with standard output closed"
	"$BIN/$tool" in/good.db >&- 2>err
	rc=$?
	expect $tool 2 'Bad file'
	# The reader opens the FIFO and goes away before anything is written, as head does: that is no trouble, so nothing is said.
	what="$tool into a closed pipe"
	head -c 0 in/fifo &
	exec 3>in/fifo
	wait $!
	"$BIN/$tool" in/good.db >&3 2>err
	rc=$?
	exec 3>&-
	{ [ $rc = 141 ] && [ ! -s err ]; } || { echo "$what: status $rc" && cat err && failures=$((failures + 1)); }
done
# the other outputs, and budgets, do not go with it
if [ -x "$BIN/ms-report" ]; then
	what='ms-report, one output unread'
	head -c 0 in/fifo &
	exec 3>in/fifo
	wait $!
	"$BIN/ms-report" --text --json=unread.json --fail-on 'unfreed_bytes>1' in/good.db >&3 2>err
	rc=$?
	exec 3>&-
	{ [ $rc = 1 ] && [ -s unread.json ] && grep -q "^ms-report: budget 'unfreed_bytes>1' is broken" err; } || {
		echo "$what: status $rc" && cat err && failures=$((failures + 1))
	}
	rm -f unread.json
	# of a pipeline the first speaks alone
	for stages in ms-report 'ms-filter --min 1 | ms-report' 'ms-filter --min 1 | ms-filter --min 2 | ms-report --json'; do
		PATH=$BIN:$PATH sh -c "ms-snap in/none.trace | $stages" >stdout 2>err
		rc=$?
		{ [ $rc = 2 ] && [ ! -s stdout ] && [ "$(cat err)" = "ms-snap: cannot open 'in/none.trace': No such file or directory" ]; } || {
			echo "ms-snap in/none.trace | $stages: status $rc" && cat err && failures=$((failures + 1))
		}
	done
	true | "$BIN/ms-snap" >stdout 2>err
	{ [ $? = 2 ] && [ ! -s err ] && [ ! -s stdout ]; } || { echo 'ms-snap of an empty pipe' && failures=$((failures + 1)); }
	: >stdin
	run ms-report 2 "cannot read 'standard input': empty file" -
fi
if [ -x "$BIN/ms-filter" ]; then
	cp in/wal.db stdin
	run ms-filter 2 'WAL mode.*journal_mode' -o out/x -
	: >stdin
	"$BIN/ms-filter" -o wal-out.db in/wal.db || { echo 'a WAL file itself'; failures=$((failures + 1)); }
	run ms-filter 2 'No such file' -o out/no/x in/good.db
	run ms-filter 2 'folder' -o out in/good.db
	run ms-filter 2 'No space left' -o /dev/full in/good.db
	run ms-filter 2 'needs an argument' in/good.db -o
	run ms-filter 2 'empty file name' -o '' in/good.db
	run ms-filter 2 'one input only' in/good.db in/good.db
	run ms-filter 2 'larger than the limit of 4.0 KiB: --allow=image:SIZE raises it' --max-image 4k -o out/x in/fifo < <(cat in/good.db) &
	cat in/good.db >in/fifo
	wait $!
	while IFS='|' read -r words pattern; do
		# shellcheck disable=SC2086
		run ms-filter 2 "$pattern" -o out/x $words in/good.db
	done <<-'END'
		--min 4x|bad size '4x'
		--min -1|bad size '-1'
		--min 99999999999T|bad size
		--min-live k|bad size
		--min-blocks 1.5|number of blocks
		--min-blocks -1|number of blocks
		--function (|bad regular expression '\(': Unmatched
		--not-file [|bad regular expression '\[': 
		--module a{2,1}|bad regular expression
		--module (a)\1|bad regular expression '.*': back-references
		--function a{256}|bad regular expression .*: \{n\} is at most 255
		--file (a{255}){255}|bad regular expression '.*': its repetitions expand
		--not-temporary=1|takes no argument
		--not-t|ambiguous option '--not-t'
		--m|ambiguous option '--m'
		--min-lifetime 5s --max-lifetime 1s|5.000 s is above the 1.000 s of '--max=lifetime'
		--min-age 2m --max-age 1m|no site can meet both
		--min-age 4x|bad duration '4x'
		--size 4k..1k|in '4k..1k' the lower limit is above the upper one
		--size ..|has no limit
		--size 4x..|bad size '4x'
		--first 5s|is no span
		--first 5s..1s|ends before it begins
		--last end..-5s|ends before it begins
		--first -1s..-5s|ends before it begins
		--last ..mark:nowhere|no point 'mark:nowhere'
		--first 3ms..mark:no|no point 'mark:no'
		--first mark:warm..1ms|'mark:warm..1ms' ends before it begins
		--verdict leaked|no such verdict 'leaked'
		--min-delta 1k|not a comparison
		--min-allocations x|number of allocations
		--where nothing=1|no column 'nothing' at character 1
		--where id=|a value is missing at the end
		--where (id=1|'\)' is missing
		--where file~'['|bad regular expression
		--where live_bytes>4x|bad size '4x'
		--where function=null|'null' at character 10 of 'function=null' is not a value: write 'function is null'
		--not-where NULL!=verdict|'NULL' at character 1 of 'NULL!=verdict' is not a value: write 'verdict is null'
		--suppress in/nothing|No such file
		--suppress in/text|bad suppression in 'in/text', line 1
		--suppress in/zeroes|bad suppression in 'in/zeroes', line 1: the line contains a NUL byte
		--invert|needs a condition
		--from 1s|needs '--trace-out'
		--trace-out out/y|cannot be combined
	END
	run ms-filter 2 'empty argument' -o out/x --function '' in/good.db
	run ms-filter 2 'needs an argument' in/good.db --min
	# a table is the same on other lines
	"$SRC/libcommon/snapshot/columns" schema | sed -e ':a' -e 'N;$!ba' -e 's/(\n  /(/g' -e 's/,\n  /, /g' |
		cat - "$SRC/tests/cli/filter/fixture.sql" | sqlite3 in/lines.db
	for file in good lines; do
		sqlite3 in/$file.db "DELETE FROM snapshot WHERE label = 'end'; DELETE FROM site_stat WHERE snapshot NOT IN (SELECT id FROM snapshot)"
		run ms-filter 2 "no point 'end'" -o out/x --min-live 1 in/$file.db
	done
fi

# ---- terminals: refused before anything is read, and never waited for ----
terminal() { # COMMAND: with all three streams on a terminal; its output goes to ./err
	PATH=$BIN:$PATH timeout 200 python3 -c 'import os, pty, sys
sys.exit(os.waitstatus_to_exitcode(pty.spawn(["sh", "-c", sys.argv[1]])))' "$1" </dev/null 2>&1 | tr -d '\r' >err
	rc=${PIPESTATUS[0]}
	: >stdout
	what="$1, on a terminal"
}
for tool in ms-snap ms-filter ms-diff ms-report; do
	[ -x "$BIN/$tool" ] || continue
	terminal "$tool"
	expect $tool 2 .
	[ $tool = ms-report ] || continue
	terminal "$tool </dev/null"
	expect $tool 2 'empty'
done
if [ -x "$BIN/ms-filter" ]; then
	terminal "ms-filter in/good.db"
	expect ms-filter 2 'terminal.*-o'
	terminal "ms-filter >in/out"
	expect ms-filter 2 'no input'
fi

# ---- the recorder has statuses of its own ----
if [ -x "$BIN/ms-record" ]; then
	run ms-record 125 "unknown option '--no-such'" --no-such true
	run ms-record 125 "unknown option '-Z'" -Z true
	run ms-record 125 . -o out/no/x true
	run ms-record 125 . -o out true
	run ms-record 125 .
	run ms-record 125 'duration|interval' -o out/x -i 4x true
	run ms-record 125 'duration' -o out/x -d never true
	run ms-record 125 'level|number' -o out/x -z 99 true
	run ms-record 127 'not found|No such file' -o out/x in/nothing
	run ms-record 127 'not found|No such file' -o out/x no-such-command-anywhere
	run ms-record 126 . -o out/x in/text
	run ms-record 126 . -o out/x in/folder
fi
echo "$failures failures"
[ $failures = 0 ]
