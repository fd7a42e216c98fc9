# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# What the tests of tests/targets/kept share: recording until the program is ready, and what a scan found.

# record NAME OPTION... -- COMMAND...: asks for a scan once the command is ready, and has it go on; the snapshot is run.db, the answer said.
record() {
	name=$1
	shift
	rm -rf run.* ready truth go said
	mkfifo go
	ms-record -q -o run.trace "$@" &
	recorder=$!
	wait_for [ -e ready ]
	ms-record --tell run.trace retention >said || fail "$name: not told: $(cat said)"
	# what is answered is in the trace
	ms-snap -q -o now.db run.trace
	is "$name: at once" "$(sqlite3 now.db 'SELECT state FROM retention WHERE scan = 1')" 'done'
	: >go
	wait $recorder || fail "$name: status $?"
	ms-snap -o run.db run.trace
	is "$name: state" "$(sql 'SELECT state FROM retention WHERE scan = 1')" 'done'
	is "$name: live" "$(sql 'SELECT live_bytes - kept_bytes - unreachable_bytes FROM retention WHERE scan = 1')" 0
	is "$name: the rows at the top" "$(sql 'SELECT sum(k.retained_bytes) - r.kept_bytes FROM kept k, retention r WHERE k.scan = 1 AND r.scan = 1 AND k.parent IS NULL')" 0
}

sql() {
	sqlite3 -separator ' ' run.db "$1"
}

# root KIND NAME [THREAD]: what these roots retain by themselves, in how many blocks.
root() {
	sql "SELECT coalesce(sum(k.retained_bytes), 0), coalesce(sum(k.retained_blocks), 0) FROM kept k JOIN keeper r ON r.id = k.keeper AND r.scan = k.scan
		WHERE k.scan = 1 AND k.parent IS NULL AND r.kind = '$1' AND r.name IS '$2' AND coalesce(r.thread, '') LIKE '${3:-%}'"
}

# shared NAME + NAME: what a set of these roots retains.
shared() {
	sql "SELECT coalesce(sum(k.retained_bytes), 0), coalesce(sum(k.retained_blocks), 0) FROM kept k WHERE k.scan = 1 AND k.parent IS NULL AND
		(SELECT group_concat(name, ' + ') FROM (SELECT r.name AS name FROM keeper_set s JOIN keeper r ON r.id = s.keeper AND r.scan = s.scan
			WHERE s.id = k.set_id AND s.scan = k.scan ORDER BY 1)) = '$1'"
}

observes() {
	sql "SELECT o.name FROM keeper r JOIN keeper o ON o.id = r.observes AND o.scan = r.scan WHERE r.scan = 1 AND r.name = '$1'"
}

# begin COMMAND...: starts one that gets ready.
begin() {
	rm -rf run.* ready truth go said
	mkfifo go
	"$@" &
	program=$!
	wait_for [ -e ready ]
}

# part NAME: what the program counted.
part() {
	sed -n "s/^$1 //p" truth
}
