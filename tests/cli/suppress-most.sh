#!/bin/sh
# SPDX-License-Identifier: MIT
# A suppression with a maximum (leak<=N:PATTERN) hides what it meets while these are at most N unreachable blocks, else nothing, and all say so.
set -eu
cat >leaks.c <<'END'
#include <stdlib.h>
#define APART __attribute__((noinline))
static void *kept[5];
APART static void *alpha(void) { return malloc(10); }
APART static void *beta(void) { return malloc(20); }
APART static void clear(void)
{
	volatile char room[16384];
	for (size_t i = 0; i < sizeof room; i++)
		room[i] = 0;
}
APART static void work(void)
{
	for (int i = 0; i < 8; i++)
		alpha();
	for (int i = 0; i < 6; i++)
		alpha();
	for (int i = 0; i < 7; i++)
		beta();
	for (int i = 0; i < 5; i++)
		kept[i] = alpha();
}
int main(void)
{
	work();
	clear();
	return 0;
}
END
gcc -g -o leaks leaks.c
ms-record -q --leak-check=auto:50s -o run.trace ./leaks
ms-record -q --leak-check=no -o unscanned.trace ./leaks

# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# hidden TRACE SUPPRESSIONS RIGHT: the live blocks of what is hidden.
hidden() {
	printf '%s\n' "$2" >app.supp
	ms-filter --suppress app.supp "$1" >run.db 2>remarks
	seen=$(sqlite3 run.db "SELECT coalesce(sum(h.live_blocks), 0) FROM hidden h JOIN snapshot s ON s.id = h.snapshot WHERE s.label = 'end'")
	test "$seen" = "$3" || die "$1, $2: $seen blocks are hidden, not $3"
}
rows() {
	sqlite3 -separator ' ' run.db 'SELECT line, sites > 0, ifnull(most_blocks, "-"), ifnull(met_blocks, "-"), note IS NOT NULL FROM suppression ORDER BY line'
}
# of 19 blocks of alpha 14 are leaks; of beta all 7
hidden run.trace 'leak<=14:alpha' 19
test "$(rows)" = '1 1 14 14 0' || die "$(rows)"
ms-report --text=report run.db
grep -q '^Hidden' report
if grep -q 'TOO MANY' report; then die "$(cat report)"; fi
grep -q "'leak<=14:alpha' (app.supp, line 1) hides" remarks
hidden run.trace 'leak<=13:alpha' 0
test "$(rows)" = '1 0 13 14 1' || die "$(rows)"
grep -qE "^ms-filter: 'leak<=13:alpha' \(app.supp, line 1\) was not applied to 2 sites: 14 blocks in all, but it may hide at most 13" remarks || die "$(cat remarks)"
ms-report run.db | tr -s ' \n' ' ' | grep -qF "Hidden nothing, with --suppress app.supp; TOO MANY for 'leak<=13:alpha': 14 blocks " || die "$(ms-report run.db)"
ms-report --json run.db | grep -qF '"exceeded":[{"suppression":"leak<=13:alpha","most_blocks":13,"met_blocks":14}]'
status=0
ms-report --fail-on 'shown_unreachable_blocks > 20' run.db >report 2>&1 || status=$?
test $status = 1 || die "status $status of 21 blocks"
# what one leaves the next may take; what one takes the next does not count
hidden run.trace 'leak<=13:alpha
leak<=7:beta
leak:alpha' 26
test "$(rows)" = '1 0 13 14 1
2 1 7 7 0
3 1 - - 0' || die "$(rows)"
ms-report run.db | tr -s ' \n' ' ' | grep -qE "Hidden [0-9]+ sites with 330 B .*by --suppress app.supp; TOO MANY for 'leak<=13:alpha': 14 blocks "
hidden run.trace 'leak:alpha
leak:gamma
leak<=7:work
leak<=6:main' 26
ms-report --suppressions --csv run.db | tr -d '\r' >report
printf '%s\n' rule,place,sites,live_bytes,live_blocks,allocations,not_applicable,remark leak:alpha,app.supp:1,3,190,19,19,0, \
	'leak:gamma,app.supp:2,0,0,0,0,0,hides nothing' 'leak<=7:work,app.supp:3,1,140,7,7,0,' 'leak<=6:main,app.supp:4,0,0,0,0,0,hides nothing' | diff - report
hidden run.trace 'leak<=20:work' 0
hidden run.trace 'leak<=21:work' 26
hidden run.trace 'leak<=0:beta' 0
hidden run.trace 'leak<=0:gamma' 0
test "$(rows)" = '1 0 0 0 0' || die "$(rows)"
hidden run.trace 'leak<=18446744073709551614:alpha' 19
# without a scan all that is live counts
hidden unscanned.trace 'leak<=18:alpha' 0
hidden unscanned.trace 'leak<=19:alpha' 19
for line in 'leak<=:x' 'leak<=5' 'leak<=5x:y' 'leak<=-1:x' 'leak<= 5:x' 'leak<=18446744073709551615:x' 'leak<5:x' 'leak<=5:' 'leak<=5:^*'; do
	echo "$line" >bad.supp
	status=0
	ms-filter --suppress bad.supp run.trace >bad.db 2>remarks || status=$?
	test $status = 2 || die "$line: status $status"
	grep -q "^ms-filter: bad suppression in 'bad.supp', line 1: " remarks || die "$line: $(cat remarks)"
done
