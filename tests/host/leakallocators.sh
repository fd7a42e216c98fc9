#!/bin/sh
# SPDX-License-Identifier: MIT
# With other allocators than the C library's as many leaks are found, and nothing else is called one.
set -eu
if [ "${MS_CHECK_ALL:-0}" != 1 ]; then
	echo "only with make check-all"
	exit 77
fi
failed=0
each() { # allocator, blocks dropped, options of jemalloc, arguments
	library=$1 dropped=$2 conf=$3
	shift 3
	ms-record -q --leak-check=yes --env "LD_PRELOAD=$library" --env "MALLOC_CONF=$conf" -o run.trace "$TB/targets/leaks/leaksother" "$@"
	ms-snap -o run.db run.trace
	said=$(sqlite3 run.db "SELECT group_concat(x, ' ') FROM (SELECT f.function || ':' || v.verdict || ':' || sum(v.blocks) AS x FROM site_verdict v
		JOIN site s ON s.id = v.site JOIN stack k ON k.id = s.stack JOIN frame f ON f.id = k.frame
		WHERE f.function LIKE '%\_block' ESCAPE '\' GROUP BY f.function, v.verdict ORDER BY 1)")
	# With many small mappings not all of them are known.
	[ -z "$conf" ] || said=$(echo "$said" | sed -E 's/direct_block:reachable:[1-5] (direct_block:unreachable:)9[5-9]/\1100/')
	if [ "$said" != "direct_block:unreachable:$dropped reachable_block:reachable:121" ]; then
		echo "${library:-glibc} $conf $*: $said"
		failed=1
	fi
}
for library in '' libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2.0; do
	[ -z "$library" ] || [ -n "$(find /usr/lib -name "$library" | head -n 1)" ] || { echo "$library is not installed"; exit 77; }
	for size in 48 200 3000 20000; do
		each "$library" 100 '' $size
	done
	each "$library" 120 '' 48 thread
done
each libjemalloc.so.2 100 retain:false,dirty_decay_ms:0,muzzy_decay_ms:0 48
each libjemalloc.so.2 100 retain:false,dirty_decay_ms:0,muzzy_decay_ms:0 3000
each libjemalloc.so.2 100 tcache:false 200
exit $failed
