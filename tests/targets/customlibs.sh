#!/bin/sh
# SPDX-License-Identifier: MIT
# Allocators of libraries by their own functions, launched and attached to, compared exactly with what the program asked for: jemalloc,
# mimalloc and tcmalloc, which are known, glib's slices and APR's pools by --hook; tcmalloc and jemalloc linked into the program, too, which may
# be static itself (of mimalloc Debian has no static library).
set -eu
here=$SRC/tests/targets/custom
lib=/usr/lib/$(gcc -dumpmachine)
for l in libjemalloc.so.2 libmimalloc.so.2.0 libtcmalloc_minimal.so.4 libglib-2.0.so.0 libapr-1.so.0 libtcmalloc_minimal.a libjemalloc.a; do
	if [ "${MS_CHECK_ALL-0}" = 0 ] || [ ! -e "$lib/$l" ]; then
		echo "part of make check-all: needs $l"
		exit 77
	fi
done
# shellcheck source=tests/targets/custom/common.sh
. "$here/common.sh"
figures() { # NAME HEAP
	ask "$1" "SELECT allocations, frees, allocated_bytes, coalesce(live_bytes, 0) FROM by_heap WHERE heap = '$2'"
}
try() { # NAME LIBRARY HEAP WANTED WANTED-WHEN-LAUNCHED OPTIONS: '' = what the program says
	of=$1 heap=$3 wanted=$4 launched=$5
	# shellcheck disable=SC2086
	g++ -O2 -g ${static-} -D"$1" -o "$1" "$here/libraries.cc" "$lib/$2" -pthread
	shift 5
	"./$of" >plain.out
	attached "$of-p" "./$of" "$@"
	cmp plain.out "$of-p.out" || fail "$of, -p: another output"
	expect "$of, -p" "$(figures "$of-p" "$heap")" "${wanted:-$(cat plain.out)}"
	ms-record -q -o "$of.trace" "$@" "./$of" >"$of.out" || fail "$of: status $?"
	cmp plain.out "$of.out" || fail "$of: another output"
	ms-snap -q -o "$of.db" "$of.trace"
	expect "$of" "$(figures "$of" "$heap" | cut -d '|' -f "${fields:-1-}")" "${launched:-$(cat plain.out)}"
	for n in "$of" "$of-p"; do
		sound "$n"
	done
}
# What the libraries allocate when they start comes besides: libstdc++'s reserve of 72,704 bytes, two slices of glib's, two blocks of APR's
# first pool, and a structure of each heap that mimalloc makes.
try JEMALLOC libjemalloc.so.2 malloc '' '3601|2850|2174204|583304'
try MIMALLOC libmimalloc.so.2.0 malloc '3540|3289|773190|53657' '3540|3289|773190|53657'
try TCMALLOC libtcmalloc_minimal.so.4 malloc '' '2505|1918|1374830|606616'
try SLICES libglib-2.0.so.0 g_slice '' '4002|3936|402192|6536' --hook 'g_slice_alloc(size) -> ptr in g_slice' \
	--hook 'g_slice_alloc0(size) -> ptr in g_slice' --hook 'g_slice_free1(_, ptr)'
try APR libapr-1.so.0 apr '4002|3800|402080|20180' '4002|3800|402080|20180' --hook 'apr_palloc(pool, size) -> ptr in apr' \
	--hook 'apr_pool_clear(pool)' --hook 'apr_pool_destroy(pool)'
# linked into the program: the guest is injected
try JEMALLOC libjemalloc.a malloc '' ''
try TCMALLOC libtcmalloc_minimal.a malloc '' '2505|1918|1374830|606616'
# and in a static one, where the C library's own allocations come besides when it is launched: names, which may be of any length
static=-static fields=1-2
try JEMALLOC libjemalloc.a malloc '' '3605|2850'
try TCMALLOC libtcmalloc_minimal.a malloc '' '2510|1918'
# jemalloc with prefixes of its own, as Redis, RocksDB and Rust programs have it, beside the C library's malloc
static='' fields=1-
for p in rocks_ _rjem_; do
	nm -g --defined-only "$lib/libjemalloc_pic.a" 2>nm.err | awk '$2 ~ /[TW]/ { print $3 }' |
		grep -E '^(malloc|free|calloc|realloc|memalign|valloc|pvalloc|aligned_alloc|posix_memalign|[a-z]*allocx|sdallocx_.*|malloc_.*|mallctl.*|je_.*)$' |
		sort -u | awk -v p=$p '{ n = $1; sub(/^je_/, "", n) } !seen[n]++ { print $1, p n }' >map
	objcopy --redefine-syms=map "$lib/libjemalloc_pic.a" libprefixed.a
	gcc -O2 -g -DP=$p -o prefixed "$here/prefixed.c" libprefixed.a -pthread -ldl -lm -lstdc++
	./prefixed
	record prefixed ./prefixed
	expect "$p" "$(ask prefixed "SELECT sum(s.allocations), sum(s.frees), sum(s.allocated_bytes) FROM site s JOIN place p ON p.site = s.id WHERE p.function = 'work'")" \
		'5005|2501|5000958'
	sound prefixed
done
