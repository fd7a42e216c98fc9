#!/bin/bash
# SPDX-License-Identifier: MIT
# Full buffers: what --overflow and --buffer promise while the recorder is stopped, to the event.
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
between() { # WHAT GOT LEAST MOST
	[[ $2 -ge $3 && $2 -le $4 ]] || fail "$1 is $2, not $3 to $4"
}
mkfifo in out
before=() # what runs the program
images=1  # recorded at a time
begin() { # LONGRUN'S ARGS -- ms-record's
	local program=("$1" "$2")
	shift 3
	trace=${!#}
	rm -f "$trace"
	"$BIN/ms-record" --follow=none --no-symbols "$@" "${before[@]}" "$TB/host/longrun" "${program[@]}" <in >out 2>said &
	recorder=$!
	exec 7>in 8<out
}
waits() { # the program, neither for a line (read) nor for a processor
	local call
	read -r call _ <"/proc/$(pgrep -P $recorder)/syscall"
	[[ $call = [1-9]* ]]
}
# Lets the program go while the recorder is stopped, until it has waited for $1 seconds or is done ("all"); sets $took, in ms
stopped() {
	local start answer
	for _ in {1..6000}; do # until it has begun
		[ "$("$BIN/ms-record" --tell "$trace" status 2>/dev/null | sed -n 's/^images //p')" = $images ] && break
		sleep 0.05
	done
	sleep 0.2
	kill -STOP $recorder
	start=$(date +%s%N)
	echo go >&7
	[ "$1" = all ] || {
		for _ in {1..3000}; do
			waits && break
			sleep 0.01
		done
		sleep "$1"
		kill -CONT $recorder
	}
	read -r -t 60 answer <&8
	is 'the answer' "$answer" ok
	took=$((($(date +%s%N) - start) / 1000000))
	kill -CONT $recorder
	exec 7>&-
	wait $recorder
	is 'the status' $? 0
	exec 8<&-
}

begin burst 100000 -- --overflow=drop -o d.trace
stopped all
lost=$(field 6 d.trace)
grep -q '; [0-9,]* events lost$' said || fail "losses are not in the first line: $(cat said)"
share() { # WORDS: how many were lost of 200,000 events is said, with these words
	grep -qx "  lost      $(sed -E 's/([0-9])([0-9]{3})$/\1,\2/' <<<"$lost") of 200,000 events$1" said || fail "how much was lost is not said: $(cat said)"
}
share '; without --buffer=drop, threads wait instead; for a larger buffer: --buffer=256M'
is 'events and losses of drop' $(($(field 4 d.trace) + lost)) 200000
between 'losses of drop' "$lost" 100000 199999
is 'waiting of drop' "$(field 14 d.trace)" 0
[ "$took" -lt 60000 ] || fail "drop took $took ms"
is 'losses in the report' "$("$BIN/ms-report" --allow-partial --json d.trace | jq .quality.events_lost)" "$lost"

# Those of a program that the command started: the first line, which is about the command, does not say that all was recorded.
# shellcheck disable=SC2016 # the inner shell expands them
before=(sh -c '"$@"; exit $?' sh) images=2
begin burst 100000 -- --overflow=drop --follow=exec -o c.trace
stopped all
before=() images=1
grep -q '; every event of this program recorded$' said || fail "all is said to be recorded: $(cat said)"
grep -q '^  trouble   1 further program was recorded in part, [0-9,]* events lost there; for a larger buffer: --buffer=256M$' said || fail "losses of another program are not said: $(cat said)"

begin burst 100000 -- --overflow=wait:0.2s -o w.trace
stopped all
lost=$(field 6 w.trace)
is 'events and losses of wait:0.2s' $(($(field 4 w.trace) + lost)) 200000
between 'losses of wait:0.2s' "$lost" 100000 199999
share '; for a larger buffer: --buffer=256M'
between 'the longest wait of wait:0.2s, ms' $(($(field 15 w.trace) / 1000000)) 190 15000
between 'the time of wait:0.2s, ms' "$took" 190 60000

begin burst 100000 -- --overflow=wait:60s -o k.trace
stopped 0.6
is 'losses of wait' "$(field 6 k.trace)" 0
is 'events of wait' "$(field 4 k.trace)" 200000
between 'the longest wait of wait, ms' $(($(field 15 k.trace) / 1000000)) 300 59000

# The last one given counts.
begin burst 100000 -- --overflow=drop --overflow=wait -o l.trace
stopped 0.6
is 'losses of drop and wait' "$(field 6 l.trace)" 0

# Attached to, which is never held up.
"$TB/host/longrun" burst 100000 <in >out &
target=$!
exec 7>in 8<out
trace=a.trace
"$BIN/ms-record" --no-symbols -p $target -o a.trace 2>said &
recorder=$!
stopped all
wait $target
lost=$(field 6 a.trace)
between 'losses of an attached program' "$lost" 1 199999
share '; threads of an attached process never wait for the recorder; to record less: -s 512k; for a larger buffer: --buffer=256M'

# ---- --buffer: what rings take in all, but for the first few ----
rings() { # SIZE: bytes of shared memory while 100 threads have allocated
	local fd answer n=0
	begin threads 100 -- --buffer "$1" -o b.trace
	read -r -t 60 answer <&8
	is 'the answer' "$answer" ok
	for fd in /proc/"$recorder"/fd/*; do
		[[ $(readlink "$fd") = *memfd:memscope* ]] && n=$(stat -L -c '%b' "$fd")
	done
	echo go >&7
	exec 7>&-
	wait $recorder
	exec 8<&-
	bytes=$((n * 512))
	is "losses and events with --buffer $1" $((($(field 6 b.trace) + $(field 4 b.trace)) / 1000)) 1000
}
rings 1M
small=$bytes
rings 64M
is 'events lost with --buffer 64M' "$(field 6 b.trace)" 0
[ "$small" -lt "$bytes" ] || fail "--buffer 1M takes $small bytes, --buffer 64M $bytes"
between 'shared memory of --buffer 1M' "$small" 500000 4000000

finish
