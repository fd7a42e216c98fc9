#!/bin/bash
# SPDX-License-Identifier: MIT
# ms-top and processes that are not what they were, or not its own: a number that is given anew, figures that are denied, programs that can
# be recorded or not.
set -u
# shellcheck source-path=SCRIPTDIR source=top/lib.sh
. "$SRC/tests/cli/top/lib.sh"
if [ "$(id -u)" != 0 ]; then
	echo 'needs root: chooses numbers of processes, and looks at them as another user'
	exit 77
fi
old=old$$ new=new$$ # names that no other process has
elsewhere='' again_pid=''
trap '$S kill-server 2>/dev/null; kill $target $again_pid 2>/dev/null; rm -rf "$elsewhere"' EXIT
cp "$(command -v sleep)" $old

# ---- a number that is given anew ----
reuse() { # NAME: the number of the process that has just ended is another process's
	coproc AGAIN { exec "$TB/cli/top/again" "$target" "$1" 2>again.err; }
	# shellcheck disable=SC2153 # which coproc sets
	again_pid=$AGAIN_PID
	if ! read -r _ <&"${AGAIN[0]}"; then
		wait "$again_pid"
		[ $? != 77 ] || { cat again.err && exit 77; }
		fail "$(cat again.err)"
	fi
}
end_again() { # the one of that number ends too
	kill "$again_pid"
	wait "$again_pid" 2>/dev/null
	again_pid=
}
end_target() {
	kill $target
	wait $target 2>/dev/null
}
./$old 1000.$$ &
target=$!
start 140 30 -d 200ms --filter "'^($old|$new)'"
sees "^> +$target .* $old 1000"
keys j # chosen, so that its row stays
end_target
reuse $new
# two rows of one number: the selection stays with the one that has ended, the other has a history of its own
sees "^  +$target +root +20\\.[0-9] M .* again $target $new\$"
sees "^> +$target .* ended +peak .*$old"
keys Enter
sees "process $target has ended"
keys r
sees "process $target has ended"
keys g
sees "^> +$target +root +20\\.[0-9] M .* again $target $new\$"
keys Enter
sees "^$target .*again $target $new\$"
sees ' REGIONS '
keys q q
ends 0
end_again
# as a single process: it does not become another one
./$old 1000.$$ &
target=$!
start 100 30 -d 200ms -p $target
sees "^$target ./$old 1000"
end_target
reuse $new
sees 'ended; last seen'
keys r
sees "process $target has ended"
screen
grep -q "$new" screen && fail "it became another process: $(cat screen)"
keys q
ends 0
end_again
# in a copy of /proc
made_system
process 1 init 4096 0 1
process 100 orderd 1048576 1 50
start 140 24 -d 200ms --proc-root proc
sees '^> +100 .* orderd'
keys j k
process 100 newcomer 8192 1 9999
sees '^ +100 root +8\.00 M .* newcomer'
sees '^> +100 root .* ended +peak 1\.00 G  orderd'
keys q
ends 0

# ---- figures that are denied ----
elsewhere=$(mktemp -d /tmp/memscope-top.XXXXXX) || exit 1 # where another user may come
chmod 755 "$elsewhere"
cp "$BIN/ms-top" "$BIN/ms-record" "$BIN/libmemscope-preload.so" "$elsewhere" || fail cp
nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
./$old 1000.$$ &
target=$!
RUN_AS=$nobody T=$elsewhere/ms-top
# shellcheck disable=SC2086 # a command of several words
COLUMNS=120 timeout 600 $RUN_AS "$T" -b -n 1 --columns pid,rss,pss,uss,heap,swap,from,command --filter "^$old" >frame || fail "-b: status $?"
expect "^ +$target +[0-9.]+ [KM] +- +- +~[0-9.]+ [KM] +- statm +$old 1000"
# shellcheck disable=SC2086
timeout 600 $RUN_AS "$T" --json -n 2 -d 100ms --filter "^$old" | tail -n 1 >system.json || fail "--json: status $?"
jq -e '.unreadable >= 1 and (.rows[0] | .from == "statm" and .pss_bytes == null and .uss_bytes == null and .heap_bytes > 0 and .rss_bytes > .heap_bytes and
	.user == "root" and .recorded == false)' system.json >/dev/null || fail "--json: $(cat system.json)"
start 100 30 -p $target
sees '^HEAP +[0-9.]+ [KM]'
sees '^PSS +-$'
sees '^no permission to read smaps: HEAP is RSS minus files, from statm; regions unknown$'
keys q
ends 0
if ! cd "$elsewhere" || ! chown 65534 .; then fail chown; fi
start 100 30 --filter "'^$old'"
sees "^> +$target "
sees ' from statm \(no permission to read smaps\)$'
sees '^ cannot be recorded: it belongs to root, so only root can record it$'
keys r y
sees "^cannot attach to process $target \\('$old'\\): it belongs to user 'root'; run this as that user or as( root)?\$"
keys q
ends 0
cd - >/dev/null || exit 1
end_target
target=
RUN_AS='' T=$BIN/ms-top

# ---- what can be recorded ----
cat >static.c <<'END'
#include <stdlib.h>
#include <unistd.h>
static void *volatile kept;
int main(void)
{
	for (;; usleep(20000))
		kept = malloc(100);
}
END
if gcc -g -static -o "st$$" static.c 2>/dev/null; then
	"./st$$" &
	target=$!
	start 100 30 -d 200ms --filter "'^st$$'"
	sees "^> +$target "
	sees ' can be recorded with r \(as root\)$'
	keys r y
	sees "^recording to st$$\\.$target\\.trace until q\$"
	sees '^> .* main static\.c:[0-9]+$'
	keys q y
	sees "recorded to st$$\\.$target\\.trace"
	keys q
	ends 0
	kill -0 $target || fail 'what was recorded has ended'
	kill $target
	wait $target 2>/dev/null
	target=
	timeout 600 "$T" --json -n 1 "st$$".*.trace | jq -e '.attached and .live_blocks > 0 and .sites[0].site.name == "main"' >/dev/null || fail 'what was recorded'
	strip -o "bare$$" "st$$"
	"./bare$$" &
	target=$!
	start 80 24 -d 200ms -p $target
	sees "^$target ./bare$$"
	keys r y
	sees "^cannot attach to process $target: no allocator was found in it: "
	sees '^executable, which may be stripped, nor a library has a symbol malloc$'
	keys q
	ends 0
fi
[ $failures = 0 ] && echo ok
exit $((failures != 0))
