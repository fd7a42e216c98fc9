#!/bin/bash
# SPDX-License-Identifier: MIT
# The index says how each process ended, also when its parent waited for it before the recorder saw it.
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
cat >ends.c <<'END2'
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void again(void)
{
	exit(21); /* what counts is the last */
}
static void last(void)
{
	_exit(22);
}
int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	void *volatile kept = malloc(100);
	if (!strcmp(how, "main"))
		return 11;
	if (!strcmp(how, "exit"))
		exit(256 + 12);
	if (!strcmp(how, "_exit"))
		_exit(13);
	if (!strcmp(how, "_Exit"))
		_Exit(14);
	if (!strcmp(how, "again") && !atexit(again))
		exit(1);
	if (!strcmp(how, "last") && !atexit(last))
		exit(1);
	if (!strcmp(how, "kill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(how, "vfork")) { /* its end is not ours */
		int status;
		if (!vfork()) {
			execl("/nonexistent", "nothing", (char *)0);
			_exit(127);
		}
		wait(&status);
		kill(getpid(), SIGKILL);
	}
	return kept == NULL;
}
END2
cat >runs.c <<'END2'
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int status = 0;
	for (int i = 0; i < 20; i++) {
		if (!fork()) {
			execl(argv[1], argv[1], argv[2], (char *)0);
			_exit(1);
		}
		wait(&status);
		if (!i)
			printf("%s:%d\n", WIFEXITED(status) ? "exit" : "signal", WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
	}
	return argc == 3 ? 0 : 1;
}
END2
gcc -O1 -fno-builtin -o ends ends.c && gcc -O1 -fno-builtin -static -o sends ends.c && gcc -O1 -o runs runs.c || exit 77
for program in ends sends; do
	for how in main exit _exit _Exit again last kill vfork; do
		rm -rf t.trace t.trace.d
		ms-record -q --no-symbols --follow=all -o t.trace ./runs ./$program $how >got 2>err
		# A signal is known only when the recorder was faster.
		seen=$(awk -F '\t' -v exe="/$program\$" '$11 ~ exe && $6 != "ended" { print $6 }' t.trace.d/index | sort -u)
		case $how in
		kill | vfork) is "$program, $how" "${seen:-signal:9}" 'signal:9' ;;
		*)
			is "$program, $how" "$seen" "$(<got)"
			is "$program, $how: all" "$(grep -c '	exit:.*/'"$program	" t.trace.d/index)" 20
			;;
		esac
	done
done
for how in main _exit; do
	rm -rf t.trace t.trace.d
	ms-record -q --no-symbols --leak-check=no --follow=all -o t.trace ./runs ./ends $how >got 2>err
	is "not scanned, $how" "$(grep -c "	$(<got)	.*/ends	" t.trace.d/index)" 20
done
finish
