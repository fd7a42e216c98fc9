#!/bin/bash
# SPDX-License-Identifier: MIT
# What is written of many call sites with deep call stacks grows with the sites, not with the depth of their stacks: JSON of a report, of a
# comparison and of events, snapshots, the page. The long form of JSON says how large it will be, and memory does not grow with what is written.
set -u
failed=0
fail() {
	echo "FAILED: $*"
	failed=1
}
# 6,561 call stacks, 8 levels of three callers each, below 480 frames that all of them share; the names make each frame about 300 bytes of JSON
name=a_name_$(printf 'that_is_long_%.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13)
cat >deep.c <<END
#include <stdlib.h>
void *volatile kept[6561];
static int n;
#define SITE __attribute__((noipa))
SITE static void a_$name(int path, int depth);
SITE static void b_$name(int path, int depth) { a_$name(path, depth); __asm__ volatile(""); }
SITE static void c_$name(int path, int depth) { a_$name(path, depth); __asm__ volatile(""); }
SITE static void d_$name(int path, int depth) { a_$name(path, depth); __asm__ volatile(""); }
SITE static void a_$name(int path, int depth)
{
	if (depth == 0)
		kept[n++] = malloc(10);
	else if (path % 3 == 0)
		b_$name(path / 3, depth - 1);
	else if (path % 3 == 1)
		c_$name(path / 3, depth - 1);
	else
		d_$name(path / 3, depth - 1);
	__asm__ volatile("");
}
SITE static void fall_$name(int depth, int path)
{
	if (depth)
		fall_$name(depth - 1, path);
	else
		a_$name(path, 8);
	__asm__ volatile("");
}
int main(void)
{
	for (int i = 0; i < 6561; i++)
		fall_$name(479, i);
	return 0;
}
END
gcc -g -O1 -o deep deep.c
ms-record -q -o deep.trace ./deep
ms-snap -q -o deep.db deep.trace
ms-filter --min 1 deep.db >filtered.db
ms-diff deep.db deep.db >diff.db
ms-report --json=deep.json --html=deep.html --pprof=deep.pb.gz deep.db
ms-report --json=diff.json --html=diff.html diff.db
ms-report --json --events deep.trace >events.json
[ "$(jq '[.sites[] | select(.live_bytes == 10)] | length' deep.json)" = 6561 ] || fail "sites: $(jq '.sites | length' deep.json)"
[ "$(jq '.diff.sites | length' diff.json)" -ge 6561 ] || fail "sites of the comparison: $(jq '.diff.sites | length' diff.json)"
# 480 rows, then 3 + 9 + ... + 6561 times two frames, one for each block, main, and those before it
[ "$(jq '.stacks | length' deep.json)" -lt 27000 ] || fail "rows of stacks: $(jq '.stacks | length' deep.json)"
[ "$(jq '.frames | length' deep.json)" -lt 100 ] || fail "frames: $(jq '.frames | length' deep.json)"
while read -r file most; do
	[ "$(stat -c %s "$file")" -lt "$most" ] || fail "$file has $(stat -c %s "$file") bytes, more than $most"
done <<'END'
deep.json 6000000
diff.json 15000000
events.json 16000000
deep.db 8000000
filtered.db 8000000
diff.db 12000000
deep.html 500000
diff.html 500000
deep.pb.gz 200000
END

# the long form: about a gigabyte, which is said before the first byte, and not of the comparison's default
large='^ms-report: --layout=full writes [01]\.[0-9] GB of call stacks; with --layout=compact each frame is written once$'
ms-report --json=full deep.db 2>err | head -c 1 >/dev/null
grep -q "$large" err || fail "no warning: $(cat err)"
ms-report --json=full diff.db 2>err | head -c 1 >/dev/null
grep -q '^ms-report: --layout=full writes [2]\.[0-9] GB' err || fail "no warning for the comparison: $(cat err)"
ms-report --json deep.db 2>err | head -c 1 >/dev/null
grep -q '^ms-report: written in the compact layout ("version": 2), because a whole call stack for each site would take [0-9]* MB in all (--layout=full writes that)$' err || fail "no remark: $(cat err)"
for quiet in '--json=full -q' '--json=compact' '--json=full --limit 100' '--json=full --site 1'; do
	# shellcheck disable=SC2086
	ms-report $quiet deep.db 2>err | head -c 1 >/dev/null
	[ ! -s err ] || fail "$quiet: $(cat err)"
done

# memory does not grow with the text: peak RSS in KiB
rss() {
	python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' ms-report -q "$@"
}
least=$(rss --text=/dev/null deep.db)
for words in '--json=/dev/null --layout=full' '--json=text --layout=full --limit 1000' '--json=text --layout=full --limit 500 --pretty'; do
	# shellcheck disable=SC2086
	most=$(rss $words deep.db)
	[ "$MODE" != release ] || [ "$most" -lt $((least + 30000)) ] || fail "$words: $most KiB, without JSON $least KiB"
done
exit $failed
