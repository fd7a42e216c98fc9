#!/bin/bash
# SPDX-License-Identifier: MIT
# ms-report of a FILE that has a FILE.d: the processes of the run by their peaks, and the report of the one with the highest; how another one is chosen;
# that nobody else's folder is believed; what budgets judge.
# shellcheck disable=SC2015 # what fails is said
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# N blocks of SIZE bytes are live at once, half of them are freed, the others are lost; then what follows is run or, after "exec", becomes it
cat >use.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void use(int n, size_t size)
{
	char **all = calloc((size_t)n, sizeof *all);
	for (int i = 0; i < n; i++)
		all[i] = memset(malloc(size), 1, size);
	for (int i = 0; i < n; i += 2)
		free(all[i]);
	memset(all, 0, (size_t)n * sizeof *all);
	free(all);
}
int main(int argc, char **argv)
{
	use(atoi(argv[1]), (size_t)atol(argv[2]));
	if (argc > 4 && !strcmp(argv[3], "exec"))
		return execv(argv[4], argv + 4);
	for (int i = 3; i + 2 < argc; i += 3)
		if (fork() == 0)
			return execl(argv[i], argv[i], argv[i + 1], argv[i + 2], (char *)0);
	while (wait(NULL) > 0)
		;
	return 0;
}
END
gcc -g -O0 -fno-builtin -o use use.c
for name in big small p1 p2 p3 p4 p5 p6 p7; do cp use $name; done
plain() { sed -E 's,pid [0-9]+,pid N,g'; }
field() { # FILE FIELD of the process that the report is of
	ms-report --json "${@:2}" | jq -r "$1"
}

# ---- a wrapper ----
ms-record -q -o run.trace timeout 60 ./big 5000 20000
screen=$(ms-report run.trace)
[[ $screen == *"peak 95.4 MiB in 5,001 blocks"* ]] || fail "no peak of big: $screen"
[[ $screen == *"ms-report --tree run.trace.d/big."*".trace"* ]] || fail "commands are not of big's trace: $screen"
is 'rows' "$(sed -n '3,/^$/p' <<<"$screen" | awk 'NF{print $1}' | sed 's,.*/,,' | tr '\n' ' ')" 'big timeout '
is "big's figures" "$(sed -n 3p <<<"$screen" | awk '{print $3, $4, $5, $6, $7, $8, $9}')" '95.4 MiB 47.7 MiB 47.7 MiB 0'
is 'JSON: what it is of' "$(field '.process.command[0], .totals.peak_bytes, .totals.unreachable_bytes' run.trace | tr '\n' ' ')" './big 100040000 50000000 '
is 'JSON: all' "$(ms-report --json run.trace | jq -r '.processes[] | "\(.id) \(.exe | sub(".*/"; "")) \(.trace | sub("[0-9]+[.]1[.]"; "")) \(.totals.peak_bytes > 1000000) \(.totals.frees) \(.events_lost)"')" \
	'1 big big.trace true 2501 null
2 timeout run.trace false null 0'
is 'JSON: --only-first' "$(field '.processes | length' --only-first run.trace)" 1
[[ $(ms-report --only-first run.trace | head -n 1) == "timeout 60 ./big"* ]] || fail '--only-first'
pid=$(awk '/big/{print $3}' run.trace.d/index)
trace=$(basename run.trace.d/big.*.trace)
first=$(awk '/timeout/{print $3}' run.trace.d/index)
for which in "$pid" big "$trace"; do
	is "--process $which" "$(field .process.pid --process "$which" run.trace)" "$pid"
done
for which in "$first" timeout run.trace; do
	is "--process $which" "$(field .process.pid --process "$which" run.trace)" "$first"
done
is '--process timeout: the others' "$(ms-report --json --process timeout run.trace | jq -r '.processes[] | "\(.id) \(.exe | sub(".*/"; ""))"' | tr '\n' ' ')" '1 timeout 2 big '
[[ $(ms-report --process timeout run.trace | head -n 1) == "PROCESSES of the run by peak; below: timeout, pid $first (--process)" ]] || fail '--process timeout: a screen'
is 'a trace of FILE.d' "$(ms-report "run.trace.d/$trace" | grep -c PROCESSES)" 0
is 'a moment' "$(field '.at, .process.pid' run.trace@peak | tr '\n' ' ')" "peak $pid "
refused() { # PATTERN OPTIONS...
	ms-report "${@:2}" >out 2>err
	[ $? = 2 ] && [[ $(wc -l <err) = 1 && $(<err) =~ $1 ]] || fail "ms-report ${*:2}: $(<err)"
}
refused "no process 'nothing' in the run of 'run.trace': it has big \($pid\), timeout \($first\)" --process nothing run.trace
refused 'not both' --process big --only-first run.trace
refused "'run.trace.d/$trace' has no folder" --process big "run.trace.d/$trace"
refused "needs exactly one trace" --process big run.trace run.trace.d
refused "needs exactly one trace" --process big - <run.trace

# what other views and formats say
is '--leaks' "$(ms-report --leaks run.trace | head -n 1 | plain)" 'showing big, pid N, which has the highest peak of 2 processes; --process chooses another'
[[ $(ms-report --md run.trace) == "#### PROCESSES of the run by peak"*"| big |"* || $(ms-report --md run.trace) == "#### PROCESSES of the run by peak"*"/big | $pid | 95.4 MiB | 47.7 MiB | 47.7 MiB | 0 |"* ]] || fail '--md'
[[ $(ms-report --md --leaks run.trace | head -n 1) == "showing big, pid $pid"* ]] || fail '--md --leaks'
ms-report --html=page.html run.trace && grep -q 'PROCESSES of the run by peak' page.html || fail 'the page'
ms-report --csv run.trace >csv 2>err
is '--csv' "$(sed -n 2p csv | cut -d, -f 2,3)" 50000000,2500
is '--csv: what it says' "$(plain <err)" 'ms-report: showing big, pid N, which has the highest peak of 2 processes; --process chooses another'
ms-report -q --csv run.trace >csv 2>err && [ ! -s err ] || fail "-q: $(<err)"
ms-report --anonymize run.trace | grep -q 'big\|PROCESSES' && fail '--anonymize'
is 'several traces' "$(ms-report --json run.trace run.trace.d | jq -r '[.processes[].events_lost] | unique | @json')" '[null]'
is 'one run, given whole' "$(ms-report run.trace run.trace.d | grep -c 'runs together')" 0
is 'one run, given whole, anonymous' "$(ms-report --anonymize run.trace run.trace.d | grep -c 'runs together')" 0
cp run.trace again.trace
is 'two runs' "$(ms-report run.trace again.trace | head -n 1 | grep -c '2 runs together: pid')" 1
is 'two runs: Markdown' "$(ms-report --md run.trace again.trace | head -n 2 | grep -c '2 runs together: pid')" 1

# budgets judge FILE
ms-report --fail-on 'peak_bytes > 1M' run.trace >out 2>err
is 'budgets: status' $? 0
is 'budgets: what they are of' "$(<err)" "ms-report: budgets apply only to the process of 'run.trace', one of 2: --process chooses another"
[[ $(head -n 1 out) == "timeout 60 ./big"* ]] || fail 'budgets: another screen'
ms-report --fail-on 'peak_bytes > 1M' --process big run.trace >out 2>err
is 'budgets of a process: status' $? 1
ms-report --events --limit 1 run.trace >first.txt && ms-report --events --limit 1 --only-first run.trace | cmp - first.txt || fail '--events'
ms-report --events --process big run.trace | grep -c 20000 >out
[ "$(<out)" -ge 5000 ] || fail "--events --process: $(<out)"

# ---- many: six rows, and how many more ----
ms-record -q -o many.trace ./small 10 10 ./p1 200 1000 ./p2 200 2000 ./p3 200 3000 ./p4 200 4000 ./p5 200 5000 ./p6 200 6000 ./p7 200 7000
is 'many' "$(ms-report many.trace | sed -n '3,/^$/p' | sed "s,$PWD/,," | awk 'NF{print $1, $2 == "more" ? $2 " " $3 : $3 " " $4 " " $5 " " $6}')" \
	'p7 1.3 MiB 683.6 KiB
p6 1.1 MiB 585.9 KiB
p5 978.1 KiB 488.3 KiB
p4 782.8 KiB 390.6 KiB
p3 587.5 KiB 293.0 KiB
p2 392.2 KiB 195.3 KiB
2 more processes'
is 'the eighth' "$(field .totals.unreachable_bytes --process small many.trace)" 50

# ---- the first one has the highest peak; a process of several images is one ----
ms-record -q --no-symbols -o own.trace ./big 500 20000 ./p1 200 1000
is 'of its own' "$(ms-report own.trace | sed -n '1p;3,4p' | sed "s,$PWD/,,; s,pid [0-9]*,pid N," | awk 'NR == 1{print} NR > 1{print $1, $3, $4}')" \
	'PROCESSES of the run by peak; below: big, pid N (--process)
big 9.5 MiB
p1 196.9 KiB'
[[ $(ms-report own.trace) == *"ms-report --tree own.trace "* ]] || fail 'commands are not of FILE'
ms-record -q -o exec.trace ./small 10 10 ./p1 200 1000 exec "$PWD/big" 500 20000 2>/dev/null
ms-record -q -o images.trace timeout 60 ./p1 200 1000 exec ./big 500 20000
is 'images' "$(ms-report images.trace | sed -n '3,/^$/p' | awk 'NF{print $1}' | sed 's,.*/,,' | tr '\n' ' ')" 'big timeout '
is "images: the end's" "$(ms-report images.trace | sed -n 3p | awk '{print $3, $4, $5, $6}')" '9.5 MiB 4.8 MiB'
is 'images: all are there' "$(field '[.processes[] | select(.events_lost == null) | .exe | sub(".*/"; "")] | @json' images.trace)" '["p1","big"]'

# ---- a trace without an end; one of another run; none at all ----
cp -r own.trace.d cut.trace.d && cp own.trace cut.trace
p1=$(ls cut.trace.d/p1.*.trace)
head -c $(($(stat -c %s "$p1") - 200)) "$p1" >short && cp short "$p1"
is 'one without an end' "$(ms-report cut.trace 2>/dev/null | sed -n 4p | awk '{print $3, $4, $5, $6, $7, $8, $9}')" '196.9 KiB 97.7 KiB 97.7 KiB n/a'
cp run.trace.d/big.*.trace own.trace.d/
is 'a trace of another run' "$(ms-report own.trace | sed -n '3,/^$/p' | grep -c .)" 2
rm own.trace.d/p1.*.trace
is 'none but of another run' "$(ms-report own.trace | grep -c PROCESSES)" 0
ln -s run.trace link.trace && is 'no folder beside a link' "$(ms-report link.trace | grep -c PROCESSES)" 0
ln -s run.trace.d link.trace.d && is 'a folder beside a link' "$(ms-report link.trace | grep -c PROCESSES)" 1

# ---- somebody else's folder ----
[ "$(id -u)" = 0 ] || exit $((failures != 0))
chown -R 1234 run.trace && chown -R 2345 run.trace.d
is "another user's folder" "$(ms-report run.trace | grep -c PROCESSES)" 0
chown -R 1234 run.trace.d
is 'a folder of the same user' "$(ms-report run.trace | grep -c PROCESSES)" 1
finish
