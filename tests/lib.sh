# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# Has what the shell tests share; each sources it at its head. A test that goes on after a failure says it with fail and ends
# with finish; die is for one that cannot go on.
: "${BIN:?}" "${SRC:?}" "${TB:?}"
failures=0
fail() {
	failures=$((failures + 1))
	echo "FAILED: $*"
}
die() {
	echo "FAILED: $*"
	exit 1
}
finish() {
	[ $failures = 0 ] && echo ok
	exit $((failures != 0))
}
is() { # WHAT GOT WANT
	[ "$2" = "$3" ] || fail "$1 is '$2', not '$3'"
}
wait_for() { # until the command succeeds; the limit is only there so that it ends
	tries=0
	while [ $tries -lt 6000 ]; do
		"$@" && return
		tries=$((tries + 1))
		sleep 0.05
	done
	fail "never: $*"
}
emergency_pool() { # bytes that libstdc++ of this machine allocates before main; more than any other block then
	cat >pool.cc <<-'C'
		#include <stdio.h>
		#include <stdlib.h>
		extern "C" void *__libc_malloc(size_t);
		static size_t most;
		extern "C" void *malloc(size_t n) { most = n > most ? n : most; return __libc_malloc(n); }
		int main() { size_t n = most; printf("%zu\n", n); if (n == 1) throw n; }
	C
	g++ -w -fno-builtin -o pool pool.cc && ./pool
}
field() { # NUMBER TRACE: a field of the last end block
	"$TB/trace-dump" "$2" | grep -A1 ' end (9)' | tail -n 1 | tr ' ' '\n' | sed -n "s/^$1=//p"
}
