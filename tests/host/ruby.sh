#!/bin/bash
# SPDX-License-Identifier: MIT
# Ruby runs as without the recorder, and its stacks are whole, on fibers, those of enumerators, and threads.
set -eu
if [ -z "${MS_CHECK_ALL-}" ] || ! command -v ruby >/dev/null; then
	echo 'only with make check-all, where there is ruby'
	exit 77
fi
cat >fibers.rb <<'R'
kept = []
def inner(kept) = kept << ("x" * 70001)
def outer(kept) = inner(kept)
fibers = (0...50).map { Fiber.new { 20.times { outer(kept); Fiber.yield } } }
20.times { fibers.each(&:resume) }
e = Enumerator.new { |y| 100.times { |i| outer(kept); y << i } }
100.times { e.next }
Thread.new { 100.times { outer(kept) } }.join
puts kept.size
R
ruby fibers.rb >want
"$BIN/ms-record" --verify -o run.trace ruby fibers.rb >have 2>said
cmp want have
grep -q ' stacks compared, 0 differ' said || { cat said; exit 1; }
"$BIN/ms-report" --json run.trace |
	jq -e '.quality | .stacks_truncated + .stacks_cut + .stacks_not_taken == 0' || { cat said; exit 1; }
[ "$("$BIN/ms-report" --json run.trace | jq '[.sites[] | select(.allocated_bytes == .allocations * 70002) | .allocations] | add')" = 1200 ]
