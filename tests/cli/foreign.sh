#!/bin/bash
# SPDX-License-Identifier: MIT
# Outputs in folders that others may write: what they put there is not believed, followed or deleted. FIFOs, devices, own descriptors.
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
BIN=${BIN:?} TB=${TB:?}
ended() { # WHAT TRACE
	"$TB/trace-dump" "$2" 2>&1 | grep -qx ended || fail "$1: no whole trace"
}
refused() { # STATUS PATTERN COMMAND...: one line
	local status=$1 pattern=$2 rc
	shift 2
	"$@" >stdout 2>err
	rc=$?
	[ $rc = "$status" ] || fail "${*##*/}: status $rc, not $status"
	[[ $(wc -l <err) = 1 && $(<err) =~ $pattern ]] || fail "${*##*/}: no '$pattern' in: $(<err)"
}
outputs() { # OUT: every tool that writes a snapshot, a page or a trace, beside ms-record
	"$BIN/ms-snap" -q -o "$1/a.db" good.trace
	"$BIN/ms-filter" -q -o "$1/b.db" good.db
	"$BIN/ms-diff" -q -o "$1/c.db" good.db good.db
	"$BIN/ms-filter" -q --trace-out "$1/d.trace" good.trace
	"$BIN/ms-report" --html="$1/e.html" --json="$1/f.json" good.db
	"$BIN/ms-record" -q --poll -d 100ms -i 20ms -p $$ --csv="$1/g.csv" 2>/dev/null
}
umask 022
"$BIN/ms-record" -q -o good.trace ls / >/dev/null
"$BIN/ms-snap" -q -o good.db good.trace
other() { setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"; }

# ---- in a folder of our own ----
mkdir own && chmod 755 own
outputs own
is 'modes of outputs' "$(cd own && stat -c %a -- * | sort -u)" 600
chmod 644 own/e.html && "$BIN/ms-report" --html=own/e.html good.db
is 'a mode that was given by hand' "$(stat -c %a own/e.html)" 644
ln -s e.html own/link && "$BIN/ms-report" --html=own/link good.db
is 'a link of our own' "$(stat -c %F own/link)" 'symbolic link'
echo notes >own/text
"$BIN/ms-record" -q -o own/text true && "$BIN/ms-record" -q -o own/other true
is 'an old file' "$(<own/text~)" notes
refused 125 'is not a trace of yours' "$BIN/ms-record" -q -o own/text true
is 'an old file, the next time' "$(<own/text~)" notes
mkdir own/other.d && echo mine >own/other.d/x.trace
refused 125 'is not a folder of an earlier recording' "$BIN/ms-record" -q -o own/other sh -c 'ls >/dev/null; true'
"$BIN/ms-record" -q --follow=none -o own/other true || fail 'a foreign folder, not needed'
is 'a folder that no recording made' "$(cat own/other.d/*)" mine
"$BIN/ms-record" -q --follow=all -o own/tree sh -c 'ls >/dev/null; true'
echo mine >own/tree.d/notes && echo mine >own/tree.d/copy.trace && first=$(ls own/tree.d/*.[0-9]*.trace)
"$BIN/ms-record" -q --follow=all -o own/tree sh -c 'ls >/dev/null; true'
is 'what else was in the folder' "$(cat own/tree.d/notes own/tree.d/copy.trace)" 'mine
mine'
for t in $first; do [ ! -e "$t" ] || fail "a trace of the earlier run is there: $t"; done
is 'traces of the later run' "$(find own/tree.d -name '*.[0-9]*.trace' | wc -l)" "$(wc -w <<<"$first")"
# a recorder that is killed while it makes the folder anew leaves one that the next one takes
mkdir own/killed.d && : >own/killed.d/index
"$BIN/ms-record" -q --follow=all -o own/killed sh -c 'ls >/dev/null; ls >/dev/null; true' || fail 'an index that was just made'
is 'traces beside it' "$(find own/killed.d -name '*.[0-9]*.trace' | wc -l)" 2
cat >killed.c <<'END'
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
int unlinkat(int folder, const char *name, int flags)
{
	static int n;
	long rc = syscall(SYS_unlinkat, folder, name, flags);
	if (++n == atoi(getenv("KILLED_AT")))
		raise(SIGKILL);
	return (int)rc;
}
END
gcc -shared -fPIC -o killed.so killed.c
for n in 1 2 3; do
	# shellcheck disable=SC2153 # tests/run sets it
	[ "$MODE" = release ] || break # sanitizers must be loaded before anything that is preloaded
	KILLED_AT=$n LD_PRELOAD=$PWD/killed.so "$BIN/ms-record" -q --follow=all -o own/killed sh -c 'true; /bin/true; true' 2>/dev/null
	is "killed after $n removals" $? 137
	"$BIN/ms-record" -q --follow=all -o own/killed sh -c 'ls >/dev/null; ls >/dev/null; true' || fail "after $n removals"
	is 'traces after a kill' "$(find own/killed.d -name '*.[0-9]*.trace' | wc -l)" 2
done

# ---- descriptors, devices, FIFOs ----
"$BIN/ms-record" -q -o /proc/self/fd/5 ls / 5>fd.trace >/dev/null
ended /proc/self/fd/5 fd.trace
(echo before && "$BIN/ms-report" --json=/dev/stdout good.db) >fd.json
is '/dev/stdout' "$(head -c 8 fd.json | tr '\n' ' ')" 'before {'
"$BIN/ms-record" -q -o /dev/null true || fail '/dev/null'
is '/dev/null after it' "$(stat -c '%F %a' /dev/null)" 'character special file 666'
mkfifo pipe
: >ran
refused 125 'nothing opened this FIFO for reading' "$BIN/ms-record" -q -o pipe rm ran
[ -e ran ] || fail 'with a FIFO that nobody reads the command ran'
(until [ -e ran2 ]; do sleep 0.05; done && exec cat pipe >piped.trace) &
(: >ran2 && exec "$BIN/ms-record" -q -o pipe ls / >/dev/null) || fail 'a FIFO that is read a little later'
wait
ended 'a FIFO that is read' piped.trace
"$BIN/ms-report" --json=/dev/full good.db 2>err && fail '/dev/full'
grep -q 'No space' err || fail "/dev/full: $(<err)"

# ---- in a folder that others may write, sticky or not ----
[ "$(id -u)" = 0 ] || exit $((failures != 0))
chmod 755 . && victim=$PWD/victim
for mode in 0777 1777; do
	mkdir there && chmod $mode there && mkdir -m 755 victim
	cp good.trace victim/run.trace
	printf '#image\t\n' >victim/index
	: >victim/ls.7.1.trace && echo text >victim/text
	before=$(cd victim && cksum -- * && stat -c '%n %a %u %i' -- *)
	# made before us, to read what we write
	# shellcheck disable=SC2016
	other sh -c 'umask 0; cd there; for f in a.db b.db c.db d.trace e.html f.json g.csv r.trace; do : >$f; done'
	outputs there
	"$BIN/ms-record" -q -o there/r.trace true || fail "$mode: a file of another"
	is "$mode: modes and owners of outputs" "$(cd there && stat -c '%a %u' -- *.db *.trace *.html *.json *.csv | sort -u)" '600 0'
	ended "$mode: a file of another" there/r.trace
	rm -rf there/*
	SUDO_UID=1234 SUDO_GID=2345 "$BIN/ms-snap" -q -o there/s.db good.trace
	is "$mode: behind sudo" "$(stat -c '%a %u:%g' there/s.db)" '600 1234:2345'
	# links: to files, to folders, to nothing
	other ln -s "$victim/run.trace" there/l.trace
	other ln -s "$victim/text" there/t.db
	other ln -s "$victim/new" there/n.trace
	other ln -s /dev/null there/null
	other ln -s "$victim" there/f.trace.d
	for f in l.trace n.trace null; do
		refused 125 'symbolic link' "$BIN/ms-record" -q -o there/$f true
		refused 125 'symbolic link' "$BIN/ms-record" -q --poll -p $$ -d 50ms -o there/$f
	done
	refused 2 'symbolic link' "$BIN/ms-snap" -q -o there/t.db good.trace
	refused 2 'symbolic link' "$BIN/ms-filter" -q -o there/t.db good.db
	refused 2 'symbolic link' "$BIN/ms-report" --json=there/t.db good.db
	refused 125 'symbolic link' "$BIN/ms-record" -q --poll -p $$ -d 50ms --csv=there/t.db
	refused 125 'is not a folder of an earlier recording' "$BIN/ms-record" -q -o there/f.trace sh -c 'ls >/dev/null; true'
	"$BIN/ms-record" -q --follow=none -o there/f.trace true || fail "$mode: FILE.d is a link and not needed"
	# a FIFO of another; one of ours; what has FILE~'s name
	other mkfifo there/fifo && other sh -c 'exec timeout 20 cat there/fifo >/dev/null' &
	reader=$!
	until [ -p there/fifo ]; do sleep 0.02; done
	refused 125 'a FIFO of user 65534' "$BIN/ms-record" -q -o there/fifo true
	kill $reader && wait $reader 2>/dev/null
	cp good.trace there/o.trace && other sh -c 'echo his >there/o.trace~'
	refused 125 'is not a trace of yours' "$BIN/ms-record" -q -o there/o.trace true
	is "$mode: FILE~ of another" "$(<there/o.trace~)" his
	# a folder of another's with an index, hard links
	other sh -c 'mkdir there/h.trace.d && : >there/h.trace.d/ls.1.1.trace && printf "#image\t" >there/h.trace.d/index'
	refused 125 'is not a folder of an earlier recording' "$BIN/ms-record" -q -o there/h.trace sh -c 'ls >/dev/null; true'
	[ -e there/h.trace.d/ls.1.1.trace ] || fail "$mode: a trace of another is gone"
	ln victim/text there/hard.trace && ln -P /dev/stdout there/hardlink 2>/dev/null
	"$BIN/ms-record" -q -o there/hard.trace true || fail "$mode: a hard link"
	ended "$mode: a hard link" there/hard.trace
	is "$mode: what is elsewhere" "$(cd victim && cksum -- * && stat -c '%n %a %u %i' -- *)" "$before"
	# behind a link to the folder all is well
	ln -s there behind
	"$BIN/ms-record" -q --follow=all -o behind/ok.trace sh -c 'ls >/dev/null; true' || fail "$mode: a folder that is a link"
	ended "$mode: a folder that is a link" there/ok.trace
	is "$mode: modes and owners of a tree" "$(stat -c '%a %u' there/ok.trace there/ok.trace.d there/ok.trace.d/* | sort -u | tr '\n' ' ')" '600 0 700 0 '
	rm -rf there victim behind
done
finish
