#!/bin/sh
# SPDX-License-Identifier: MIT
# On a terminal: the pager, progress, and Ctrl-C, which leaves nothing half-written.
set -eu
# shellcheck source=tests/cli/report/fixtures.sh
. "$SRC/tests/cli/report/fixtures.sh"
"$TB/cli/snap-traces"
# A rename that takes its time, so that a signal comes while a temporary file is there.
cat >slow.c <<'EOF'
#include <unistd.h>
int renameat(int a, const char *from, int b, const char *to);
int renameat(int a, const char *from, int b, const char *to)
{
	(void)a, (void)from, (void)b, (void)to;
	write(2, "renaming\n", 9);
	sleep(20);
	return -1;
}
EOF
gcc -shared -fPIC -o slow.so slow.c
exec python3 "$SRC/tests/cli/terminal.py"
