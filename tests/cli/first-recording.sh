#!/bin/bash
# SPDX-License-Identifier: MIT
# The first screen of a trace that is still being recorded: what grows first, no list twice, figures of now; when it has ended it is judged as before.
set -eu
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
PATH=${BIN:?}:$PATH
export LC_ALL=C.UTF-8
cat >server.c <<'END_C'
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define CACHE 300
static char *cache[CACHE], *kept[1000000];
static size_t n;
__attribute__((noinline)) static char *start(void) { return memset(malloc(3000000), 1, 3000000); }
__attribute__((noinline)) static char *table(void) { return memset(malloc(100000), 1, 100000); }
__attribute__((noinline)) static void remember(void) { kept[n++] = memset(malloc(1000), 1, 1000); }
__attribute__((noinline)) static void replace(unsigned i) { free(cache[i % CACHE]), cache[i % CACHE] = memset(malloc(500), 1, 500); }
/* "grows": keeps a block a turn; "starts": does so after a peak of other blocks; "steady": keeps none. Until its input ends, which is told
   on its output when it has begun. */
int main(int argc, char **argv)
{
	struct pollfd in = {.fd = 0, .events = POLLIN};
	char *first = table();
	if (argc > 1 && strcmp(argv[1], "starts") == 0)
		free(start());
	int keeps = strcmp(argv[1], "steady") != 0;
	for (unsigned i = 0; i < 900000; i++) {
		if (i == 600 && write(1, "on\n", 3) != 3)
			return 1;
		replace(i);
		if (keeps)
			remember();
		if (poll(&in, 1, 1) > 0)
			break;
	}
	free(first);
	return 0;
}
END_C
gcc -O1 -g -fno-builtin -o server server.c
order() { sed -nE 's/^(#### )?(UNREACHABLE|GROWING|KEPT|CHURN|BUSIEST|MOST|PEAK|LIVE)( [A-Z]|[,:]|  | at ).*/\2/p' "$1" | tr '\n' ' '; }
# look WHAT PATTERN: reports of it while it runs, WHAT.text and .md, and of its end, WHAT.end. What stood still for long, as on a loaded
# machine, does not grow: it is looked at again until there is a line of that pattern.
look() {
	coproc ms-record -q -o "$1.trace" ./server "$1"
	# shellcheck disable=SC2153 # coproc sets these
	local out=${COPROC[0]} in=${COPROC[1]} pid=$COPROC_PID
	read -r <&"$out" || die "$1 did not begin"
	for _ in {1..100}; do
		ms-record -q --tell "$1.trace" flush || die "$1: no flush"
		ms-report "$1.trace" >"$1.text"
		ms-report --md "$1.trace" >"$1.md"
		if grep -Eq "^$2" "$1.text" && grep -Eq "^(#### )?$2" "$1.md"; then break; fi
		sleep 0.3
	done
	exec {in}>&-
	wait "$pid" || die "$1 ended with $?"
	ms-report "$1.trace" >"$1.end"
}

look grows 'GROWING'
for as in text md; do
	[[ $(order "grows.$as") == 'GROWING LIVE '* && $(order "grows.$as") != *PEAK* ]] || die "grows.$as: $(order "grows.$as"): $(cat "grows.$as")"
	grep -Eq '^(#### )?GROWING SO FAR, too early to judge the trend; now: [0-9.]+ [KM]iB, [0-9,]+ blocks, 1 site$' "grows.$as" || die "grows.$as: $(cat "grows.$as")"
done
sed -n '/^GROWING/{n;n;p}' grows.text | grep -Eq ' remember +server.c:10$' || die "what grows: $(cat grows.text)"
grep -Eq '^Heap  .* now [0-9.]+ [KM]iB in [0-9,]+ blocks$' grows.text || die "now: $(cat grows.text)"
grep -Eq '^### Heap: peak \*\*[0-9.]+ [KM]iB\*\*, live so far \*\*[0-9.]+ [KM]iB\*\*$' grows.md || die "now: $(cat grows.md)"
# which has ended, and has leaks or none: nothing is so far
! grep -q 'SO FAR\| now \|so far' grows.end || die "the end: $(cat grows.end)"
[[ $(order grows.end) == *'PEAK '* ]] || die "the end: $(order grows.end)"

# another list at the peak is no list twice
look starts 'GROWING'
[[ $(order starts.text) == 'GROWING LIVE PEAK '* ]] || die "starts: $(order starts.text): $(cat starts.text)"
sed -n '/^PEAK/{n;n;p}' starts.text | grep -Eq ' start +server.c:8$' || die "the peak: $(cat starts.text)"

look steady 'LIVE'
[[ $(order steady.text) == 'LIVE '* && $(order steady.text) != *PEAK* ]] || die "steady: $(order steady.text): $(cat steady.text)"
grep -Eq '^ *146\.5 KiB +300 ' steady.text || die "the cache: $(cat steady.text)"
echo ok
