#!/bin/bash
# SPDX-License-Identifier: MIT
# libmemscope as installed: a program compiled against the shared and the static library, found by pkg-config and by CMake; what it
# reads is what our own tools say; nothing is left after make uninstall.
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
root=$PWD/root
make -C "$SRC" MODE="$MODE" DESTDIR="$root" PREFIX=/usr install >log 2>&1 || { cat log && exit 1; }
flags=()
[ "$MODE" = asan ] && flags=('-fsanitize=address,undefined')
[ "$MODE" = tsan ] && flags=(-fsanitize=thread)
inc=$root/usr/include lib=$root/usr/lib

# ---- what is there ----
nm -D --defined-only "$lib/libmemscope.so" | awk '$2 == "T" { print $3 }' | sed 's/@.*//' | sort >shared
nm --defined-only --extern-only "$lib/libmemscope.a" | awk '$2 == "T" { print $3 }' | sort >static
cmp -s shared static || fail "shared and static library differ: $(diff shared static)"
grep -ho 'memscope_[a-z_]*(' "$inc/memscope-read.h" | tr -d '(' | sort -u >header
cmp -s shared header || fail "library and header differ: $(diff shared header)"
while read -r name; do
	grep -q "^\.Fn $name\|^\.Fo $name\|Fn $name" "$SRC/man/memscope-read.3" || fail "memscope-read(3) does not tell of $name"
done <header
for f in lib/pkgconfig/memscope.pc lib/cmake/memscope/memscope-config.cmake share/man/man3/memscope-read.3; do
	[ -s "$root/usr/$f" ] || fail "no $f"
done
[ "$(sed -n 's/^prefix=//p' "$lib/pkgconfig/memscope.pc")" = /usr ] || fail 'memscope.pc: prefix'

# ---- pkg-config, shared and static ----
export PKG_CONFIG_PATH=$lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
cflags=$(pkg-config --cflags memscope) libs=$(pkg-config --libs memscope)
# shellcheck disable=SC2086
gcc -Wall -Wextra -Werror "${flags[@]}" -I"$inc" $cflags -o shared-user "$SRC/tests/cli/library/user.c" -L"$lib" $libs -Wl,-rpath,"$lib" ||
	fail 'shared: not built'
gcc -Wall -Werror "${flags[@]}" -I"$inc" -o static-user "$SRC/tests/cli/library/user.c" "$lib/libmemscope.a" -lzstd -lm || fail 'static: not built'
echo '#include <memscope-read.h>' >header.cc
echo 'int main() { return memscope_read_version() - 1; }' >>header.cc
g++ -Wall -Wextra -Wpedantic -Werror "${flags[@]}" -I"$inc" -o cxx header.cc -L"$lib" -lmemscope -Wl,-rpath,"$lib" || fail 'C++: not built'
./cxx || fail 'C++: does not run'
ldd shared-user | grep -q "libmemscope.so.0 => $lib" || [ "$MODE" != release ] || fail 'shared: not the installed library'
if command -v cmake >/dev/null; then
	mkdir c && cp "$SRC/tests/cli/library/user.c" c
	printf '%s\n' 'cmake_minimum_required(VERSION 3.13)' 'project(user C)' 'find_package(memscope REQUIRED)' \
		'add_executable(user user.c)' 'target_link_libraries(user memscope::memscope)' >c/CMakeLists.txt
	[ "$MODE" != release ] || (cmake -S c -B c/b -DCMAKE_PREFIX_PATH="$root/usr" && cmake --build c/b) >log 2>&1 || { cat log && fail 'CMake'; }
fi

# ---- a process ----
sleep 100 &
pid=$!
while [ "$(cat /proc/$pid/comm)" != sleep ]; do sleep 0.01; done
sleep 0.05
kill -STOP $pid
for user in shared-user static-user; do
	./$user process $pid >said || { cat said && fail "$user: process"; }
	value() { sed -n "s/^$1 //p" said; }
	[ "$(value rss)" = "$(value regions_rss)" ] || fail "$user: RSS $(value rss), of regions $(value regions_rss)"
	[ "$(value rss)" = $(($(awk '/^Rss:/ { n += $2 } END { print n }' /proc/$pid/smaps) * 1024)) ] || fail "$user: RSS is not that of smaps"
	[ "$(value vsz)" = $(($(awk '/^VmSize:/ { print $2 }' /proc/$pid/status) * 1024)) ] || fail "$user: VSZ"
	[ "$(value regions)" = "$(grep -c '^[0-9a-f]*-' /proc/$pid/smaps)" ] || fail "$user: regions"
	[ "$(value heap)" -gt 0 ] || fail "$user: heap"
	value regions_json | python3 -c 'import json, sys; v = json.load(sys.stdin); assert any(r["kind"] == "stack" for r in v)' || fail "$user: JSON"
	value ring_json | python3 -c 'import json, sys; v = json.load(sys.stdin); assert len(v) == 3 and v[0]["rss_bytes"] > 0' || fail "$user: JSON of the ring"
	value sample_json | python3 -c 'import json, sys; assert json.load(sys.stdin)["threads"] == 1' || fail "$user: JSON of a sample"
done
kill -KILL $pid

# ---- a trace ----
gcc -g -O0 -I"$SRC/include" -o app "$SRC/tests/cli/library/app.c" || exit 1
"$BIN/ms-record" -q --addresses -o run.trace ./app
for user in shared-user static-user; do
	./$user trace run.trace >said || { cat said && fail "$user: trace"; }
	"$BIN/ms-report" --json run.trace >report.json
	for figure in allocations frees reallocations allocated_bytes unfreed_bytes unfreed_blocks; do
		[ "$(value $figure)" = "$(jq ".totals.$figure" report.json)" ] || fail "$user: $figure $(value $figure), not $(jq ".totals.$figure" report.json)"
	done
	[ "$(value exit)/$(value state)/$(value addresses)" = 3/complete/1 ] || fail "$user: $(cat said)"
	# Under ASan the child that finds symbols runs into its limit of address space.
	[ "$MODE" = asan ] || value largest | grep -q 'app.c:10$' || fail "$user: the largest is at '$(value largest)'"
	[ "$(value mark)" = kept ] || fail "$user: mark"
	head -c "$(($(stat -c %s run.trace) / 2))" run.trace >half.trace
	./$user trace half.trace >said 2>&1
	[ $? -lt 128 ] || fail "$user: half a trace: $(cat said)"
done

# ---- lines of Python ----
printf 'def f(n):\n    return bytearray(n)\n\nkept = f(50000000)\n' >p.py
"$BIN/ms-record" -q -o python.trace /usr/bin/python3 p.py
./shared-user trace python.trace >said || { cat said && fail 'Python'; }
[ "$(value interpreted)" = "f $PWD/p.py:2
<module> $PWD/p.py:4" ] || fail "Python: the largest is of '$(value interpreted)'"

# ---- nothing stays ----
make -C "$SRC" MODE="$MODE" DESTDIR="$root" PREFIX=/usr uninstall >log 2>&1 || fail 'uninstall'
[ -z "$(find "$root" ! -type d)" ] || fail "left: $(find "$root" ! -type d)"
finish
