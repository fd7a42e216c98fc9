#!/bin/sh
# SPDX-License-Identifier: MIT
# What the members of a variable that is a struct keep, to the byte: those with a name that keep blocks by themselves are keepers of their own,
# also where a base has them; the variable has what several of them keep together. Without debug information the variable has all.
set -eu
. "$SRC/tests/lib.sh"
# shellcheck source=tests/targets/kept/common.sh
. "$SRC/tests/targets/kept/common.sh"

one='desk::instance()::one'
for n in 100 3000; do
	record "$n" "$TB/targets/kept/keptmembers" $n
	is "$n: the table" "$(root variable $one.cache_)" "$(part cache)"
	is "$n: the lists by topic" "$(root variable $one.bus_)" "$(part bus)"
	is "$n: the list" "$(root variable $one.items_)" "$(part items)"
	is "$n: of the base" "$(root variable $one.head)" "$(part head)"
	is "$n: by the list and the table" "$(root variable $one)" "$(part both)"
	is "$n: of the standard library" "$(root variable g_plain)" "$(part plain)"
	is "$n: in a part without a name" "$(root variable g_parts.first) $(root variable g_parts.second)" "$(part first) $(part second)"
	is "$n: in a union without a name" "$(root variable g_parts)" "$(part loose)"
done
is 'where the member is' "$(sql "SELECT a.offset - b.offset, a.line = b.line FROM keeper a JOIN keeper b ON b.name = '$one' WHERE a.name = '$one.head'")" '0 1'

# The same with the variable's symbol looked up now, not in the trace; reports, budgets and comparisons name the members.
ms-report --retained run.trace >report
grep -q "^ *[0-9.]* KiB  *[0-9,]*  global $one.bus_ (keptmembers.cc:" report || fail "report: $(cat report)"
bytes=$(sql "SELECT sum(retained_bytes) FROM kept k JOIN keeper r ON r.id = k.keeper WHERE r.name LIKE '$one%' AND k.parent IS NULL")
ms-report --fail-on "kept(\"$one\").bytes >= $bytes" run.db >/dev/null && fail 'a budget of the variable is not that of all of its members'
ms-report --fail-on "kept(\"$one\").bytes > $bytes" run.db >/dev/null || fail "a budget of the variable: status $?"
ms-report --fail-on "kept(\"$one.bus_\").bytes > $(part bus | cut -d ' ' -f 1)" run.db >/dev/null || fail "a budget of a member: status $?"

strip -g -o plain "$TB/targets/kept/keptmembers"
record 'without debug information' ./plain
total=0
for p in cache bus items both head; do total=$((total + $(part $p | cut -d ' ' -f 1))); done
is 'without debug information' "$(root variable $one | cut -d ' ' -f 1)" $total
finish
