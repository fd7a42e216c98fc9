#!/bin/bash
# SPDX-License-Identifier: MIT
# FILE-journal, FILE-wal and FILE-shm change a database when it is opened: none of them is beside a snapshot that was written, and none that somebody
# else can have put there is taken. What else has a name that a tool trusts: the dataset's .new, ms-top's --log, files of the cache of symbols.
# shellcheck disable=SC2015 # what fails is said
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
refused() { # PATTERN COMMAND...: one line, status 2
	local pattern=$1 rc
	shift
	"$@" >stdout 2>err
	rc=$?
	[ $rc = 2 ] || fail "${*##*/}: status $rc, not 2"
	[[ $(wc -l <err) = 1 && $(<err) =~ $pattern ]] || fail "${*##*/}: no '$pattern' in: $(<err)"
}
umask 022
export XDG_CACHE_HOME=$PWD/cache
"$BIN/ms-record" -q -o good.trace ls / >/dev/null
"$BIN/ms-record" -q -o other.trace ls -l / >/dev/null
"$BIN/ms-snap" -q -o good.db good.trace
"$BIN/ms-snap" -q -o other.db other.trace
sqlite3 other.db "UPDATE frame SET function = 'FORGED_' || id"
mkdir forged && chmod 755 forged
python3 -B "$SRC/tests/cli/beside/forge.py" other.db forged || fail 'nothing was forged'
chmod 644 forged/*
names() { sqlite3 "$1" "SELECT count(*) > 0 FROM frame WHERE function LIKE 'FORGED%'" 2>&1; }

# what is forged does it
for kind in journal wal; do
	cp good.db taken.db && cp forged/$kind taken.db-$kind
	is "a snapshot beside a forged $kind" "$(names taken.db)" 1
	rm taken.db*
done

# The tools that write a snapshot: NAME COMMAND, which gets a path.
# shellcheck disable=SC2016 # eval expands them
writers=(
	'ms-snap "$BIN/ms-snap" -q -o "$1" good.trace'
	'ms-filter "$BIN/ms-filter" -q -o "$1" good.trace'
	'ms-diff "$BIN/ms-diff" -q -o "$1" good.trace good.trace'
	'ms-snap-to-output "$BIN/ms-snap" -q good.trace >"$1"'
	'ms-snap-to-descriptor "$BIN/ms-snap" -q -o /dev/stdout good.trace >"$1"'
)
mkdir right
for w in "${writers[@]}"; do
	set -- "right/${w%% *}.db"
	eval "${w#* }" || fail "${w%% *}"
done
alone() { # WHAT FILE NAME: it is as it is elsewhere, also for SQLite
	[ -z "$(ls "$2"-* 2>/dev/null)" ] || fail "$1: left $(ls "$2"-*)"
	is "$1: names" "$(names "$2")" 0
	cmp "$2" "right/$3.db" || fail "$1: another file"
}
about='' plant=''
each() { # each writer finds a file of each kind, put there by the command $plant, which gets two paths
	local w kind
	for kind in journal wal shm; do
		for w in "${writers[@]}"; do
			set -- there/run.db
			"$plant" forged/$kind there/run.db-$kind
			eval "${w#* }" 2>err || fail "$about: ${w%% *} beside a $kind: $(<err)"
			alone "$about: ${w%% *} beside a $kind" there/run.db "${w%% *}"
			rm -f there/run.db*
		done
	done
}

# ---- in a folder of our own: left by an earlier database of the name ----
mkdir there && chmod 755 there
about='left over' plant=cp each
for kind in journal wal shm; do
	for content in notes ''; do
		printf %s "$content" >there/run.db-$kind
		if [ "$content" ]; then
			refused "SQLite would read 'run.db-$kind' in the same folder as part of it, and user $(id -u) owns that file" "$BIN/ms-snap" -q -o there/run.db good.trace
			is 'a file that is not of SQLite' "$(<there/run.db-$kind)" notes
			[ ! -e there/run.db ] || fail "written beside notes"
		else
			"$BIN/ms-snap" -q -o there/run.db good.trace || fail 'beside an empty file'
			alone 'beside an empty file' there/run.db ms-snap
		fi
		rm -f there/run.db*
	done
	mkdir there/run.db-$kind
	refused "SQLite would read 'run.db-$kind'" "$BIN/ms-filter" -q -o there/run.db good.db
	rmdir there/run.db-$kind
	ln -s "$PWD/forged/$kind" there/run.db-$kind
	"$BIN/ms-snap" -q -o there/run.db good.trace || fail 'beside a link'
	alone 'beside a link' there/run.db ms-snap
	[ -s "forged/$kind" ] || fail 'what the link led to is gone'
	rm -f there/run.db*
done

# ---- put there while it is written: before it gets its name ----
cat >meanwhile.c <<'END'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
int renameat(int from, const char *old, int to, const char *new)
{
	if (getenv("LINKED"))
		(void)symlinkat(getenv("LINKED"), to, "run.db-journal");
	else
		mkdirat(to, "run.db-wal", 0700);
	return (int)syscall(SYS_renameat, from, old, to, new);
}
END
# shellcheck disable=SC2153 # tests/run sets it
if [ "$MODE" = release ]; then # sanitizers must be loaded before anything that is preloaded
	gcc -shared -fPIC -o meanwhile.so meanwhile.c
	LINKED=$PWD/forged/journal LD_PRELOAD=$PWD/meanwhile.so "$BIN/ms-snap" -q -o there/run.db good.trace || fail 'a link that came meanwhile'
	alone 'a link that came meanwhile' there/run.db ms-snap
	refused "'run.db-wal'" env LD_PRELOAD="$PWD/meanwhile.so" "$BIN/ms-snap" -q -o there/run.db good.trace
	[ ! -e there/run.db ] || fail 'a snapshot is beside a folder that came meanwhile'
fi
rm -rf there

# ---- reading ----
mkdir there && chmod 755 there
reads() { # WHAT: it is what was written
	"$BIN/ms-report" there/run.db >text 2>err || fail "$1: $(<err)"
	cmp text text.good || fail "$1: another report"
}
cp good.db there/run.db && "$BIN/ms-report" there/run.db >text.good
"$BIN/ms-report" --json there/run.db | jq .sites >sites.good
for kind in journal wal; do
	cp good.db there/run.db && cp forged/$kind there/run.db-$kind
	before=$(cksum there/*)
	for tool in ms-report 'ms-filter -o x.db' 'ms-diff good.db'; do
		# shellcheck disable=SC2086 # words
		refused "cannot read 'there/run.db': .*'run.db-$kind' of user $(id -u) is in the same folder.*journal_mode=DELETE" "$BIN/"$tool there/run.db
	done
	"$BIN/ms-report" --json - <there/run.db | jq .sites >text
	cmp text sites.good || fail 'from standard input'
	is 'what was read' "$(cksum there/*)" "$before"
	rm there/run.db-$kind
done
: >there/run.db-journal && : >there/run.db-wal && cp forged/shm there/run.db-shm && reads 'beside empty files'
head -c 512 /dev/zero >there/run.db-journal && reads 'beside a journal that is done with'
rm there/*
# a log of our own, with a writer that is there
cp good.db there/run.db
python3 -B - there/run.db "$BIN/ms-report" <<'END' || fail 'a log of our own'
import json
import sqlite3
import subprocess
import sys
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.execute("PRAGMA journal_mode = WAL")
c.execute("UPDATE frame SET function = 'changed' WHERE function IS NOT NULL")
out = subprocess.run([sys.argv[2], "--json", sys.argv[1]], capture_output=True, text=True)
names = {f.get("function") for s in json.loads(out.stdout)["sites"] for f in s["stack"]} if out.stdout else out.stderr
if names - {"changed", None} or "changed" not in names:
    sys.exit(str(names))
c.execute("PRAGMA journal_mode = DELETE")
c.execute("PRAGMA cache_size = 1")
c.execute("BEGIN IMMEDIATE")
c.execute("UPDATE frame SET function = hex(randomblob(9000))")
out = subprocess.run([sys.argv[2], sys.argv[1]], capture_output=True, text=True)
if out.returncode != 2 or "an unfinished change" not in out.stderr:
    sys.exit(out.stderr)
END
rm -rf there

# ---- files of the cache of symbols ----
[ -n "$(ls cache/memscope)" ] || fail 'nothing is in the cache'
for f in cache/memscope/*; do
	for kind in journal wal shm; do cp forged/$kind "$f-$kind"; done
done
"$BIN/ms-snap" -q -o cached.db good.trace && cmp cached.db good.db || fail 'files beside those of the cache'

# ---- in a folder that others may write, sticky or not ----
[ "$(id -u)" = 0 ] || exit $((failures != 0))
chmod 755 . && chmod 644 good.trace good.db
other() { setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"; }
his() { other cp "$1" "$2"; }
for mode in 0777 1777; do
	mkdir there && chmod $mode there
	about="$mode: of another" plant=his each
	other sh -c 'echo notes >there/run.db-wal'
	refused "'run.db-wal' in the same folder as part of it, and user 65534 owns that file" "$BIN/ms-snap" -q -o there/run.db good.trace
	is "$mode: notes of another" "$(<there/run.db-wal)" notes
	rm there/*
	# after it was written
	for kind in journal wal; do
		cp good.db there/run.db && his forged/$kind there/run.db-$kind
		refused "'run.db-$kind' of user 65534 is in the same folder" "$BIN/ms-report" there/run.db
		cmp good.db there/run.db
		rm there/*
	done
	# a log of who wrote the database, and one of another; an index of another
	cp good.db there/run.db && sqlite3 there/run.db 'PRAGMA journal_mode = WAL' >/dev/null
	his forged/wal there/run.db-wal && his forged/shm there/run.db-shm
	refused "'run.db-wal' of user 65534 is in the same folder" "$BIN/ms-report" there/run.db
	rm -f there/run.db-* && cp forged/wal there/run.db-wal && his forged/shm there/run.db-shm
	refused "'run.db-wal' of user 0 is in the same folder" "$BIN/ms-report" there/run.db
	rm there/*-shm && cp forged/shm there/run.db-shm
	"$BIN/ms-report" there/run.db >text 2>err || fail "$mode: a log of our own: $(<err)"
	rm there/*
	# the dataset
	"$BIN/ms-snap" -q --dataset=there/set --key n=1 good.trace && chmod $mode there/set
	for kind in journal wal shm; do
		other cp forged/$kind "there/set/v1-$kind"
		for f in there/set/v1-*/*.zst; do cp forged/$kind "$f-$kind"; done
	done
	"$BIN/ms-snap" -q --dataset=there/set --key n=2 good.trace || fail "$mode: a dataset"
	is "$mode: runs" "$(zstd -qdc there/set/v1-*/run.csv.zst | cut -d, -f1 | sort -u | wc -l)" 2
	mkdir there/his && chmod $mode there/his && other mkdir -m 777 there/his/.new
	refused "'.new' belongs to user 65534" "$BIN/ms-snap" -q --dataset=there/his --key n=1 good.trace
	is "$mode: a dataset of whose .new another has" "$(ls there/his)" ''
	# what ms-top adds to
	other ln -s "$PWD/new" there/link && other sh -c ': >there/log'
	refused 'symbolic link' "$BIN/ms-top" -b -n 1 --log there/link
	refused 'a file of user 65534' "$BIN/ms-top" -b -n 1 --log there/log
	[ ! -e new ] && [ ! -s there/log ] || fail "$mode: --log wrote"
	rm -rf there
done
# a user who cannot remove what is there
there=$(mktemp -d) && chmod 1777 "$there" && ln -s "$there" there # where he may look for what a descriptor is
tools=$(mktemp -d) && chmod 755 "$tools" && cp "$BIN"/ms-{snap,filter,diff} "$tools" # where he may run them
for kind in journal wal shm; do
	cp forged/$kind there/run.db-$kind
	for w in "${writers[@]}"; do
		refused "SQLite would read 'run.db-$kind' in the same folder as part of it, and that file, owned by user 0, cannot be removed" other bash -c "set -- there/run.db; BIN=$tools; ${w#* }"
		[ ! -s there/run.db ] || fail "${w%% *}: written beside a $kind that stays"
		rm -f there/run.db
	done
	rm there/*
done
rm -r "$there" "$tools"
finish
