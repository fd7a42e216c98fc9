#!/bin/bash
# SPDX-License-Identifier: MIT
# A program that opens more modules at once than the recorder has made room for, while the recorder is stopped: each has its place
# in the table of modules, so that stacks through them are whole.
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
cat >plug.c <<'END'
#include <stdlib.h>
void *take(void);
void *take(void) { return malloc(1000); }
END
cat >many.c <<'END'
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
int main(void)
{
	static void *all[200];
	char name[32];
	kill(getppid(), SIGSTOP);
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof name, "./plug%d.so", i);
		all[i] = dlopen(name, RTLD_NOW);
	}
	for (int i = 0; i < 200; i++) {
		void *(*take)(void) = (void *(*)(void))dlsym(all[i], "take");
		take();
	}
	kill(getppid(), SIGCONT);
	return 0;
}
END
cc -O1 -fPIC -shared -o plug.so plug.c && cc -O1 -o many many.c -ldl || exit 1
for i in $(seq 0 199); do
	cp plug.so plug"$i".so # each a file of its own, and so a module
done
"$BIN/ms-record" -q --no-symbols --leak-check=no -o many.trace ./many || fail "status $?"
is "lost" "$(field 6 many.trace)" 0
is "truncated" "$(field 8 many.trace)" 0
is "modules" "$("$TB/trace-dump" many.trace | grep -c '/plug[0-9]*\.so')" 200
finish
