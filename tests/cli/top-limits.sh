#!/bin/bash
# SPDX-License-Identifier: MIT
# ms-top: when growth meets a limit, and that nothing is foretold without growth; which processes are being recorded.
set -u
# shellcheck source-path=SCRIPTDIR source=top/lib.sh
. "$SRC/tests/cli/top/lib.sh"
made_system
process 1 init 4096 0 1
process 200 redis 524288 1 60
process 100 orderd 1048576 1 50
# control groups, where a copy of /proc has them: beside it
group() { # PATH MAX NOW
	mkdir -p "sys/fs/cgroup$1"
	echo "$2" >"sys/fs/cgroup$1/memory.max"
	echo "$3" >"sys/fs/cgroup$1/memory.current"
}
group /system.slice max 6000000000
group /system.slice/orderd.service $((4 << 30)) $((1 << 30))
group /system.slice/redis.service $((4 << 30)) $((1 << 30))
limits() { # PID SOFT
	printf '%-26s%-21s%-21s%-10s\n' Limit 'Soft Limit' 'Hard Limit' Units 'Max cpu time' unlimited unlimited seconds \
		'Max address space' "$2" unlimited bytes >"proc/$1/limits"
}
limits 100 unlimited

# grows all the time
smaps() {
	printf '5500-5600 rw-p 00000000 00:00 0 [heap]\nRss: %s kB\nPss: %s kB\nPrivate_Dirty: %s kB\nAnonymous: %s kB\n' "$2" "$2" "$2" "$2" >"proc/$1/smaps.new"
	mv "proc/$1/smaps.new" "proc/$1/smaps"
	echo "24414 $(($2 / 4)) 7 1 0 1 0" >"proc/$1/statm"
}
smaps 100 1048576
smaps 200 524288
(
	kib=1048576
	while sleep 0.2; do
		kib=$((kib + 2048))
		stat_of 100 orderd $kib 1 50
		smaps 100 $kib
	done
) &
changer=$!
trap '$S kill-server 2>/dev/null; kill $changer $target $followers 2>/dev/null' EXIT
follow() { timeout -s KILL 250 "$T" --json -d 500ms --proc-root proc -p "$1" >"$2"; }
follow 100 grows &
followers=$!
follow 200 flat &
followers="$followers $!"
start 160 30 --proc-root proc -d 200ms
sees '^> +100 root '
sees '^── 100 orderd --port 100  root  cgroup orderd\.service 1\.00 G of 4\.00 G  3 threads ─'
sees "^ reaches its cgroup's 4\\.00 G in [0-9]+ (s|m [0-9]+ s|h [0-9]+ m)"
sees '^> +100 root .* growing '
until_true eval 'tail -n 2 grows | head -n 1 | jq -e ".forecast.limit != null" >/dev/null'
until_true eval 'tail -n 2 flat | head -n 1 | jq -e ".trend.verdict == \"steady\"" >/dev/null'
# shellcheck disable=SC2086
kill -STOP $followers # so that no line is half written
head -n -1 grows >grown
head -n -1 flat >flat.whole
# On a busy machine what grows is seen in jumps now and then, and doubted for a few lines.
jq -c 'select(.forecast.limit != null)' grown | tail -n 1 >last
jq -e '.trend.verdict == "growing" and .trend.confidence >= 0.8 and .forecast.limit == "cgroup" and .forecast.limit_bytes == 4294967296' last >/dev/null ||
	fail "growing: $(cat last)"
# 3 GiB are left at the slope that is said, and at both ends of its interval
jq -e 'def near($a; $b): ($a - $b) | fabs < 2 + $b / 1000;
	(.trend | (3221225472 * 60) as $left | [$left / .bytes_per_minute, $left / .high_bytes_per_minute, $left / .low_bytes_per_minute]) as $want |
	.forecast | near(.reached_in_s; $want[0]) and near(.soonest_s; $want[1]) and near(.latest_s; $want[2])' last >/dev/null || fail "rates: $(cat last)"
# nothing before there is a trend, nothing where there is none
jq -es 'all(.[]; .forecast.limit == null or (.trend.verdict == "growing" and .trend.confidence >= 0.8))' grown >/dev/null || fail "too early: $(cat grows)"
jq -es 'all(.[]; .forecast | .limit == null and .limit_bytes == null and .reached_in_s == null)' flat.whole >/dev/null || fail "steady: $(cat flat)"
tail -n 1 flat.whole | jq -e '.trend.verdict == "steady"' >/dev/null || fail "steady: $(tail -n 1 flat)"

# ---- on the screen; other limits ----
keys / redis Enter
sees '^── 200 redis'
sees '^ RSS .* steady$'
screen
grep -qE 'reaches|uses up' screen && fail "a forecast without growth: $(cat screen)"
keys k Enter
sees '^100 /usr/bin/orderd --port 100'
sees "^at this rate it reaches its cgroup's 4\\.00 G in "
limits 100 110000000
sees '^at this rate it reaches its RLIMIT_AS of 105 M in '
rm proc/100/limits
rm -r sys/fs/cgroup/system.slice
sees '^at this rate it uses up the available 4\.00 G in '
rm proc/meminfo
sees '^heap: growing'
until_true eval 'screen; ! grep -qE "^at this rate" screen'
keys r
sees 'with --proc-root nothing can be recorded'
keys q q
ends 0
# shellcheck disable=SC2086
kill -KILL $changer $followers
wait $changer 2>/dev/null

# ---- recorded ----
me=tr$$ # a name that no other process has
cp "$TB/cli/top/traced" $me || fail cp
mkfifo told told2
"$BIN/ms-record" -q -o run.trace ./$me <told >said &
recorder=$!
exec 9>told
until_true test -s run.trace
./$me <told2 >said2 &
target=$!
exec 7>told2
start 120 24 --filter "'^$me\$'" -d 200ms
sees "^.? +[0-9]+ .* ●rec $me\$"
screen
grep -qE "^.? +$target .* $me\$" screen || fail "the other one: $(cat screen)"
grep -qE "^.? +$target .*rec" screen && fail "it is not recorded: $(cat screen)"
keys q
ends 0
LC_OF=C start 120 24 --filter "'^$me\$'" -d 200ms
sees "^.? +[0-9]+ .* \\*rec $me\$"
timeout 60 "$T" --json -n 1 --filter "^$me\$" | jq -e '[.rows[].recorded] | sort == [false, true]' >/dev/null || fail '--json: recorded'
# the recorder goes, the process stays
"$BIN/ms-record" --tell run.trace stop >/dev/null || fail "--tell: status $?"
until_true eval 'screen; ! grep -q "\*rec" screen'
keys q
ends 0
echo quit >&9 # others may have inherited that end
echo quit >&7
wait $recorder || fail "recorder: status $?"
wait $target
target=
[ $failures = 0 ] && echo ok
exit $((failures != 0))
