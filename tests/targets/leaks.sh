#!/bin/sh
# SPDX-License-Identifier: MIT
# The leak scan tells the truth about every block of some seventy small programs.
set -eu
python3 "$SRC/tests/targets/leaks/leaks.py" "$TB/targets/leaks"
# Killed, aborted or gone by a system call of its own: nothing is said.
for how in abort kill raw; do
	ms-record -q -o run.trace "$TB/targets/leaks/leaks" direct $how 2>/dev/null || true
	ms-snap -o run.db run.trace
	test "$(sqlite3 run.db "SELECT s.state, p.unreachable_bytes IS NULL FROM scan s JOIN process p")" = "killed|1"
	test "$(sqlite3 run.db "SELECT count(*) FROM site WHERE verdict IS NOT NULL")" = 0
	ms-report run.trace | grep -q "^LIVE AT THE END, not checked for leaks: the program was killed, or ended"
done
# Lists of what is live say how much of it is unreachable, too.
ms-record -q --leak-check=auto:50s -o run.trace "$TB/targets/leaks/leaks" direct
for how in --leaks '--leaks --md'; do
	# shellcheck disable=SC2086
	ms-report $how run.trace | grep -q "LIVE AT THE END, [0-9.]* [KM]*i*B of it unreachable: "
done
# Not asked for.
ms-record -q --leak-check=no -o run.trace "$TB/targets/leaks/leaks" direct
ms-snap -o run.db run.trace
test "$(sqlite3 run.db "SELECT count(*) FROM scan")" = 0
# A forked child has its own blocks told; its parent's, which it inherited, are not called its leaks.
ms-record -q --leak-check=auto:50s --follow=all -o run.trace "$TB/targets/leaks/leaks" forked
ms-snap -o run.db run.trace run.trace.d
test "$(sqlite3 run.db "SELECT group_concat(x, ' ') FROM (SELECT c.process || ':' || c.wide || ':' || c.state || ':' || c.unreachable_blocks AS x
	FROM scan c ORDER BY c.process)")" = "1:0:done:1 2:1:done:1"
