#!/bin/bash
# SPDX-License-Identifier: MIT
# Children that fork without exec: exact figures of each process, many at a time and one after the other, limits, and nothing left behind.
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
left() { # nothing of ours may be left
	[ -z "$(find /dev/shm -newer start -name '*memscope*' 2>/dev/null)" ] || fail "$1 left shared memory"
	pgrep -f "^$PWD/forks" >/dev/null && fail "$1 left processes"
}
touch start
cp "$TB/host/forks" forks || exit 1 # a name that no other run has
scenes='fork late raw handler grandchild twice exec spawn none daemon threads first timer'
FORKS_TRUTH=$PWD/truth
export FORKS_TRUTH

exact() { # OPTION...: figures of all scenes
	rm -f truth
	# shellcheck disable=SC2086 # words
	timeout 600 "$BIN/ms-record" --follow=all --no-symbols "$@" -o f.trace "$PWD/forks" $scenes >out 2>err || fail "$*: status $?: $(cat err)"
	[ -s out ] && fail "$*: output: $(cat out)"
	"$BIN/ms-snap" --no-symbols -o f.db f.trace f.trace.d || fail "$*: ms-snap"
	python3 "$SRC/tests/host/forks.py" truth f.db >wrong || fail "$*: $(cat wrong)"
	rm -f f.db
}
exact
exact --verify
grep -q ' 0 differ$' err || fail "wrong stacks: $(grep verify err)"
left 'all scenes'

# ---- samples in a child: 100 MB, by some 1,500 of them ----
cat >samples.c <<'END'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	int status = 1;
	if (!fork()) {
		for (int i = 0; i < 20000; i++) {
			char *volatile p = malloc(5000);
			free(p);
		}
		_exit(0);
	}
	return wait(&status) < 0 || status;
}
END
cc -O1 -o samples samples.c || exit 1
"$BIN/ms-record" -q --no-symbols --follow=all -s 64k -o m.trace ./samples || fail "samples: status $?"
bytes=$("$BIN/ms-report" --json m.trace.d/samples.*.trace | jq .totals.allocated_bytes)
[ $((bytes > 80000000 && bytes < 120000000)) = 1 ] || fail "samples of a child tell of $bytes bytes, not of some 100,000,000"
left 'samples'

# ---- 2,000 short children of a shell, one after the other: none fails, nothing is left ----
# shellcheck disable=SC2016 # the shell's own
bomb='i=0; while [ $i -lt 2000 ]; do (x=$i; exit $((i % 3))) || :; i=$((i + 1)); done; echo done $i'
timeout 600 "$BIN/ms-record" --no-symbols -o b.trace sh -c "$bomb" >out 2>err || fail "short children: status $?"
[ "$(cat out)" = 'done 2000' ] || fail "short children: output $(cat out)"
[ "$(find b.trace.d -name '*.trace' | wc -l)" = 0 ] || fail "short children left traces: $(find b.trace.d | head -n 3)"
said=$(sed -n 's/.*forks  *\([0-9]*\) forked child.*/\1/p' err) # one that waited too long on a busy machine
seen=$(grep -c trivial$ b.trace.d/index)
[ $((seen >= 1980 && seen + ${said:-0} == 2000)) = 1 ] || fail "short children: $seen of 2000 are in the index, ${said:-0} said"
left 'short children'

# ---- 200 at the same time: as many as there is room for are recorded, the others run and are counted ----
cat >many.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1, bad = 0, go[2], status;
	char byte;
	if (pipe(go))
		return 1;
	for (int i = 0; i < n; i++)
		if (!fork()) {
			for (int k = 0; k < 150; k++)
				*(char *)malloc(1000) = 1;
			close(go[1]);
			_exit(read(go[0], &byte, 1) != 0);
		}
	close(go[1]);
	for (int i = 0; i < n; i++)
		bad += wait(&status) < 0 || status != 0;
	printf("%d bad\n", bad);
	return bad != 0;
}
END
gcc -O1 -fno-builtin -o many many.c || exit 1
for _ in {1..20}; do # for .1 s a child waits until the recorder has made room: on a busy machine few get it
	timeout 600 "$BIN/ms-record" --no-symbols -o m.trace ./many 200 >out 2>err || fail "many at once: status $?: $(cat out err)"
	kept=$(find m.trace.d -name '*.trace' | wc -l)
	said=$(sed -n 's/.*forks  *\([0-9]*\) forked child.*/\1/p' err)
	[ $((kept + ${said:-0})) = 200 ] || fail "many at once: $kept kept, ${said:-0} said not to be: $(cat err)"
	[ "$kept" -lt 50 ] || break
done
[ "$kept" -ge 50 ] || fail "many at once: only $kept kept"
timeout 600 "$BIN/ms-record" --no-symbols -o m.trace sh -c 'ulimit -v 3000000; exec ./many 20' >out 2>err || fail "little address space: status $?: $(cat out err)"
kept=$(find m.trace.d -name '*.trace' 2>/dev/null | wc -l)
said=$(sed -n 's/.*forks  *\([0-9]*\) forked child.*/\1/p' err)
[ "$kept ${said:-0}" = '1 20' ] || fail "little address space: $kept kept, ${said:-0} said: $(cat err)"
left 'many at once'

# ---- which of them are wanted ----
cp many sub
images() { # WHAT EXPECTED: programs of the further traces
	"$BIN/ms-record" -q --no-symbols --follow="$1" -o w.trace sh -c './many 1 >/dev/null; ./sub 2 >/dev/null; exec ./sub 1' >/dev/null || fail "--follow=$1: status $?"
	got=$( (cd w.trace.d 2>/dev/null && for f in *.trace; do echo "${f%%.*}"; done) | sort | tr '\n' ' ')
	[ "$got" = "$2" ] || fail "--follow=$1 gives '$got', not '$2'"
}
images 'm*y,nothing' 'many sub ' # the child of the other program's trace is trivial, and the last program is the command's own
images exec 'sub '
images none 'sub '
images fork 'sub sub '
images 'sub?,sub' 'sub sub sub sub '
"$BIN/ms-record" -q --no-symbols --follow=fork -o w.trace ./many 3 >/dev/null
[ "$(find w.trace.d -name 'many.*.trace' | wc -l)" = 3 ] || fail "--follow=fork gives $(ls w.trace.d)"
"$BIN/ms-record" --no-symbols --follow=exec -o w.trace ./many 3 >/dev/null 2>err
[ -e w.trace.d ] && fail "--follow=exec gives $(ls w.trace.d)"
grep -q 'forks .*3 forked children' err || fail "--follow=exec does not say what it left out: $(cat err)"
for w in '' ',' 'a,,b' /bin/x ',x' some; do
	"$BIN/ms-record" --follow="$w" true 2>err && fail "--follow='$w' is taken"
	grep -q '^ms-record: bad --follow' err || fail "--follow='$w': $(cat err)"
done

# ---- the same output and status as without; a child that is killed, and the recorder ----
cat >mix.sh <<'END'
x=$(echo inner | (read -r y; echo "<$y>"))
echo "$x"
(echo killed; sh -c 'kill -9 $PPID'; echo never)
echo $?
(exit 7)
END
sh mix.sh >want 2>&1
status=$?
"$BIN/ms-record" -q --no-symbols -o x.trace sh mix.sh >got 2>&1
is=$?
[ $is = $status ] || fail "a shell ends with $is, not $status"
cmp -s want got || fail "a shell's subshells: $(cat want got)"

finish
