#!/bin/bash
# SPDX-License-Identifier: MIT
# A program that does nothing: how often the recorder wakes up for it, and how soon it is there when something comes.
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
cat >idle.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
	void *volatile p;
	for (int i = 0; i < 1000; i++)
		p = malloc(100);
	getchar();
	for (int i = 0; i < 1000; i++)
		p = malloc(3000);
	fputs("done\n", stderr);
	getchar();
	return p == NULL;
}
END
cc -O1 -o idle idle.c || exit 1
switches() { # of all threads of the recorder, by their own will
	cat /proc/"$1"/task/*/status | awk '/^voluntary_ctxt_switches/ { n += $2 } END { print n }'
}
samples() { # TRACE: records in its blocks of samples
	"$TB/trace-dump" "$1" | awk '/^block/ { on = / samples \(6\)/; next } on { n++ } END { print n + 0 }'
}
length() { # TRACE: in ms
	echo $(($("$TB/trace-dump" "$1" | grep -A1 ' end (9)' | tail -n 1 | tr ' ' '\n' | sed -n 's/^1=//p') / 1000000))
}
run() { # TRACE OPTIONS: sets $woken, how often in two seconds of rest
	local trace=$1 before
	shift
	mkfifo in
	"$BIN/ms-record" -q --no-symbols --leak-check=no -o "$trace" "$@" ./idle <in 2>err &
	local recorder=$!
	exec 7>in
	sleep 1
	for _ in {1..10}; do # on a busy machine it comes to rest later
		before=$(switches $recorder)
		sleep 2
		woken=$(($(switches $recorder) - before))
		[ $woken -le 30 ] && break
	done
	# What comes after a long rest is soon in the file.
	echo >&7
	for _ in {1..100}; do
		sleep 0.3
		"$TB/trace-dump" "$trace" >growing
		[ "$(grep -c ' alloc .* size 3000' growing)" -ge 1000 ] && break
	done
	[ "$(grep -c ' alloc .* size 3000' growing)" -ge 1000 ] || fail "$trace: what came after a rest is not there"
	echo >&7
	exec 7>&-
	wait $recorder || fail "$trace: status $?"
	rm -f in err
}
run default.trace
# Three threads once or a few times a second; it was 60 before.
[ "$woken" -le 30 ] || fail "the recorder woke up $woken times in 2 s of rest"
n=$(samples default.trace)
ms=$(length default.trace)
[[ $n -ge 6 && $n -le $((ms / 100)) ]] || fail "$n samples in $ms ms with two seconds of rest"
run asked.trace -i 100ms
n=$(samples asked.trace)
ms=$(length asked.trace)
[ "$n" -ge $((ms / 250)) ] || fail "$n samples in $ms ms with -i 100ms"
finish
