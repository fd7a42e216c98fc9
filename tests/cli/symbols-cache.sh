#!/bin/bash
# SPDX-License-Identifier: MIT
# Symbols kept in the cache are those that the files give: without it, cold, warm, with other addresses, after the files changed, and after the
# cache was damaged or replaced by somebody else's.
set -eu
export XDG_CACHE_HOME=$PWD/cache HOME=$PWD/home
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
cat >a.c <<'X'
#include <stdlib.h>
#include <stdio.h>
static void *keep(size_t n) { return malloc(n); }
static void *other(size_t n) { return malloc(n); }
int main(int argc, char **argv) { (void)argv; void *p = argc > 1 ? other(7) : keep(5); printf("%p\n", p); return 0; }
X
${CC:-cc} -g -O0 -o a a.c
record() { # TRACE COMMAND... What stands for a path with spaces is made in a cache, too.
	XDG_CACHE_HOME=$PWD/links ms-record -q --no-symbols -o "$@" >/dev/null
}
record one.trace ./a
record two.trace ./a x
sleep 0.2 # a file that was just made is not believed to be settled
embed() { # TRACE RESULT [OPTION]...
	cp "$1" "$2"
	ms-snap "${@:3}" --symbols=embed "$2"
}
state() {
	(cd cache/memscope && cat -- *) | cksum
}

embed one.trace none --no-cache
[ ! -e cache ] || die "--no-cache made a cache"
embed two.trace none2 --no-cache
embed one.trace cold
[ "$(stat -c %a cache/memscope)" = 700 ] || die "mode of the folder"
[ "$(find cache/memscope -type f | wc -l)" -ge 2 ] || die "nothing was kept"
filled=$(state)
embed one.trace warm
[ "$(state)" = "$filled" ] || die "a warm run wrote"
cmp none cold
cmp none warm
# a hit of all needs none of the module's contents
embed two.trace more
cmp none2 more
[ "$(state)" != "$filled" ] || die "what was new was not added"
embed one.trace again
cmp none again
ms-report none >none.txt
ms-report again >again.txt
diff <(sed 's/none/again/g' none.txt | tr -s ' ') <(tr -s ' ' <again.txt)
ms-snap --no-cache -o none.db one.trace
ms-snap -o warm.db one.trace
for db in none warm; do
	sqlite3 $db.db "SELECT * FROM frame; SELECT * FROM module" >$db.sql
done
cmp none.sql warm.sql

# that it is the cache that answers: its own word for a function is shown
for f in cache/memscope/*; do
	! grep -q keep "$f" || mine=$f
done
cp "$mine" whole
embed one.trace x
ms-report x | grep -q 'keep' || die "no keep"

# damaged, truncated, writable by others, a link: each is refused, and written anew
for how in flip cut open link empty; do
	cp whole "$mine"
	case $how in
	flip) printf 'k' | dd of="$mine" bs=1 seek=$(($(stat -c %s whole) / 2)) conv=notrunc status=none ;;
	cut) truncate -s -1 "$mine" ;;
	open) chmod 666 "$mine" ;;
	link) rm "$mine" && cp whole elsewhere && ln -s "$PWD/elsewhere" "$mine" ;;
	empty) : >"$mine" ;;
	esac
	embed one.trace damaged
	cmp none damaged || die "$how"
	[ "$(stat -c "%F %a" "$mine")" = "regular file 600" ] || die "$how: not written anew"
	grep -q keep "$mine" || die "$how: not whole again"
done
rm -rf cache && mkdir -m 755 cache cache/memscope
embed one.trace open
cmp none open
[ -z "$(ls cache/memscope)" ] || die "a folder that others look into was used"
rm -rf cache

# a debug file that comes later is seen, and so is that it went
objcopy --only-keep-debug a a.debug
strip -o b a
cp a whole-a && cp b a && sleep 0.2
record stripped.trace ./a
embed stripped.trace before
embed stripped.trace before2
cmp before before2
ms-report before | grep -q keep && die "stripped, but named"
id=$(readelf -n a | sed -n 's/.*Build ID: //p')
if [ -n "$id" ]; then
	mkdir -p dbg/.build-id/"${id:0:2}"
	embed stripped.trace d1 --debug-dir dbg
	cmp before d1
	cp a.debug dbg/.build-id/"${id:0:2}/${id:2}.debug"
	sleep 0.2
	embed stripped.trace d2 --debug-dir dbg
	embed stripped.trace d2n --debug-dir dbg --no-cache
	cmp d2n d2
	ms-report d2 | grep -q keep || die "a debug file that came later was not seen"
	embed stripped.trace d3 --debug-dir dbg
	cmp d2 d3
	rm -r dbg/.build-id
	embed stripped.trace d4 --debug-dir dbg
	cmp before d4
fi

cp whole-a a && sleep 0.2

# without a folder of its own there is no cache, and nothing else is different
env -u XDG_CACHE_HOME -u HOME ms-snap --symbols=embed stripped.trace
XDG_CACHE_HOME=relative embed one.trace y
cmp none y
[ ! -e relative ] || die "a relative folder was used"
env -u XDG_CACHE_HOME bash -c 'mkdir home && cp one.trace z && ms-snap --symbols=embed z' && cmp none z
[ "$(stat -c %a home/.cache/memscope)" = 700 ] || die "no cache below HOME"

# several at once
rm -rf cache
for i in 1 2 3 4 5 6 7 8; do
	(embed "$([ $((i % 2)) = 0 ] && echo one || echo two).trace" "p$i") &
done
wait
for i in 1 2 3 4 5 6 7 8; do
	cmp "$([ $((i % 2)) = 0 ] && echo none || echo none2)" "p$i"
done
[ -z "$(find cache/memscope -name '*.*')" ] || die "a fresh file was left"
