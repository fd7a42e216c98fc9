#!/bin/sh
# SPDX-License-Identifier: MIT
# No block is called a leak that only the kernel points to, as far as it tells, or a page without access, or a thread yet to be joined.
set -eu
"${CC:-gcc}" -g -O1 -pthread -o leakkernel "$SRC/tests/host/leakkernel.c"
ms-record -q --leak-check=auto:50s -o run.trace ./leakkernel
ms-snap -o run.db run.trace
said=$(sqlite3 run.db "SELECT group_concat(x, ' ') FROM (SELECT f.function || ':' || v.verdict || ':' || sum(v.blocks) AS x FROM site_verdict v
	JOIN site s ON s.id = v.site JOIN stack k ON k.id = s.stack JOIN frame f ON f.id = k.frame
	WHERE f.function IN ('kept', 'lost') GROUP BY f.function, v.verdict ORDER BY 1)")
echo "$said"
test "$said" = 'kept:reachable:10 lost:unreachable:2'
