#!/bin/bash
# SPDX-License-Identifier: MIT
# ms-record's command line, refusals, statuses and files.
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# STATUS PATTERN ARG...: one line on standard error that starts with the name, nothing on standard output, no file
refused() {
	local status=$1 pattern=$2 rc
	shift 2
	"$BIN/ms-record" "$@" >stdout 2>err
	rc=$?
	[ $rc = "$status" ] || fail "ms-record $*: status $rc, not $status"
	[ "$(wc -l <err)" = 1 ] || fail "ms-record $*: $(wc -l <err) lines, not 1: $(cat err)"
	grep -q "^ms-record: .*$pattern" err || fail "ms-record $*: no '$pattern' in: $(cat err)"
	[ ! -s stdout ] || fail "ms-record $*: said on standard output: $(cat stdout)"
	[ -z "$(find . -name '*.trace*')" ] || fail "ms-record $*: left $(find . -name '*.trace*')"
}

# ---- options of ours after the command ----
behind() { # WORDS ARG...: the first line on standard error
	local want=$1
	shift
	"$BIN/ms-record" "$@" >stdout 2>err || fail "ms-record $*: status $?"
	[ "$(grep 'after the command' err)" = "$want" ] || fail "ms-record $*: $(cat err)"
	rm -f ./*.trace
}
for option in '-o x.trace' -ox.trace '--output x.trace' --output=x.trace; do
	# shellcheck disable=SC2086
	behind "ms-record: '${option%% *}' after the command is passed to 'true': options of ms-record go before the command" true $option
done
behind '' -q true -o x.trace
behind '' -o y.trace true -o x.trace
behind '' -- true -o x.trace
behind '' true -o x.txt x.trace

# ---- bad command lines ----
refused 125 "unknown option '--smaple': did you mean --sample? (ms-record --help=all lists all options)" --smaple 1k true
refused 125 'no command'
refused 125 "unknown option '--nonsense'" --nonsense true
refused 125 "--fail-on 'heap > SIZE' needs --poll" --max-heap 1M true
refused 125 "bad --with 'verify,none': expected usable-size|free-stacks" --with verify,none true
refused 125 '--verbose cannot be combined with --poll' --poll -v true
refused 125 '--env cannot be combined with -p: the process is already running' --poll -p 1 --env A=B
for option in --report '--max-growth 1M/s' "--hook f(ptr)" '-o b.trace' '-d 1s' '-p 1' --standby '--env A=B' '-z 5'; do
	# shellcheck disable=SC2086
	refused 125 'sends a request to a recorder, and --[a-z-]* does nothing for it' $option --tell a.trace stop
done
refused 125 "option '-o' needs an argument" -o
refused 125 "option '--quiet' takes no argument" --quiet=yes true
refused 125 "bad size '1x'" --buffer 1x true
refused 125 'at least 1M' --buffer 1k true
refused 125 "bad duration" -d never true
refused 125 "bad --duration '0': must be more than 0" -d 0 true
refused 125 'at least 1ms' -i 1us true
refused 125 'depth' --depth 1 true
refused 125 '--sample=seed needs BYTES: --sample=BYTES,seed:N' --seed 7 true
refused 125 '--leak-check=yes cannot be combined with --sample: it needs all blocks' -s 64k --leak-check=yes:5s true
refused 125 "bad --duration '0': must be more than 0" -p 1 -d 0
refused 125 '--retention needs a scan: with --leak-check=no nothing is scanned' --leak-check=no --retention true
refused 125 '--retention cannot be combined with --sample: it needs all blocks' -s 64k --retention true
refused 125 '--retention-at cannot be combined with --leak-check=yes: that runs the command under ptrace, where it cannot be scanned while it runs' --retention-at=live:1M --leak-check=yes true
refused 125 '--retention-at cannot be combined with --leak-check=no: nothing is scanned' --retention-at=every:1s --leak-check=no true
refused 125 '--retention-at cannot be combined with --retention=no' --retention-at=rss:1M --retention=no true
refused 125 '--retention-at cannot be combined with --sample' --retention-at=rss:1M -s 64k true
refused 125 'at least 1s' --retention-at=every:10ms true
refused 125 '--retention-at cannot be combined with --retention=no' --retention-at=exit --retention=no true
refused 125 '--retention-at cannot be combined with --leak-check=no: nothing is scanned' --retention-at=exit --leak-check=no true
# ---- --when ----
refused 125 "bad --when 'rss > 2GiB': expected CONDITION: ACTION\[, ACTION...\], such as 'rss > 2GiB: retention'" --when 'rss > 2GiB' true
refused 125 "bad --when 'swap > 1M: stop': unknown condition 'swap': use rss, live, cgroup, failed or every" --when 'swap > 1M: stop' true
refused 125 "bad --when 'failed: halt': unknown action 'halt': use mark:NAME, leak-check, retention, resident, start, stop, checkpoint or exec:COMMAND" --when 'failed: halt' true
refused 125 "{pid} cannot be in single quotes, where the shell replaces nothing: use double quotes or none" --when "failed: exec:echo '{pid}'" true
for action in leak-check retention resident; do
	refused 125 "--when: '$action' cannot be combined with --sample: it needs all blocks" --when "failed: $action" -s 64k true
	refused 125 "--when: '$action' cannot be combined with --leak-check=no: nothing is scanned" --when "failed: $action" --leak-check=no true
	refused 125 "--when: '$action' cannot be combined with --leak-check=yes: that runs the command under ptrace" --when "failed: $action" --leak-check=yes true
done
refused 125 "--when: 'retention' cannot be combined with --retention=no" --when 'failed: leak-check' --when 'failed: retention' --retention=no true
refused 125 "--when: 'start' cannot be combined with --start-after" --when 'rss > 1M: start' --start-after 1s true
refused 125 "--when: 'start' cannot depend on 'live' or 'failed', which are not known before recording begins" --when 'failed: start' true
refused 125 '--when: {trace} has no value with -o fd:3, which names no file' --when 'failed: exec:cat {trace}' -o fd:3 true
refused 125 '--when cannot be combined with --poll, which records no allocations' --poll --when 'rss > 1M: stop' true
refused 125 "--standby: --when is for the ms-record -p that records the command later" --standby --when 'rss > 1M: stop' true
refused 125 'level' -z 20 true
refused 125 "bad --follow 'some'" --follow=some true
refused 125 "option '--buffer': bad size 'never'" --overflow=never true
refused 125 "bad --env 'X'" --env X true
refused 125 "standard output is the command's" -o - true
refused 125 'must be followed by' -o 'x%q.trace' true
refused 125 'it is not an open descriptor' -o fd:77 true
refused 125 'a folder' -o . true
refused 125 'No such file' -o nowhere/x.trace true
"$BIN/ms-record" -h | grep -q '^usage: ms-record' || fail 'no help'
"$BIN/ms-record" -V | grep -qx 'ms-record [0-9.]*' || fail 'no version'

# ---- what cannot run, what cannot be recorded ----
refused 127 'not found' no-such-command-here
refused 127 'No such file' ./no-such-file
refused 126 'a folder' ./
: >plain && chmod 644 plain
refused 126 'ermission denied' ./plain
echo 'just text' >text && chmod 755 text
refused 126 'not a program' ./text
echo 'int main(void) { return 0; }' >s.c
gcc -static -s -o static s.c
refused 125 'statically linked' ./static
printf '#!%s/static\n' "$PWD" >script && chmod 755 script
refused 125 'statically linked' ./script
printf '#!/no/interpreter\n' >script
refused 127 "cannot run '/no/interpreter': No such file" ./script
if [ "$(id -u)" = 0 ]; then
	cp "$(type -P true)" setuid && chown nobody setuid && chmod u+s setuid
	refused 125 'setuid' ./setuid
fi
head -c 4 /bin/ls >other && printf '\001' >>other && tail -c +6 /bin/ls >>other && chmod 755 other
refused 125 'not an x86-64' ./other

# ---- the command's own status ----
for n in 0 1 7 125 127 255; do
	"$BIN/ms-record" -q -o s.trace sh -c "exit $n"
	rc=$?
	[ $rc = $n ] || fail "exit $n became $rc"
	[ "$(field 2 s.trace)" = $n ] || fail "exit $n stands in the trace as $(field 2 s.trace)"
done
for sig in 6 9 11 15; do
	bash -c '"$0" -q -o s.trace bash -c "kill -$1 \$\$"; exit $?' "$BIN/ms-record" $sig 2>/dev/null
	rc=$?
	[ $rc = $((128 + sig)) ] || fail "signal $sig became $rc"
	[ "$(field 3 s.trace)" = $sig ] || fail "signal $sig stands in the trace as $(field 3 s.trace)"
done

# ---- files ----
rm -rf ./*.trace*
"$BIN/ms-record" -q -o 'x.%e.%%.trace' ls / >/dev/null
[ -f 'x.ls.%.trace' ] || fail 'name pattern'
[ "$(stat -c %a 'x.ls.%.trace')" = 600 ] || fail 'mode is not 600'
"$BIN/ms-record" -q -o f.trace true
old=$(cksum <f.trace)
"$BIN/ms-record" -q -o f.trace ls >/dev/null
[ "$(cksum <f.trace~)" = "$old" ] || fail 'the old file was not kept as f.trace~'
old=$(cksum f.trace*) # one that cannot start, for want of a library, leaves nothing to write
echo 'int f(void) { return 0; }' >gone.c && echo 'int f(void); int main(void) { return f(); }' >needs.c
gcc -shared -fPIC -o gone.so gone.c && gcc -o needs needs.c ./gone.so && rm gone.so
"$BIN/ms-record" -q -o f.trace ./needs 2>/dev/null && fail 'it started without its library'
[ "$(cksum f.trace*)" = "$old" ] || fail "files of before are not as they were: $(ls f.trace*)"
[ ! -e f.trace.d ] || fail 'an empty folder was left'
"$BIN/ms-record" -q -o fd:3 ls 3>d.trace >/dev/null
"$TB/trace-dump" d.trace | grep -qx ended || fail 'fd:3 gives no whole trace'
"$BIN/ms-record" -v -o fd:3 sh -c 'true; /bin/true; :' 3>d.trace 2>err
grep -q "^  image  *1 true (pid [0-9]*), not recorded: traces of further programs go into the folder FILE.d: use -o FILE, not 'fd:3'$" err || fail "a further program with fd:3: $(cat err)"
mkfifo pipe
cat pipe >p.trace &
"$BIN/ms-record" -q -o pipe ls >/dev/null
wait
"$TB/trace-dump" p.trace | grep -qx ended || fail 'a pipe gives no whole trace'
SUDO_UID=1234 SUDO_GID=2345 "$BIN/ms-record" -q -o sudo.trace true
[ "$(id -u)" != 0 ] || [ "$(stat -c %u:%g sudo.trace)" = 1234:2345 ] || fail "owner behind sudo"

"$BIN/ms-record" -q -o busy.trace sh -c 'ls >/dev/null; until [ -e over ]; do sleep 0.1; done; ls >/dev/null' &
for _ in $(seq 6000); do
	[ -s busy.trace ] && break
	sleep 0.05
done
"$BIN/ms-record" -o busy.trace true 2>err
[ "$? $(cat err)" = "125 ms-record: cannot write 'busy.trace': another ms-record is writing it" ] || fail "a trace in use is taken: $(cat err)"
: >over
wait $!
[ "$(find busy.trace* -name '*.trace*' | wc -l)" = 4 ] || fail "a trace in use lost its own: $(find busy.trace*)"

# ---- further programs ----
"$BIN/ms-record" -q --follow=all -o t.trace sh -c 'ls >/dev/null; exec env ls' >/dev/null
[ "$(find t.trace.d -name '*.trace' | wc -l)" = 3 ] || fail "t.trace.d has $(ls t.trace.d)"
index() { # COLUMNS: of t.trace.d/index, sorted
	grep -v '^#' t.trace.d/index | sort -n | cut -f "$1"
}
[ "$(index 1,2 | tr '\t\n' '< ')" = '0<- 1<0 2<0 3<2 ' ] || fail "images and parents are $(index 1,2)"
[ "$(index 10 | grep -c '^[.]*/*[a-z]*.*[.]trace$')" = 4 ] || fail "the index names $(index 10)"
[ "$(index 10 | sed -n 1p)" = ../t.trace ] || fail 'the index does not know the first trace'
[ "$(index 11,12 | sed 's,.*/,,' | tr '\t\n' '= ')" = 'dash=- ls=- env=- ls=- ' ] || fail "executables are $(index 11,12)"
next=$(field 17 t.trace | tr -d '"')
case $next in t.trace.d/env.*.trace) ;; *) fail "successor is $next" ;; esac
[ -f "$next" ] || fail "successor $next is missing"
[ "$(field 16 t.trace)" = 2 ] || fail 'the end does not say exec'
"$BIN/ms-record" -q --follow=none -o t.trace sh -c 'ls >/dev/null; env true; exit' >/dev/null
[ ! -e t.trace.d ] || fail '--follow=none left the folder of the run before'
"$BIN/ms-record" -o t.trace sh -c 'true; ls >/dev/null; env true' 2>err >/dev/null
grep -q ' 1 more program, .* largest ls[.][0-9]*; 2 trivial ones not kept$' err || fail "trivial programs are not counted: $(cat err)"
# RSS beside the peak is of then, or it is said when it was sampled
"$BIN/ms-record" -o burst.trace python3 -c 'x = [b"x" * (1 << 20) for _ in range(25)]' 2>burst.err || fail "burst: $(cat burst.err)"
grep -qE '^  peak +2[5-9]\.[0-9] MiB at [0-9.]+ m?s \(RSS (then [2-9][0-9]\.[0-9] MiB|[0-9.]+ [KM]iB at [0-9.]+ m?s)\) ' burst.err || fail "burst: $(cat burst.err)"
grep -q '^  worst     ls (pid [0-9]*) has the highest peak of 2 programs: ' err || fail "the worst is not named: $(cat err)"
[ "$(tail -n 1 err)" = '      ms-report --by process t.trace t.trace.d' ] || fail "what to type for a tree is $(tail -n 1 err)"
[ "$(index 2,10,12 | sed 's/[.][0-9.]*trace/.trace/' | tr '\t\n' '= ')" = '-=../t.trace=- 0=ls.trace=- 0=-=trivial 2=-=trivial ' ] ||
	fail "the index is $(cat t.trace.d/index)"
[ "$(cd t.trace.d && ls -- *.trace)" = "$(index 10 | grep ^ls)" ] || fail "trivial programs left $(ls t.trace.d)"
gcc -static -s -x c -o 'still
here' - <<'END' || exit 1
#include <unistd.h>
int main(void) { while (access("over", F_OK)) usleep(10000); return 0; }
END
rm -f over t.trace
"$BIN/ms-record" -v -o t.trace sh -c 'exec "./still
here"' 2>err &
for _ in $(seq 6000); do
	"$TB/trace-dump" t.trace 2>/dev/null | grep -qx ended && break
	sleep 0.05
done
: >over
wait $!
[ "$(sed -n 's/.*not recorded: //p' t.trace.d/index)" = 'it is statically linked and stripped, so its allocator cannot be found; keep its symbols, link it dynamically, or use --poll' ] ||
	fail "a static program is in the index as $(cat t.trace.d/index)"
grep -q '^  image     1 still_here (pid [0-9]*), not recorded: it is statically' err || fail "not said with -v: $(cat err)"
grep -q '; 1 could not be recorded$' err || fail "not said: $(cat err)"
grep -q '^  heap      still_here: not recorded: it is statically linked' err || fail "not said why: $(cat err)"
if [ "$(id -u)" = 0 ]; then # another user's program hides what it is
	nobody=$(mktemp -d /tmp/memscope-setuid.XXXXXX)
	cp "$BIN/ms-record" "$BIN/libmemscope-preload.so" "$nobody" && cp "$(command -v sleep)" "$nobody/hidden"
	chown nobody "$nobody" && chmod 4755 "$nobody/hidden"
	(cd "$nobody" && setpriv --reuid=nobody --regid=nogroup --clear-groups ./ms-record --no-symbols -o t.trace sh -c 'exec ./hidden 1.5') 2>err
	[ "$(grep -v '^#' "$nobody/t.trace.d/index" 2>/dev/null | sort -n | cut -f 6,11,12 | tr '\t\n' '= ')" = \
		'exec=/usr/bin/dash=- -=hidden=not recorded: it is setuid, setgid or has capabilities ' ] || findmnt -n -o OPTIONS -T "$nobody" | grep -q nosuid ||
		fail "a setuid program is in the index as $(cat "$nobody/t.trace.d/index")"
	rm -rf "$nobody"
fi

# ---- children that fork without exec are not recorded when that is not wanted, and that is said ----
fork='import os
for i in range(3):
    if os.fork() == 0: os._exit(0)
    os.wait()'
PYTHONMALLOC=malloc "$BIN/ms-record" --follow=exec -o f.trace /usr/bin/python3 -c "$fork" 2>err
grep -q 'forks .*3 forked children' err || fail "forked children are not counted: $(cat err)"
"$BIN/ms-report" f.trace | grep -q '^Quality .*3 forked children not recorded' || fail 'the report does not speak of forked children'

# ---- what is left out ----
"$BIN/ms-record" -q --no-args -o a.trace ls /nonexistent-name 2>/dev/null
grep -q nonexistent-name <("$TB/trace-dump" a.trace) && fail '--no-args keeps an argument'
# shellcheck disable=SC2016
"$BIN/ms-record" -q --no-symbols --env MEMSCOPE_X=seven -o a.trace sh -c 'echo $MEMSCOPE_X' >stdout
[ "$(cat stdout)" = seven ] || fail '--env'
"$TB/trace-dump" a.trace | grep -q ' symbols (10)' && fail '--no-symbols has symbols'
"$TB/trace-dump" a.trace | head -n 1 | grep -q 'hint 0x0' || fail 'addresses that nobody asked for'

# ---- --report: the trace is shown as ms-report shows it, apart from what the command says ----
"$BIN/ms-record" --report -q -o r.trace sh -c 'echo said; exit 7' >stdout 2>err
rc=$?
[ "$rc $(cat stdout)" = '7 said' ] || fail "--report: status $rc, standard output $(cat stdout)"
"$BIN/ms-report" r.trace | cmp - err || fail '--report shows something else than ms-report'
"$BIN/ms-record" --report -q -o /dev/null true 2>err
grep -q "^ms-record: --report: a trace in '/dev/null' cannot be read back: use -o FILE" err || fail "--report without a trace: $(cat err)"

# ---- trouble with the output is the trace's alone ----
"$BIN/ms-record" -o /dev/full sh -c 'echo went on' >stdout 2>err
rc=$?
[ "$rc $(cat stdout)" = '0 went on' ] || fail "/dev/full: status $rc"
grep -q 'No space left' err || fail "/dev/full is not said: $(cat err)"
"$BIN/ms-record" -o /dev/full /usr/bin/python3 -c 'x = [b"x" * 1000 + b"%d" % i for i in range(100000)]' 2>err || fail "/dev/full, Python: status $?"
grep -q '^  at end .* blocks$' err || fail "/dev/full: a reason for no scan that is none: $(cat err)"
"$BIN/ms-record" -q -o /dev/full true 2>err || fail "/dev/full with -q: status $?"
[ "$(cat err)" = "ms-record: '/dev/full': cannot write the trace: No space left on device: recording stopped, the program continued" ] ||
	fail "/dev/full with -q: $(cat err)"

# ---- no descriptor left to watch the program with: its end is seen all the same ----
(ulimit -n 12 && timeout -s KILL 600 "$BIN/ms-record" -q -o few.trace true) || fail "with 12 descriptors: status $?"

# ---- with hardly any descriptors: it may record nothing, but it ends when the command does ----
for n in 12 14 16 20; do
	(ulimit -n $n && timeout -k 1 600 "$BIN/ms-record" -q -o n.trace sh -c 'exit 3') 2>err
	rc=$?
	[ $rc = 3 ] || fail "$n descriptors: status $rc: $(cat err)"
done

# ---- a kernel without pidfds (before 5.3), or a filter that knows none ----
cat >nopidfd.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>
long syscall(long n, ...)
{
	long a[6], (*real)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	va_list ap;
	va_start(ap, n);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	errno = ENOSYS;
	return n == SYS_pidfd_open ? -1 : real(n, a[0], a[1], a[2], a[3], a[4], a[5]);
}
END
gcc -shared -fPIC -o nopidfd.so nopidfd.c
if [ "$MODE" = release ]; then # sanitizers must be loaded before anything that is preloaded
	LD_PRELOAD=./nopidfd.so timeout -k 1 200 "$BIN/ms-record" -q -o nopidfd.trace sh -c 'exit 3' 2>err
	rc=$?
	[ $rc = 3 ] || fail "without pidfds: status $rc: $(cat err)"
	"$TB/trace-dump" nopidfd.trace | grep -q ' symbols (' || fail 'without pidfds there are no symbols'
	LD_PRELOAD=./nopidfd.so "$BIN/ms-record" -q --no-symbols -o nopidfd.trace sh -c '/bin/true; sleep 2; :'
	end=$(awk -F'\t' '$11 ~ /true$/ { print $6 }' nopidfd.trace.d/index)
	[[ $end =~ ^(ended|exit:0)$ ]] || fail "without pidfds a further program has the end '$end'"
fi

finish
