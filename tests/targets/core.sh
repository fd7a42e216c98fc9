#!/bin/bash
# SPDX-License-Identifier: MIT
# Core dumps of a program that keeps blocks in known ways: what is live, lost and kept is the same as by a scan of the process, by size and type
# without a trace, and to the byte with the trace of the same run; dumps that lack something, and files that are none.
set -eu
. "$SRC/tests/lib.sh"
# shellcheck source=tests/targets/kept/common.sh
. "$SRC/tests/targets/kept/common.sh"
pattern=$(cat /proc/sys/kernel/core_pattern)
ulimit -c unlimited 2>/dev/null || true

# dump PID: makes `dump` of that process, which ends: by the kernel if it writes into this folder, else by gcore.
dump() {
	rm -f core* dump*
	case $pattern in '|'* | */*) ;; *)
		[ "$(ulimit -c)" = 0 ] || { kill -ABRT "$1" && wait_for has_ended "$1" && by=kernel; }
		for made in core*; do
			[ ! -f "$made" ] || { mv "$made" dump && return; }
		done
		;;
	esac
	command -v gcore >/dev/null && kill -0 "$1" 2>/dev/null || return 1
	gcore -o dump "$1" >gcore.said 2>&1 && mv dump."$1" dump && by=gcore
	kill -KILL "$1"
}

# shellcheck disable=SC2317  # wait_for calls it
has_ended() {
	case $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) in '' | Z* | X*) ;; *) return 1 ;; esac
}

# look FILE: what a scan of the live process sees of blocks from before.
look() {
	sqlite3 -separator ' ' "$1" "SELECT coalesce(p.before_blocks, p.unfreed_blocks), coalesce(p.before_bytes, p.unfreed_bytes), r.live_bytes,
		r.kept_bytes, r.unreachable_bytes FROM process p JOIN retention r ON r.process = p.id"
}

# ---- without a trace ----
begin "$TB/targets/kept/kept"
ms-record -q -p "$program" --retention -d 0 -o live.trace || fail "not attached: $?"
ms-snap -o live.db live.trace
if ! dump "$program"; then
	echo "the kernel writes core dumps elsewhere ($pattern), and there is no gcore"
	exit 77
fi
wait "$program" || true
ms-snap --core dump -o run.db
is 'blocks, bytes, live, kept, lost' "$(look run.db)" "$(look live.db)"
is 'the list' "$(root variable g_list)" '52000 500'
is 'its end' "$(shared 'g_list + g_middle')" '52000 500'
is 'the owner' "$(root variable g_owner)" '100808 101'
is "a thread's variable" "$(root thread_local local_block)" '3000 1'
is 'lost' "$(sql "SELECT sum(blocks), sum(bytes) FROM site_verdict WHERE verdict IN ('unreachable', 'indirect')")" "$(sql 'SELECT unreachable_blocks,
	unreachable_bytes FROM scan')"
is 'the dump' "$(sql 'SELECT core, core_trace, core_lacks, complete, allocator FROM process')" 'dump   1 glibc'
[ "$by" = gcore ] || is 'its end by a signal' "$(sql 'SELECT exit_signal, end_reason FROM process')" '6 exit'
is 'quality' "$(ms-report run.db | grep -A1 '^Quality' | tr -s ' \n' ' ')" 'Quality from the core dump dump, every block that was live no call stacks: blocks by type, else by size '
is 'sites' "$(sql "SELECT count(*) > 5, sum(function NOT LIKE 'block_of_%') FROM place")" '1 0'

# The program is elsewhere now, or is another one.
cp "$TB/targets/kept/kept" here
ms-snap --core dump -o run.db ./here
is 'moved' "$(sql "SELECT count(*) FROM module WHERE path = '$PWD/here'")" 1
ms-snap --core dump -o other.db /bin/true 2>said && fail 'another program was taken'
is 'another' "$(cat said)" "ms-snap: cannot use '/bin/true' as the program of 'dump': it has another build-id, so it is another program or another build"

# ---- with the trace ----
rm -rf run.* ready go
mkfifo go
ms-record -q --with=addresses --leak-check=no -o run.trace "$TB/targets/kept/kept" &
recorder=$!
wait_for [ -e ready ]
ms-record --tell run.trace flush
dump "$(cat ready)" || fail 'no dump of the recorded program'
wait $recorder || true
ms-snap --core dump --trace run.trace -o run.db
is 'joined: the list' "$(root variable g_list)" '52000 500'
is 'joined: the owner' "$(root variable g_owner)" '100000 101'
is 'joined: a frame' "$(root frame run_worker)" '50000 50'
is 'joined: lost' "$(sql "SELECT sum(v.blocks), sum(v.bytes) FROM site_verdict v JOIN place p ON p.site = v.site
	WHERE p.function = 'lose' AND v.verdict IN ('unreachable', 'indirect')")" '5 1500'
is 'joined: the trace' "$(sql 'SELECT core_trace FROM process')" run.trace
ms-record -q --leak-check=no -o without.trace true
ms-snap --core dump --trace without.trace -o no.db 2>said && fail 'a trace without addresses was joined'
is 'without addresses' "$(cat said)" "ms-snap: cannot join 'without.trace': it has no addresses of blocks: record with --with=addresses"
ms-record -q --leak-check=no --with=addresses -o other.trace sh -c true
ms-snap --core dump --trace other.trace -o no.db 2>said && fail 'the trace of another run was joined'
is 'another run' "$(cat said)" "ms-snap: cannot join 'dump' and 'other.trace': no program or library is at the same address in both, so they are not of the same run"

# ---- what is no dump, or lacks something ----
refused() {
	ms-snap --core "$1" -o no.db 2>said && fail "$1 was read"
	is "$1" "$(cat said)" "ms-snap: cannot read '$1': $2"
	[ ! -e no.db ] || fail "$1: a snapshot was written"
}
: >empty
mkdir folder
echo text >text
head -c 40 dump >short
gzip -c short >packed
cp /bin/true program
for f in 4:1:bits32 18:183:other; do # EI_CLASS, e_machine
	name=${f##*:}
	cp dump "$name"
	# shellcheck disable=SC2059 # the format is the byte
	printf "\\$(printf %o "$(echo "$f" | cut -d: -f2)")" | dd of="$name" bs=1 seek="${f%%:*}" conv=notrunc 2>/dev/null
done
refused empty 'it is empty'
refused folder 'it is a folder'
refused text 'it is not a core dump'
refused short 'it is cut within its header'
refused packed "it is compressed: decompress it first, as 'coredumpctl dump' does"
refused program 'it is a program or a library, not a core dump'
refused bits32 'it is of a 32-bit program'
refused other 'it is of a program for another processor'
ms-snap --core nothing -o no.db 2>said && fail 'nothing was read'
is 'nothing' "$(cat said)" "ms-snap: cannot open 'nothing': No such file or directory"
size=$(stat -c %s dump)
head -c $((size - 20480)) dump >short-by-pages
status=0
ms-snap -q --core short-by-pages -o run.db || status=$?
is 'cut: status' $status 2
is 'cut: judged' "$(sql 'SELECT p.complete, p.core_lacks IS NOT NULL, s.state FROM process p, scan s')" '0 1 unreadable'
is 'cut: nothing is unreachable' "$(sql "SELECT count(*) FROM site_verdict WHERE verdict IN ('unreachable', 'indirect')")" 0
ms-snap -q --allow=partial --core short-by-pages -o run.db || fail "cut, allowed: $?"

python3 "$SRC/tests/targets/coredamage.py" dump 40 1 || fail 'a damaged dump'

# A static program has no heap that is found.
begin "$TB/targets/kept/kept-static"
dump "$program" || fail 'no dump of the static program'
wait "$program" || true
if ms-snap --core dump -o run.db 2>said; then
	is 'static: all of it' "$(root variable g_list)" '52000 500'
else
	grep -q "^ms-snap: cannot read 'dump': no glibc heap was found: " said || fail "static: $(cat said)"
fi
finish
