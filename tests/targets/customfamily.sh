#!/bin/sh
# SPDX-License-Identifier: MIT
# Allocators with a prefix of their own, in programs and libraries, hidden, stripped with a debug file, opened later, in a namespace of the
# linker of its own; wrappers of malloc, which are counted once; an allocator with a second entry, and one whose functions only jump. Launched and
# attached to, compared exactly.
set -eu
here=$SRC/tests/targets/custom
# shellcheck source=tests/targets/custom/common.sh
. "$here/common.sh"
in_time() { # NAME COMMAND...: records, and again where a busy machine kept the recorder from what was opened later, which the trace says
	name=$1
	shift
	for _ in 1 2 3 4 5; do
		"$@"
		[ "$(ask "$name" 'SELECT count(*) FROM process, json_each(allocators_missed)')" != 0 ] || return 0
	done
}
both() { # NAME WANTED COMMAND: launched, and attached to
	name=$1 wanted=$2
	shift 2
	in_time "$name" record "$name" "$@"
	expect "$name" "$(totals "$name")" "$wanted"
	sound "$name"
	in_time "$name" attached "$name" "$* started"
	expect "$name, -p" "$(totals "$name")" "$wanted"
	sound "$name"
}
all='2005|1001|1001428'

for flags in '-O2 -DP=foo_' '-O0 -DP=zz' '-O2 -DP=_my_own_ -DHIDDEN'; do
	# shellcheck disable=SC2086
	gcc $flags -g -DMAIN -o program "$here/family.c"
	both program "$all" ./program
done
# static: what the C library takes besides is not under work()
gcc -O2 -g -DP=foo_ -DMAIN -static -o static "$here/family.c"
both static "$all" ./static
# symbols that are only in the debug file
gcc -O2 -g -DP=foo_ -DMAIN -Wl,--build-id -o stripped "$here/family.c"
objcopy --only-keep-debug stripped stripped.debug
strip -s stripped
objcopy --add-gnu-debuglink=stripped.debug stripped
both stripped "$all" ./stripped
# another file of that name says nothing
gcc -O2 -g -DP=foo_ -DMAIN -DOTHER -Wl,--build-id -o stripped.debug "$here/family.c"
record stripped ./stripped
expect 'not its debug file' "$(ask stripped 'SELECT sum(allocations) FROM process')" 0

# a library that shows nothing of it, linked and opened later; its functions may be called malloc and free
for p in foo_ ''; do
	gcc -O2 -g -DP=$p -DHIDDEN -fno-builtin -shared -fPIC -o libfamily.so "$here/family.c"
	printf '#include <unistd.h>\nvoid work(void);\nint main(int n, char **v) { char c; (void)v; if (n > 1 && (write(2, "started\\n", 8) < 0 || read(0, &c, 1) < 0)) return 1; work(); return 0; }\n' >user.c
	gcc -O2 -o user user.c ./libfamily.so
	both user "$all" ./user
	gcc -O2 -g -o opener "$here/opener.c" -ldl
	both opener "$all" ./opener ./libfamily.so
done
# with a C library of its own
gcc -O2 -g -DP= -DWRAPS=0 -DHIDDEN -c -o family.o "$here/family.c"
cat >plug.c <<'END'
#include <stdlib.h>
void *volatile plug_kept[100];
void work(void);
void work(void)
{
	void *out;
	for (int i = 0; i < 100; i++)
		plug_kept[i] = malloc(1000);
	for (int i = 0; i < 50; i++)
		free(plug_kept[i]);
	plug_kept[0] = calloc(7, 10);
	plug_kept[1] = realloc(realloc(NULL, 20), 30);
	if (posix_memalign(&out, 64, 200))
		abort();
	plug_kept[2] = out;
}
END
gcc -O0 -g -fno-builtin -shared -fPIC -o plug.so plug.c
both opener '104|51|50300' ./opener ./plug.so new
# what its threads give back when they end is its own
cat >threads.c <<'END'
#include <pthread.h>
#include <stdlib.h>
void work(void);
static void *run(void *p)
{
	*(void *volatile *)p = malloc(1000);
	return NULL;
}
void work(void)
{
	static void *kept[50];
	for (int i = 0; i < 50; i++) {
		pthread_t t;
		if (pthread_create(&t, NULL, run, &kept[i]) || pthread_join(t, NULL))
			abort();
	}
}
END
gcc -O0 -g -fno-builtin -shared -fPIC -o threads.so threads.c
record threads ./opener ./threads.so new
expect threads "$(ask threads "SELECT sum(s.allocations) FROM site s JOIN place p ON p.site = s.id WHERE p.function = 'run'")" 50
sound threads

# wrappers: the same as without any hook, so with another name for each of their functions
for wraps in 1 2 3 4; do
	gcc -O1 -g -DP=x_ -DWRAPS=$wraps -DMAIN -o wrapper "$here/family.c"
	both wrapper "2000|1000|$((1000000 + 16000 * (wraps % 2 == 0)))" ./wrapper
done
gcc -O1 -g -DP=x_ -DWRAPS=5 -DMAIN -o wrapper "$here/family.c"
record wrapper ./wrapper
expect 'a block of malloc, cut' "$(totals wrapper)" '1|0|16777216'
gcc -O1 -g -DP=x_ -DWRAPS=6 -DMAIN -o wrapper "$here/family.c"
both wrapper '2001|1000|1005000' ./wrapper
# functions with other arguments are not hooked
gcc -O2 -g -DP=foo_ -DOTHER -DMAIN -o other "$here/family.c"
record other ./other
expect 'other arguments' "$(totals other)" '||'

# a second entry: it is said, and by which function; hooked as malloc's the blocks are all there
gcc -O2 -g -fno-builtin -o entry "$here/entry.c"
ms-record -o entry.trace ./entry 2>entry.err
grep -q "; at least 10,000 blocks came from elsewhere (their frees were recorded, their allocations were not); perhaps from zone_alloc in entry: --hook 'zone_alloc(...) -> ptr in malloc'$" entry.err ||
	fail "entry: $(cat entry.err)"
ms-snap -q -o entry.db entry.trace
expect 'entry: missed' "$(ask entry 'SELECT unknown_frees, allocators_missed FROM process')" '10000|["zone_alloc in entry"]'
ms-report entry.db | tr '\n' ' ' | grep -q "Quality  at least 10,000 blocks came from elsewhere (their frees were recorded, *their *allocations *were not), *perhaps *from *'zone_alloc' *in *'entry': *record *it *with *ms-record *--hook *'FUNCTION(...) -> ptr *in malloc'" ||
	fail "entry: $(ms-report entry.db | head -4)"
record entry --hook 'zone_alloc(_, size) -> ptr in malloc' ./entry
expect 'entry, hooked' "$(ask entry "SELECT allocations, frees, unfreed_bytes FROM process")" '30000|15000|15000000'
sound entry
ms-report entry.db | grep -q '^Quality  complete, every event' || fail "entry, hooked: $(ms-report entry.db | head -4)"

# a library's wrapper of malloc is not it: nothing is named rather than that
printf '#include <stdlib.h>\nint event_malloc(void **);\nint event_malloc(void **p) { return !(*p = calloc(1, 64)); }\nvoid *tag_malloc(void);\nvoid *tag_malloc(void) { return malloc(8); }\n' >wrap.c
gcc -O2 -fno-builtin -shared -fPIC -o libwrap.so wrap.c
gcc -O2 -g -fno-builtin -DSECOND=zone_get -o entry "$here/entry.c" -Wl,--no-as-needed ./libwrap.so
ms-record -o entry.trace ./entry 2>entry.err
grep -q '; at least 10,000 blocks came from elsewhere (their frees were recorded, their allocations were not)$' entry.err || fail "not named: $(cat entry.err)"
# one that sh starts is counted, named or not
ms-record -o below.trace sh -c './entry; true' 2>below.err
grep -q '^  trouble   1 further program was recorded in part' below.err || fail "below: $(cat below.err)"
grep -q '	recorded in part: at least 10000 blocks came from elsewhere (their frees were recorded, their allocations were not)$' below.trace.d/index || fail "below: $(cat below.trace.d/index)"

# functions that are nothing but jumps to what the module itself calls, and the arenas of mozjemalloc
for flags in '-O2' '-O0 -s'; do
	# shellcheck disable=SC2086
	gcc $flags -g -fno-builtin -DARENA=moz_arena_ -rdynamic -o behind "$here/behind.c"
	both behind '2000|1400|50450' ./behind
done
# of other arenas the arguments are not known: said, not guessed
gcc -O2 -fno-builtin -DARENA=my_arena_ -rdynamic -o behind "$here/behind.c"
ms-record -q -o behind.trace ./behind
ms-snap -q -o behind.db behind.trace
expect 'other arenas' "$(ask behind 'SELECT allocations, frees, unknown_frees, allocators_missed FROM process')" '1100|850|50|["my_arena_malloc in behind"]'
