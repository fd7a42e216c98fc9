#!/bin/sh
# SPDX-License-Identifier: MIT
# Recursion is folded in trees and stacks, and frames of the runtime in trees, unless --full-names asks for all of them; paths begin at the source root.
set -eu
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
mkdir -p project/src
cat >project/src/rec.c <<'C'
#include <stdlib.h>
void *kept;
volatile int one = 1;
void ping(int n);
__attribute__((noinline)) void pong(int n) { if (n) ping(n - one); else kept = malloc(1000); one = 1; }
__attribute__((noinline)) void ping(int n) { if (n) pong(n - one); else kept = malloc(1000); one = 1; }
__attribute__((noinline)) void self(int n) { if (n) self(n - one); else ping(21); one = 1; }
int main() { self(50); one = 1; return 0; }
C
gcc -g -O1 -fno-optimize-sibling-calls -o rec "$PWD/project/src/rec.c"
ms-record -q -o rec.trace ./rec
# tree OPTION...: names and places below main, without figures
tree() {
	ms-report --tree --ascii "$@" rec.trace | sed -n 's/^.*100 %  `\{0,1\}[- ] *//p' | sed -n '/^main/,$p'
}
tree --source-root "$PWD/project" >have
cat >want <<'W'
main  src/rec.c:8
self (recursive)  src/rec.c:7
ping (recursive)  src/rec.c:6
pong  src/rec.c:5
W
diff want have || die "the tree"
tree --source-root "$PWD/project/" | diff want - || die "a root with a slash"
tree | grep -q '^main  project/src/rec.c:8$' || die "the default root"
ms-report --tree=up --ascii --source-root "$PWD/project" rec.trace | sed -n 's/^.*100 %  `\{0,1\}[- ] *//p' | head -n 4 >have
cat >want <<'W'
pong (recursive)  src/rec.c:5
ping  src/rec.c:6
self (recursive)  src/rec.c:7
main  src/rec.c:8
W
diff want have || die "the tree upwards"
[ "$(ms-report --folded rec.trace | grep -o 'self;' | wc -l)" = 51 ] || die "folded stacks lose rounds"

ms-report --site 1 --ascii --source-root "$PWD/project" rec.trace | sed -n '/^Stack/,$p' >have
cat >want <<'W'
Stack, the allocation first
  0  pong                    src/rec.c:5   <- named after
  1  ping                    src/rec.c:6
  2  pong                    src/rec.c:5
     9 more rounds of the 2 frames above: recursion
 21  ping                    src/rec.c:6
 22  self                    src/rec.c:7
 23  self                    src/rec.c:7
     49 more rounds of the 1 frame above: recursion
W
head -n 9 have | diff want - || die "the stack"
[ "$(ms-report --site 1 --full-names rec.trace | grep -c ' self ')" = 51 ] || die "--full-names"

# what the runtime does between two of the program's own functions is one row, and what it does around them none
cat >sort.c <<'C'
#include <stdlib.h>
void *kept[3];
int calls;
__attribute__((noinline)) int compare(const void *a, const void *b)
{
	if (!calls++)
		kept[0] = malloc(5000);
	return *(const int *)a - *(const int *)b;
}
int main(void)
{
	int v[4] = {3, 1, 4, 2};
	qsort(v, 4, sizeof v[0], compare);
	return v[0] - 1;
}
C
gcc -g -O1 -o sort sort.c
ms-record -q -o sort.trace ./sort
rows() { # [--tree OPTION...]: names of the branches, without figures and places
	ms-report --ascii --limit 20 "$@" sort.trace | sed -n '2,$s/^.* %  `\{0,1\}[- |`]*\([^ ]*\).*$/\1/p'
}
[ "$(rows --tree | head -n 3 | sed 's/^[_a-z]*qsort[_a-z]*$/QSORT/' | tr '\n' ' ')" = 'main QSORT compare ' ] || die "the runtime is not folded: $(rows --tree)"
[ "$(rows --tree=up | head -n 1)" = compare ] || die "upwards it does not begin with the program: $(rows --tree=up)"
[ "$(rows --tree --full-names | head -n 1)" = _start ] || die "--full-names does not begin at the entry"
[ "$(rows --tree --full-names | wc -l)" -gt "$(rows --tree | wc -l)" ] || die "--full-names has no more rows"
