#!/bin/bash
# SPDX-License-Identifier: MIT
# Stacks of threads, fibers, signals and generated code: the program lives, nearly all are whole, none is wrong or made up.
set -u
T=$TB/host/stacks
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
number() { grep -o "[0-9,]* $1" err | tr -d ', a-z' | grep . || echo 0; }

# record NAME MOST COMMAND...: output and status as without a recorder, at most MOST of 1000 stacks not whole, and none that differs. OPTIONS: of
# ms-record, besides.
OPTIONS=
record() {
	local name=$1 most=$2
	shift 2
	"$@" >want 2>&1
	local status=$?
	# shellcheck disable=SC2086
	timeout 600 "$BIN/ms-record" --verify --no-symbols $OPTIONS -o "$name.trace" "$@" >got 2>err
	[ $? = $status ] || fail "$name: status $?, not $status: $(cat err)"
	cmp -s want got || fail "$name: output"
	grep -q ' stacks compared, 0 differ' err || fail "$name: $(grep verify err)"
	local compared not
	compared=$(number 'stacks compared')
	not=$(($(number 'truncated') + $(number 'not taken')))
	[ $((not * 1000 <= compared * most)) = 1 ] || fail "$name: $not of $compared stacks are not whole"
	"$BIN/ms-snap" -o "$name.db" "$name.trace" 2>/dev/null || fail "$name: ms-snap"
}

# only NAME PATTERN: the stacks that go through leaf(), from its caller on, are these and no others.
only() {
	python3 "$SRC/tests/host/stacks.py" "$1.db" >stacks || fail "$1: no stacks"
	[ -s stacks ] || fail "$1: no stacks"
	grep -vxE "$2" stacks >others && fail "$1: $(cat others)"
}

# The first of these two ended by SIGSEGV: what lies above a fiber's stack belongs to nobody, or to the thread.
record guard 500 "$T" guard
record smaller 1000 "$T" smaller
record large 0 "$T" large
record coroutines 10 "$T" coroutines
record fibers 10 "$T" fibers
record alternate 10 "$T" alternate
record halved 50 "$T" halved
# What is listed is a few milliseconds old, for a program that is as short: 1 % of its stacks are not whole, on a busy machine 5.
record trampolines 50 "$T" trampolines
record obscure 1000 "$T" obscure
record compiled 80 "$T" compiled
record unknown 1000 "$T" unknown

walk='walk_3 walk_2 walk_1'
main='main __libc_start_call_main __libc_start_main.* _start'
only guard 'below start_thread .*|<code> <cut>|<cut>|walk_3 fiber_entry over'
only smaller '<code> <cut>|<cut>'
only large "$walk walk_0 far_down start_thread .*"
only coroutines "$walk walk_0 coroutine_entry __start_context"
only fibers "$walk walk_0 fiber_entry no_cfi_over"
only halved "(pages )+(walk_pages fiber_entry no_cfi_over|<cut>)|halved $main"
only alternate "$walk handle __restore_rt .* raise alternate $main"
only trampolines "(interpret <code> )*interpret (trampolines $main|<cut>)"
only obscure '<code> <cut>|<cut>'
only compiled "(run_compiled <code> <code> <code> enter )*run_compiled (compiled $main|<cut>)"
only unknown '(<code> ){0,2}<cut>'

# Samples, of which whole stacks are remembered.
OPTIONS='-s 1'
record sampledguard 500 "$T" guard
record sampledsmaller 1000 "$T" smaller
record sampledlarge 0 "$T" large
record sampledcoroutines 10 "$T" coroutines
record sampledfibers 10 "$T" fibers
record sampledalternate 10 "$T" alternate
record sampledhalved 50 "$T" halved
record sampledcompiled 80 "$T" compiled
only sampledlarge "$walk walk_0 far_down start_thread .*"
only sampledcoroutines "$walk walk_0 coroutine_entry __start_context"
only sampledfibers "$walk walk_0 fiber_entry no_cfi_over"
only sampledhalved "(pages )+(walk_pages fiber_entry no_cfi_over|<cut>)|halved $main"
only sampledalternate "$walk handle __restore_rt .* raise alternate $main"
only sampledcompiled "(run_compiled <code> <code> <code> enter )*run_compiled (compiled $main|<cut>)"

# Without --verify stacks that are known are sent by their number: they are the same as where everything is recorded, all of them where blocks are so large
# that none is missed; and where more come again than are remembered at a time.
both() { # COMMAND...: the stacks of all that is allocated, in all and in sampled
	for i in all sampled; do
		"$BIN/ms-record" -q --no-symbols $OPTIONS -o $i.trace "$@" >/dev/null || fail "$*: status"
		"$BIN/ms-report" --allocated --folded $i.trace | sort >$i
		OPTIONS=-s1
	done
	OPTIONS=
}
OPTIONS=
for i in 'tree 200000 20' 'sites 3000'; do
	# shellcheck disable=SC2086
	both "$TB/bench/micro" $i
	# shellcheck disable=SC2086 # of 25,000 blocks of 16 bytes one is missed in 1 run of 400
	cmp -s all sampled || both "$TB/bench/micro" $i
	cmp -s all sampled || fail "$i: sampled stacks are others: $(diff all sampled | head -n 5)"
done
export PERL_HASH_SEED=0
# shellcheck disable=SC2016 # perl expands them
both perl -e 'for my $i (1 .. 20000) {
	my $k = join ",", map { $i * $_ % 97 } 1 .. 5;
	$h{$k} .= sprintf("%s|", substr($k, $i % 7) x 40);
	delete $h{$k} if length $h{$k} > 3000;
	my @a = sort { $a cmp $b } split /,/, $k;
	$k =~ s/(\d+)/<$1>/g;
}'
made_up=$(comm -13 <(sed 's/ [0-9]*$//' all) <(sed 's/ [0-9]*$//' sampled) | wc -l)
stacks=$(wc -l <sampled)
[ "$made_up" = 0 ] || fail "perl: $made_up sampled stacks are others"
[ "$stacks" -ge 200 ] || fail "perl: $stacks sampled stacks only"
finish
