#!/bin/sh
# SPDX-License-Identifier: MIT
# A site's key is what ms-snapshot(5) says, and the same in another build; its entry is the function of the allocator that was called, by whatever kind of
# call; both are where they are told of.
set -eu
# it holds of frames that are none, too: a stack that was cut, and a heap of the program's own
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
cat >calls.c <<'C'
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
void *kept[16];
#define SITE __attribute__((noinline, noclone)) void
SITE by_malloc(int n) { kept[0] = malloc(n); kept[9] = 0; }
SITE by_calloc(int n) { kept[1] = calloc(n, 2); kept[9] = 0; }
SITE by_realloc(int n) { kept[2] = realloc(kept[2], n); kept[9] = 0; }
SITE by_aligned_alloc(int n) { kept[3] = aligned_alloc(64, n); kept[9] = 0; }
SITE by_strdup(int n) { kept[4] = strdup("a text" + n % 2); kept[9] = 0; }
SITE by_pointer(int n) { void *(*volatile f)(size_t) = malloc; kept[5] = f(n); kept[9] = 0; }
int main(void)
{
	by_malloc(1000);
	by_calloc(1000);
	by_realloc(3000);
	by_aligned_alloc(6400);
	by_strdup(1);
	by_pointer(7000);
	return kept[9] != 0;
}
C
all='SELECT f.function || " " || coalesce(s.entry, "-") FROM site s JOIN stack k ON k.id = s.user_frame JOIN frame f ON f.id = k.frame
	WHERE f.function LIKE "by%" ORDER BY 1'
cat >want <<'W'
by_aligned_alloc aligned_alloc
by_calloc calloc
by_malloc malloc
by_pointer -
by_realloc realloc
by_strdup strdup
W
gcc -g -O1 -o calls calls.c
(echo && echo && cat calls.c) >moved.c
for how in plain:-fplt slots:-fno-plt fixed:-no-pie static:-static; do
	mkdir "${how%:*}"
	gcc -g -O1 "${how#*:}" -o "${how%:*}/calls" moved.c
	ms-record -q -o "${how%:*}.trace" "./${how%:*}/calls"
	ms-snap -o "${how%:*}.db" "${how%:*}.trace"
	# in a static C library before glibc 2.38 both are one function
	[ "${how%:*}:$(nm static/calls 2>/dev/null | awk '$3 ~ /^(aligned_alloc|memalign)$/ { print $1 }' | uniq -d | wc -l)" != static:1 ] ||
		sed -i 's/ aligned_alloc/ memalign/' want
	sqlite3 "${how%:*}.db" "$all" | diff want - || die "entries of a program built with ${how#*:}"
done
ms-record -q -o run.trace ./calls
ms-snap -o run.db run.trace

# the key, computed here from the names, and in other builds
cat >key.py <<'P'
import os, sqlite3, sys
PRIME, MASK, BASIS = (1 << 88) + 0x13B, (1 << 128) - 1, 0x6C62272E07BB014262B821756295C58D
db = sqlite3.connect(sys.argv[1])
rows = {i: (parent, "" if note else os.path.basename(path or ""), function or f"+{address - bias:x}" if address is not None else note)
        for i, parent, path, function, address, bias, note in db.execute(
            "SELECT k.id, k.parent, m.path, f.function, f.address, m.bias, f.note FROM stack k JOIN frame f ON f.id = k.frame LEFT JOIN module m ON m.id = f.module")}
n = 0
for stack, key in db.execute("SELECT stack, key FROM site"):
    frames = []
    while stack:
        stack, *names = rows[stack]
        frames.insert(0, names)
    h = BASIS
    for names in frames:
        place = BASIS
        for c in b"".join(x.encode() + b"\0" for x in names):
            place = (place ^ c) * PRIME & MASK
        h = (h ^ place) * PRIME & MASK
    assert f"{h:032x}" == key, (frames, key)
    n += 1
assert n >= 2, n
P
cat >pool.c <<'C'
#include <stdlib.h>
static char pool[4096];
static size_t used;
void *pool_get(size_t n) { used += n; return pool + used - n; }
void pool_put(void *p) { for (volatile size_t i = 0; p && i < 3; i++) used += i; }
static __attribute__((noinline)) void *deep(int n) { void *p = n ? deep(n - 1) : malloc(100); __asm__ volatile("" ::: "memory"); return p; }
int main(void) { return !deep(20) + !pool_get(64); }
C
gcc -g -O1 -rdynamic -o pool pool.c
ms-record -q --depth 8 --hook 'pool_get(size) -> ptr' --hook 'pool_put(ptr)' -o pool.trace ./pool
ms-snap -o pool.db pool.trace
for db in run fixed static pool; do
	python3 key.py $db.db || die "keys of $db.db"
done
for other in plain slots fixed; do
	[ "$(sqlite3 run.db "ATTACH '$other.db' AS o; SELECT count(*) FROM place p JOIN site s ON s.id = p.site JOIN o.site t ON t.key = s.key
		JOIN o.place q ON q.site = t.id AND q.function = p.function AND q.line = p.line + 2 WHERE p.function LIKE 'by%'")" = 6 ] ||
		die "keys in $other.db are others"
done
[ "$(sqlite3 run.db 'SELECT count(DISTINCT key) = count(*) FROM site')" = 1 ] || die "two sites have one key"

# where they are told of
ms-report --json=compact run.db | jq -r '.sites[] | "\(.id)|\(.key)"' | sort -n >have
sqlite3 run.db 'SELECT id, key FROM site ORDER BY id' | diff - have || die "--json=compact"
ms-report --json run.db | jq -e '[.sites[] | has("key")] | any | not' >/dev/null || die "--json has changed"
ms-report --tree=up --entry --ascii --metric live run.trace | sed -n '2,$s/^ *\([0-9.]* [KMi]*B\).* %  [|`]- /\1 /p' >have
cat >want <<'W'
6.8 KiB entry not known
6.2 KiB aligned_alloc
2.9 KiB realloc
2.0 KiB calloc
1000 B malloc
6 B strdup
W
diff want have || die "--tree=up --entry"
[ "$(ms-report --tree --entry --ascii --limit 0 run.db | grep -c '  strdup$')" = 1 ] || die "what is an entry is shown twice, or not"
ms-report --entry run.db >old.txt
ms-report --tree=entry run.db | cmp - old.txt || die "--entry alone"
[ "$(ms-filter --anonymize run.db | ms-report --json=compact | jq '[.sites[].key] | unique == [null]')" = true ] || die "an anonymous key"

# a snapshot of this version that was made before it had keys is refused
cp run.db old.db
# by Python: newer shells of SQLite do not let it be written
python3 - <<'P'
import sqlite3
db = sqlite3.connect("old.db", isolation_level=None)
db.execute("PRAGMA writable_schema = ON")
db.execute("UPDATE sqlite_schema SET sql = replace(sql, ',' || char(10) || '  key TEXT', '') WHERE name = 'site'")
P
ms-report old.db >out 2>err && die "a table without keys is read"
grep -q "its table 'site' is not defined as in a MemScope snapshot" err || die "$(cat err)"
