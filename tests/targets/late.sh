#!/bin/sh
# SPDX-License-Identifier: MIT
# A library that a program opens while the recorder cannot look at it (it is stopped): its allocator is not hooked, not even later, when threads may run
# its code, and summary and report say so; what is opened after that is hooked.
set -eu
here=$SRC/tests/targets/custom
# shellcheck source=tests/targets/custom/common.sh
. "$here/common.sh"
cat >twice.c <<'END'
#include <dlfcn.h>
#include <unistd.h>
static int meet(const char *c)
{
	char answer;
	return write(1, c, 1) == 1 && read(0, &answer, 1) == 1;
}
int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!meet("w"))
			return 1;
		void *h = dlopen(argv[i], RTLD_NOW);
		((void (*)(void))dlsym(h, "work"))();
	}
	return !meet("d");
}
END
gcc -O1 -g -o twice twice.c -ldl
for n in 1 2; do
	gcc -O2 -g -DP=lib${n}_ -DHIDDEN -fno-builtin -shared -fPIC -o lib$n.so "$here/family.c"
done
wait_for() { # COMMAND...: the limit is only there so that it ends
	n=0
	until "$@"; do
		n=$((n + 1))
		[ $n -lt 6000 ] || fail "never: $*"
		sleep 0.02
	done
}
said() { [ "$(cat out)" = "$1" ]; }
stopped() { [ "$(ps -o state= -p "$recorder" | cut -c 1)" = T ]; }
answers() { ms-record -q --tell t.trace status >told 2>&1; }
begin() { # HOW: recorder and target are up, and twice is about to open its first library
	rm -rf t.trace go
	mkfifo go
	: >out
	if [ "$1" = launched ]; then
		ms-record -o t.trace ./twice ./lib1.so ./lib2.so <go >out 2>err &
		recorder=$!
		exec 7>go
	else
		./twice ./lib1.so ./lib2.so <go >out &
		target=$!
		exec 7>go
		ms-record -o t.trace -p $target 2>err &
		recorder=$!
	fi
	wait_for said w
	wait_for answers
}
once() { # HOW
	begin "$1"
	kill -STOP "$recorder"
	wait_for stopped
	printf . >&7
	wait_for said ww
	kill -CONT "$recorder"
	wait_for answers
	printf . >&7
	wait_for said wwd
	printf . >&7
	exec 7>&-
	wait "$recorder" || fail "$1: status $?: $(cat err)"
}
for how in launched attached; do
	for _ in 1 2 3 4 5; do # a busy machine may keep the recorder from the second library, too
		once $how
		grep -q "'lib2_malloc' cannot be hooked" err || break
	done
	ms-snap -q -o t.db t.trace
	expect "$how: missed" "$(ask t 'SELECT allocators_missed FROM process')" '["lib1_malloc in lib1.so"]'
	grep -q '; recorded in part: lib1_malloc in lib1.so is not hooked$' err || fail "$how: $(head -n 2 err)"
	grep -q "^  hooks     some allocations in 'lib1.so' are missing: 'lib1_malloc' cannot be hooked (ms-record did not respond while the module was loaded)\$" err ||
		fail "$how: $(cat err)"
	ms-report t.db | grep -q "^Quality  recorded in part: 'lib1_malloc' in 'lib1.so' not hooked, see ms-record --hook" || fail "$how: $(ms-report t.db | head -n 4)"
	expect "$how: the second library" "$(totals t)" '2005|1001|1001428'
done

# The first stacks in a library are known, even if the thread that hooks it is awake before the one that reads which modules there are: here it is asked for
# its status all the time.
for _ in 1 2 3 4 5 6 7 8 9 10; do
	begin attached
	for _ in 1 2; do
		(while ms-record -q --tell t.trace status >/dev/null 2>&1; do :; done) &
	done
	sleep 0.1
	printf . >&7
	wait_for said ww
	printf . >&7
	wait_for said wwd
	printf . >&7
	exec 7>&-
	wait "$recorder" || fail "asked: status $?: $(cat err)"
	wait
	ms-snap -q -o t.db t.trace
	if [ "$(ask t 'SELECT count(*) FROM process, json_each(allocators_missed)')" = 0 ]; then
		expect 'asked: both libraries' "$(totals t)" '4010|2002|2002856'
	fi
done
echo ok
