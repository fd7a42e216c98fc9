#!/bin/sh
# SPDX-License-Identifier: MIT
# ms-report --events: every event and mark of a trace, in order, with the block, its size and who allocated it; as text and as JSON.
set -eu
cat >prog.c <<'END'
#include "memscope.h"
#include <stdlib.h>
#include <unistd.h>
static void *volatile kept;
__attribute__((noipa)) static void *make(size_t size)
{
	return malloc(size);
}
int main(void)
{
	char *a = make(100);
	a = realloc(a, 200);
	usleep(2000); /* marks stand where their time says */
	ms_mark("half \"way\"");
	usleep(2000);
	kept = make(300);
	free(a);
	return 0;
}
END
gcc -O1 -g -I"$SRC/include" -o prog prog.c
ms-record -q -o prog.trace ./prog

ms-report --events prog.trace | sed 's/^ *[0-9.]* *//' >text
printf '%s\n' \
	'time, s  event    thread       block         bytes  where' \
	'alloc         0          #0           100  make prog.c:7 < main prog.c:11' \
	'realloc       0          #1           200  main prog.c:12  was #0' \
	'mark     half "way"' \
	'alloc         0          #2           300  make prog.c:7 < main prog.c:16' \
	'free          0          #1           200  allocated by main prog.c:12' | sed 's/^ *//' | diff - text
ms-report --events --limit 1 prog.trace | tail -n 1 | grep -q ' alloc .* #0 '
ms-report --events --full-names --limit 1 prog.trace | grep -q "make $PWD/prog.c:7 < main $PWD/prog.c:11 < .*_start"

ms-report --events --json=full prog.trace >whole
jq -s -e '(map(select(.frames)) | map({key: (.stack | tostring), value: [.frames[].function]}) | from_entries) as $at | map(select(.event)) |
	map(.event) == ["alloc", "realloc", "mark", "alloc", "free"] and map(.block) == [0, 1, null, 2, null] and map(.size) == [100, 200, null, 300, null]
	and map(.old_block) == [null, 0, null, null, 1] and map(.old_size) == [null, 100, null, null, 200] and .[2].name == "half \"way\""
	and $at[.[0].stack | tostring][:2] == ["make", "main"] and .[4].old_stack == .[1].stack and .[1].old_stack == .[0].stack
	and (map(.time_ns) | . == sort)' whole >/dev/null
# the frames of a stack come once, and before the first event that names it
jq -s -e '([.[] | select(.frames).stack] | length == (unique | length)) and
	(reduce .[] as $x ([]; if $x.frames then . + [$x.stack] elif $x.stack and (index($x.stack) | not) then error("not told") else . end) | length > 2)' whole >/dev/null
# without it each frame comes once, before the first stack that has it, and the rest is the same
ms-report --events --json prog.trace >events
jq -s -e 'map(select(has("frame"))) | length > 3 and (map(.frame) == [range(length)]) and (map(del(.frame)) | length == (unique | length))' events >/dev/null
jq -c -n 'foreach inputs as $x ([]; if $x | has("frame") then . + [$x | del(.frame)] else . end;
	if $x.frames then . as $f | $x | .frames |= map($f[.]) elif $x | has("frame") then empty else $x end)' events | cmp - whole
# a file, a redirected file and a pipe say the same
ms-report --events --json=file prog.trace
cmp events file
ms-report --events --json <prog.trace | cmp - events
# shellcheck disable=SC2002
cat prog.trace | ms-report --events --json | cmp - events
# what filters take away is not shown
ms-filter --size 200.. --trace-out=large.trace prog.trace
[ "$(ms-report --events large.trace | grep -c ' 100  ')" = 0 ]

refused() {
	pattern=$1
	shift
	rc=0
	ms-report --events "$@" >out 2>err || rc=$?
	if [ $rc != 2 ] || [ -s out ] || [ "$(wc -l <err)" != 1 ] || ! grep -q "$pattern" err; then
		echo "--events $*: $rc $(cat out err)"
		exit 1
	fi
}
refused 'does not take --at' --at peak prog.trace
refused 'does not take --leaks' --leaks prog.trace
refused 'use --text or --json' --csv prog.trace
refused 'one trace' prog.trace prog.trace
refused 'not a MemScope trace' prog.c
head -c 1500 prog.trace >cut.trace
rc=0
ms-report --events cut.trace >out 2>err || rc=$?
[ $rc = 2 ] && grep -q incomplete err
ms-report --events --allow-partial cut.trace | cmp - out
