#!/bin/bash
# SPDX-License-Identifier: MIT
# Static programs that a recorded one runs are not recorded: each has a line with the reason in FILE.d/index, and is counted wherever figures are said
# to be whole. However it is run, it runs as without the recorder.
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
cat >static.c <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		printf("%s ", argv[i]);
	puts(getenv("WORD") ? getenv("WORD") : "-");
	return 7;
}
END
cat >runs.c <<'END'
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static int spawned(int r, pid_t pid)
{
	int status = 0;
	if (r)
		return 100 + r;
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}
int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	char *all[] = {"static", "1", "2", "3", "4", "5", "6", "7", "8", NULL}, *env[] = {"WORD=own", NULL};
	pid_t pid = 0;
	setenv("PATH", "/nowhere::.:/usr/bin", 1);
	if (!strcmp(how, "execl"))
		execl("./static", "static", "1", "2", "3", "4", "5", "6", "7", "8", (char *)0);
	if (!strcmp(how, "execle"))
		execle("./static", "static", "1", "2", "3", "4", "5", "6", "7", "8", (char *)0, env);
	if (!strcmp(how, "execlp"))
		execlp("static", "static", "1", "2", "3", "4", "5", "6", "7", "8", (char *)0);
	if (!strcmp(how, "execv"))
		execv("./static", all);
	if (!strcmp(how, "execve"))
		execve("./static", all, env);
	if (!strcmp(how, "execvp"))
		execvp("static", all);
	if (!strcmp(how, "execvpe"))
		execvpe("static", all, env);
	if (!strcmp(how, "script"))
		execv("./script", all);
	if (!strcmp(how, "posix_spawn"))
		return spawned(posix_spawn(&pid, "./static", NULL, NULL, all, env), pid);
	if (!strcmp(how, "posix_spawnp"))
		return spawned(posix_spawnp(&pid, "static", NULL, NULL, all, env), pid);
	if (!strcmp(how, "vfork")) {
		if ((pid = vfork()) == 0) {
			execve("./static", all, env);
			_exit(1);
		}
		return spawned(0, pid);
	}
	if (!strcmp(how, "fails")) { /* each of these is refused */
		execv("./data", all);
		execv("./nothing", all);
		execvp("", all);
		execvp("nothing", all);
		execlp("data", "data", (char *)0);
		return spawned(posix_spawn(&pid, "./nothing", NULL, NULL, all, env), pid);
	}
	return 1;
}
END
gcc -O1 -static -o static static.c && gcc -O1 -D_GNU_SOURCE -o runs runs.c || exit 77
cp static data && chmod a-x data
printf '#!%s/static word\n' "$PWD" >script && chmod +x script
printf 'all:\n\t-@./static made\n\t-@./static again\n' >Makefile
cat >run.py <<'END'
import os, subprocess
assert subprocess.call(["./static", "python"]) == 7
assert subprocess.call(["./static", "spawned"], close_fds=False) == 7
END
notes() { # how often each static program is in the index, and why
	awk -F '\t' '$2 != "parent" && $12 ~ /^not recorded: / { sub(/.*\//, "", $11); sub("script", "static", $11); print $11 "=" $12 }' t.trace.d/index | sort | uniq -c | sed 's/^ *//'
}
why='it is statically linked, so nothing can be preloaded; start it with ms-record itself'
below() { # N NAME COMMAND...: N static programs
	local n=$1 name=$2 status
	shift 2
	rm -rf t.trace t.trace.d
	"$@" >plain 2>plain.err
	status=$?
	ms-record -o t.trace "$@" >got 2>err
	is "$name: status" $? $status
	cmp -s plain got || fail "$name: its output is $(<got), not $(<plain)"
	if [ "$n" = 0 ]; then
		[ -e t.trace.d/index ] && is "$name: index" "$(notes)" ''
		return
	fi
	is "$name: index" "$(notes)" "$n static=not recorded: $why"
	grep -q "; $n could not be recorded\$" err || fail "$name: not counted: $(<err)"
	grep -q 'every event recorded$' err && fail "$name: every event: $(<err)"
	is "$name: JSON" "$(ms-report --json --only-first t.trace | grep -o '"images_missed":[0-9]*' | head -n 1)" "\"images_missed\":$n"
	words="$n program$([ "$n" = 1 ] || echo s) that it started, see .d/index"
	ms-report --md --only-first t.trace | grep -qF "$words" || fail "$name: not on the first screen: $(ms-report --md --only-first t.trace)"
}
below 1 'sh' sh -c ./static
below 3 'sh, three' sh -c './static; ./static a b; (./static c); exit 3'
below 1 'bash' bash -c './static; true'
below 1 'env' env WORD=x ./static
below 1 'env -i' env -i ./static
below 1 'timeout' timeout 100 ./static
below 1 'nice' nice ./static
below 2 'make' make -s
for how in execl execle execlp execv execve execvp execvpe script posix_spawn posix_spawnp vfork; do
	below 1 $how ./runs $how
done
below 0 'refused' ./runs fails
below 0 'a dynamic one' sh -c '/bin/true; /usr/bin/env true'
python=$(python3 -c 'import sys; print(sys.executable)')
below 2 'python' "$python" run.py

# ---- the process of posix_spawn is not known; that of another way is ----
ms-record -q -o t.trace ./runs posix_spawn >got
is 'posix_spawn: its line' "$(awk -F '\t' '$12 ~ /^not recorded/ { print $2, $3, $6 }' t.trace.d/index)" '0 - -'

# ---- the report is of a process of FILE.d: the count stands above ----
ms-record -q -o t.trace sh -c './static; python3 -c 1; exit' >got
[[ $(ms-report t.trace | head -n 1) == 'PROCESSES of the run by peak; 1 program not recorded: see .d/index; below: '* ]] || fail "the processes: $(ms-report t.trace | head -n 3)"

# ---- not wanted: nothing is said of it ----
ms-record -o t.trace --follow=none sh -c './static; exit' >got 2>err
grep -q 'every event recorded$' err || fail "--follow=none: $(<err)"
finish
