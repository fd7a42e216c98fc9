#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2317 # called by wait_for
# A program that calls exit while the recorder is stopped was not scanned for leaks, but neither was it killed: the reason that is given is true.
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
cat >late.c <<'END'
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	void *volatile p = malloc(1000);
	(void)argc;
	while (access(argv[1], F_OK))
		usleep(1000);
	if (argc > 2)
		_exit(p != NULL);
	return p == NULL;
}
END
gcc -O1 -o late late.c || exit 77
state() { ps -o state= -p "$1" | tr -d ' \n'; }
wait_for() { # the limit is only there so that it ends
	for _ in {1..6000}; do
		"$@" && return
		sleep 0.02
	done
	fail "never: $*"
}
stopped() { [[ $(state "$1") == T ]]; }
over() { [[ $(state "$1") == [Z]* ]]; }
# Stopped for 3 s its heartbeat is older than the program waits for, and the program ends at once; just stopped (on a machine that is fast enough) it
# is waited for in vain.
for case in '3' '3 _exit' '0' '0 _exit'; do
	read -r seconds how <<<"$case"
	rm -f go t.trace
	# shellcheck disable=SC2086 # a word or none
	ms-record -o t.trace ./late go $how 2>err &
	recorder=$!
	wait_for pgrep -P $recorder -x late >pid
	pid=$(head -n 1 pid)
	wait_for grep -q . t.trace
	kill -STOP $recorder
	wait_for stopped $recorder
	sleep "$seconds"
	touch go
	wait_for over "$pid"
	kill -CONT $recorder
	wait $recorder
	grep -q 'killed' err && fail "$case: $(<err)"
	grep -q '; not scanned for leaks: the scan would have taken longer than --leak-check allows$' err || fail "$case: no reason: $(<err)"
	ms-report t.trace | tr -s '\n ' '  ' | grep -q 'not checked for leaks: the scan would have taken longer than ms-record --leak-check allows' || fail "$case: $(ms-report t.trace)"
done
finish
