#!/bin/bash
# SPDX-License-Identifier: MIT
# Static programs that a recorded one runs are recorded as they are when started directly, however they are run; one that cannot be has a line with
# the reason in FILE.d/index, and is counted wherever figures are said to be whole. They run as without the recorder, whatever becomes of that.
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
cat >static.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *volatile kept[40];
static __attribute__((noinline)) void work(void)
{
	for (int i = 0; i < 40; i++)
		kept[i] = malloc(100);
	for (int i = 0; i < 15; i++)
		free(kept[i]);
	for (int i = 15; i < 25; i++)
		kept[i] = 0;
}
int main(int argc, char **argv)
{
	char line[400] = "";
	const char *word = getenv("WORD");
	if (!getenv("IDLE"))
		work();
	for (int i = 0; i < argc; i++)
		strcat(strcat(line, argv[i]), " ");
	strcat(strcat(line, word ? word : "-"), "\n");
	if (write(1, line, strlen(line)) < 0)
		return 1;
	if (argc > 1 && !strcmp(argv[1], "sleep"))
		sleep(atoi(argv[2]));
	if (argc > 1 && !strcmp(argv[1], "abort"))
		abort();
	return 7;
}
END
cat >runs.c <<'END'
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
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
	if (!strcmp(how, "fexecve"))
		fexecve(open("./static", O_RDONLY | O_CLOEXEC), all, env);
	if (!strcmp(how, "execveat"))
		execveat(AT_FDCWD, "./static", all, env, 0);
	if (!strcmp(how, "execveat, folder"))
		execveat(open(".", O_RDONLY | O_CLOEXEC), "static", all, env, 0);
	if (!strcmp(how, "execveat, file"))
		execveat(open("./static", O_RDONLY | O_CLOEXEC), "", all, env, AT_EMPTY_PATH);
	if (!strcmp(how, "syscall"))
		syscall(SYS_execve, "./static", all, env);
	if (!strcmp(how, "syscall, at"))
		syscall(SYS_execveat, AT_FDCWD, "./static", all, env, 0);
	if (!strcmp(how, "raw")) {
		long r;
		__asm__ volatile("syscall" : "=a"(r) : "a"(SYS_execve), "D"("./static"), "S"(all), "d"(env) : "rcx", "r11", "memory");
	}
	if (!strcmp(how, "fork")) {
		if ((pid = fork()) == 0) {
			execve("./static", all, env);
			_exit(1);
		}
		return spawned(0, pid);
	}
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
		execveat(AT_FDCWD, "./nothing", all, env, 0);
		syscall(SYS_execve, "./data", all, env);
		return spawned(posix_spawn(&pid, "./nothing", NULL, NULL, all, env), pid);
	}
	return 1;
}
END
gcc -O1 -fno-builtin -static -o static static.c && gcc -O1 -D_GNU_SOURCE -o runs runs.c && gcc -O1 -D_GNU_SOURCE -static -o sruns runs.c || exit 77
strip -o stripped static
cp static data && chmod a-x data
printf '#!%s/static word\n' "$PWD" >script && chmod +x script
printf 'all:\n\t-@./static made\n\t-@./static again\n' >Makefile
cat >run.py <<'END'
import os, subprocess
assert subprocess.call(["./static", "python"]) == 7
assert subprocess.call(["./static", "spawned"], close_fds=False) == 7
END
programs() { # what the index says of each static program: events, bytes, trace or none, note
	awk -F '\t' '$11 ~ /\/static$/ { print $7, $8, $10 == "-" ? "none" : "trace", $12 }' t.trace.d/index | sort | uniq -c | sed 's/^ *//'
}
record() {
	rm -rf t.trace t.trace.d
	ms-record --follow=all -o t.trace "$@"
}
total() { # WHAT TRACE
	ms-report --json "$2" | grep -o "\"$1\":[0-9]*" | head -n 1 | grep -o '[0-9]*$'
}
# What its C library does before main, and frees at exit, is known from the program that makes no block of its own.
IDLE=1 record ./static >got 2>err
read -r before bytes left <<<"$(total allocations t.trace) $(total allocated_bytes t.trace) $(total unfreed_blocks t.trace)"
record ./static >got 2>err
is 'directly: events' "$(total allocations t.trace) $(total allocated_bytes t.trace)" "$((before + 40)) $((bytes + 4000))"
each="$((before + 40)) $((bytes + 4000)) trace -"
below() { # N NAME COMMAND...: N static programs
	local n=$1 name=$2 status held=$left
	[ "$name" != 'it aborts' ] || held=$before
	shift 2
	"$@" >plain 2>plain.err
	status=$?
	record "$@" >got 2>err
	is "$name: status" $? $status
	cmp -s plain got || fail "$name: its output is $(<got), not $(<plain)"
	if [ "$n" = 0 ]; then
		[ -e t.trace.d/index ] && is "$name: index" "$(programs)" ''
		return
	fi
	is "$name: index" "$(programs)" "$n $each"
	grep -q 'every event recorded$' err || fail "$name: not every event: $(<err)"
	for trace in t.trace.d/static.* t.trace.d/script.*; do
		[ -e "$trace" ] || continue
		is "$name: $trace" "$(total allocations "$trace") $(total unfreed_blocks "$trace")" "$((before + 40)) $((held + 25))"
		[ "$(id -u)" != 0 ] || is "$name: unreachable" "$(total unreachable_blocks "$trace")" 10
	done
}
below 1 'sh' sh -c ./static
below 3 'sh, three' sh -c './static; ./static a b; (./static c); exit 3'
below 1 'bash' bash -c './static; true'
below 1 'env' env WORD=x ./static
below 1 'env -i' env -i ./static
below 1 'timeout' timeout 100 ./static
below 1 'nice' nice ./static
below 2 'make' make -s
for how in execl execle execlp execv execve execvp execvpe fexecve execveat 'execveat, folder' 'execveat, file' syscall 'syscall, at' script posix_spawn posix_spawnp \
	fork vfork; do
	below 1 "$how" ./runs "$how"
done
below 0 'refused' ./runs fails
below 0 'a dynamic one' sh -c '/bin/true; /usr/bin/env true'
python=$(python3 -c 'import sys; print(sys.executable)')
below 2 'python' "$python" run.py
# shellcheck disable=SC2016 # the shell that is recorded expands them
below 6 'several at once' sh -c 'for i in 1 2 3 4 5 6; do ./static >out.$i & done; wait; cat out.*'
below 1 'it aborts' sh -c 'ulimit -c 0; ./static abort; echo $?'

# ---- by an instruction of its own: it has a line, whether it was seen or is known by its name only ----
record ./runs raw >got 2>err
is 'raw: output' "$? $(<got)" '7 static 1 2 3 4 5 6 7 8 own'
grep -qE '	not recorded: (it was started by a system call that ms-record does not hook|it is statically linked, .*)$' t.trace.d/index || fail "raw: $(<t.trace.d/index)"

# ---- killed: the status is the signal's, and what it did is there ----
for sig in TERM KILL; do
	record sh -c "./static sleep 100 & until [ -s got ]; do sleep 0.01; done; kill -$sig \$!; wait \$!; echo \$?" >got 2>err
	is "$sig: output" "$(<got)" "./static sleep 100 -
$((128 + $(kill -l $sig)))"
	is "$sig: index" "$(programs)" "1 $each"
done

# ---- the recorder dies, or stops, at any moment: what it records goes on as it would ----
# shellcheck disable=SC2016
storm='i=0; while [ $i -lt 20 ]; do ./static $i || [ $? = 7 ] || echo bad $i; i=$((i + 1)); done; echo end'
sh -c "$storm" >plain
for sig in KILL KILL KILL STOP STOP; do
	rm -rf t.trace t.trace.d
	: >got
	ms-record -q --follow=all -o t.trace sh -c "$storm" >>got 2>err &
	recorder=$!
	until [ -s got ]; do sleep 0.01; done
	sleep "0.$((RANDOM % 10))"
	kill -$sig $recorder
	for ((i = 0; i < 3000; i++)); do
		[ "$(tail -n 1 got)" = end ] && break
		sleep 0.1
	done
	kill -CONT $recorder 2>/dev/null
	wait $recorder
	cmp -s plain got || fail "$sig: the output is $(<got)"
done 2>/dev/null

# ---- with --leak-check=yes the command is traced from its start, and is what it becomes ----
record --leak-check=yes env WORD=x ./static >got 2>err
is '--leak-check=yes: output' "$? $(<got)" '7 ./static x'
is '--leak-check=yes: index' "$(programs)" "1 $each"
record --leak-check=yes -d 0.2 env WORD=x ./static sleep 2 >got 2>err
is '--leak-check=yes, stopped: output' "$? $(<got)" '7 ./static sleep 2 x'

# ---- what it starts: tests/host/chain.c makes as many blocks as it is told, and loses half of them ----
if [ "$(id -u)" = 0 ]; then
	static=$TB/host/chain_static dynamic=$TB/host/chain_dynamic
	for how in fork vfork spawn; do
		record --no-symbols sh -c "$static 200 $how $dynamic 300 $how $static 400 $how $static 120; exit" >got 2>err
		is "$how: the chain" "$(cut -f 1,2,11 t.trace.d/index | sed 's|/.*/||' | sort -n | tr '\t\n' '  ')" \
			"$(head -n 1 t.trace.d/index | cut -f 1,2,11 | tr '\t' ' ') 0 - $(basename "$(readlink -f "$(command -v sh)")") 1 0 chain_static 2 1 chain_dynamic 3 2 chain_static 4 3 chain_static "
		for trace in t.trace.d/*.trace; do
			total unreachable_blocks "$trace"
		done | sort -n | tr '\n' ' ' >lost
		is "$how: lost blocks" "$(<lost)" '60 100 150 200 '
	done
fi

# ---- without privileges: what it starts keeps the rights that it gets ----
if [ "$(id -u)" = 0 ]; then
	nobody=$(mktemp -d /tmp/memscope-static.XXXXXX)
	cp "$BIN/ms-record" "$BIN/libmemscope-preload.so" static sruns script "$nobody"
	sed -i "1s|.*|#!$nobody/static word|" "$nobody/script"
	gcc -x c -o "$nobody/rights" - <<'END' && gcc -O1 -fno-builtin -static -x c -o "$nobody/starter" - <<'END2' || exit 77
#include <stdio.h>
#include <unistd.h>
int main(void) { return printf("%d\n", (int)geteuid()) < 0; }
END
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile kept[40];
int main(void)
{
	for (int i = 0; i < 40; i++)
		kept[i] = malloc(100);
	if (!fork()) {
		execl("./rights", "rights", (char *)0);
		_exit(1);
	}
	wait(NULL);
	execl("./rights", "rights", (char *)0);
	return 1;
}
END2
	chown nobody "$nobody" && chmod 4755 "$nobody/rights"
	(
		cd "$nobody" || exit 1
		setpriv --reuid=nobody --regid=nogroup --clear-groups sh -c './starter; echo $?' >plain
		setpriv --reuid=nobody --regid=nogroup --clear-groups ./ms-record -q --follow=all --no-symbols -o t.trace sh -c './starter; echo $?' >got
	)
	# What a static one starts tells of itself, too.
	for how in execv execvpe fexecve execveat 'execveat, folder' 'execveat, file' script posix_spawn posix_spawnp fork vfork; do
		(
			cd "$nobody" || exit 1
			setpriv --reuid=nobody --regid=nogroup --clear-groups sh -c './sruns "$@"; echo $?' - "$how" >plain2
			setpriv --reuid=nobody --regid=nogroup --clear-groups ./ms-record -q --follow=all --no-symbols -o s.trace sh -c './sruns "$@"; echo $?' - "$how" >got2
			cmp plain2 got2
		) || fail "$how, without privileges: $(<"$nobody/got2")"
		is "$how, without privileges" "$(awk -F '\t' '$11 ~ /\/static$/ { print $7, $10 == "-" ? "none" : "trace", $12 }' "$nobody/s.trace.d/index")" "$((before + 40)) trace -"
	done
	is 'its rights' "$(<"$nobody/got")" "$(<"$nobody/plain")"
	is 'its line' "$(awk -F '\t' '$11 ~ /starter$/ { print $7, $10 == "-" ? "none" : "trace", $12 }' "$nobody/t.trace.d/index")" "$((before + 40)) trace -"
	rm -rf "$nobody"
fi

# ---- one whose allocator is not known is told of ----
record sh -c './stripped; exit' >got 2>err
is 'stripped: its line' "$(awk -F '\t' '$11 ~ /stripped$/ { print $12 }' t.trace.d/index | sed 's/; keep its.*//')" \
	'not recorded: it is statically linked and stripped, so its allocator cannot be found'
grep -q '; 1 could not be recorded$' err || fail "stripped: not counted: $(<err)"
is 'stripped: JSON' "$(ms-report --json --only-first t.trace | grep -o '"images_missed":[0-9]*' | head -n 1)" '"images_missed":1'
ms-report --md --only-first t.trace | grep -qF '1 child program not recorded: see FILE.d/index' || fail 'stripped: not on the first screen'

# ---- the process of posix_spawn is not known; that of another way is ----
cp stripped static
record ./runs posix_spawn >got 2>err
is 'posix_spawn: its line' "$(awk -F '\t' '$12 ~ /^not recorded/ { print $2, $3, $6 }' t.trace.d/index)" '0 - -'

# ---- the report is of a process of FILE.d: the count stands above ----
record sh -c './static; python3 -c 1; exit' >got 2>err
[[ $(ms-report t.trace | head -n 1) == 'PROCESSES of the run by peak; 1 program not recorded: see FILE.d/index; below: '* ]] || fail "the processes: $(ms-report t.trace | head -n 3)"

# ---- not wanted: nothing is said of it ----
record --follow=none sh -c './static; exit' >got 2>err
grep -q 'every event recorded$' err || fail "--follow=none: $(<err)"
finish
