#!/bin/bash
# SPDX-License-Identifier: MIT
# .gnu_debugdata, the compressed symbol table of stripped packages: names of static functions come from it, those of the linker's table
# stay; one that is damaged, cut or far too large is said to be, and takes little memory.
set -eu
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
cat >mini.c <<'C'
#include <stdlib.h>
__attribute__((noinline)) static void *fill_cache(int n) { return malloc(n); }
__attribute__((noinline)) static void *load_all(void) { return fill_cache(5000); }
__attribute__((visibility("default"), noinline)) void *exported(void) { return malloc(6000); }
void *volatile keep;
#ifndef PLUGIN
int main(void)
{
	keep = load_all();
	keep = exported();
	return 0;
}
#else
void plug(void) { keep = load_all(); }
#endif
C
cat >pack.py <<'P'
import lzma, sys
how, data = sys.argv[1], open("mini", "rb").read()
packed = lzma.compress(data, preset=9 if how != "plain" else 6, check=lzma.CHECK_NONE if how == "unchecked" else lzma.CHECK_CRC32)
if how == "damaged":
    packed = packed[:60] + bytes([packed[60] ^ 255]) + packed[61:]
if how == "cut":
    packed = packed[:-40]
if how == "bomb":
    packed = lzma.compress(data + bytes(300 << 20), preset=0)
if how == "text":
    packed = lzma.compress(b"this is no ELF file " * 10)
if how == "empty":
    packed = b""
open("packed", "wb").write(packed)
P
# make_it HOW FILE [FLAG...]: a stripped program with that kind of section
make_it() {
	local how=$1 out=$2
	shift 2
	gcc -g -O1 -fno-builtin -fno-optimize-sibling-calls -rdynamic "$@" -o full mini.c
	nm -D --format=posix --defined-only full | cut -d' ' -f1 | sort >dynamic
	nm --format=posix --defined-only full | awk '$2 ~ /[TtD]/ { print $1 }' | sort | comm -13 dynamic - >wanted
	objcopy --only-keep-debug full debug
	objcopy -S --remove-section .comment --keep-symbols=wanted debug mini
	python3 pack.py "$how"
	strip --strip-all -o "$out" full
	rm full debug
	objcopy --add-section .gnu_debugdata=packed "$out"
}
# bytes_of FUNCTION: of the sites that begin with it
bytes_of() {
	ms-report --json t.trace | jq "[.sites[] | select(any(.stack[]; .function == \"$1\")) | .allocated_bytes] | add // 0"
}
state() {
	ms-report --modules t.trace | sed -n "s|  .*/$1\$||p"
}
for how in plain best unchecked; do
	make_it $how app
	ms-record -q --no-cache -o t.trace ./app
	[ "$(bytes_of fill_cache) $(bytes_of load_all) $(bytes_of exported) $(bytes_of main)" = '5000 5000 6000 11000' ] ||
		die "$how: $(bytes_of fill_cache) $(bytes_of load_all) $(bytes_of exported) $(bytes_of main)"
	[ "$(state app)" = 'functions only' ] || die "$how: $(state app)"
done
for how in damaged cut bomb text empty; do
	make_it $how app
	ms-record -q --no-cache --no-symbols -o t.trace ./app
	(ulimit -v 2000000 && ms-snap --no-cache --symbols=embed t.trace)
	[ "$(bytes_of fill_cache) $(bytes_of exported)" = '0 6000' ] || die "$how: $(bytes_of fill_cache) $(bytes_of exported)"
	[ "$(state app)" = DAMAGED ] || die "$how: $(state app)"
done
# a library, where a separate debug file of it that says more goes first
make_it plain plug.so -shared -fPIC -DPLUGIN
cat >host.c <<'C'
#include <dlfcn.h>
int main(void)
{
	((void (*)(void))dlsym(dlopen("./plug.so", RTLD_NOW), "plug"))();
	return 0;
}
C
gcc -O1 -o host host.c -ldl
ms-record -q --no-cache -o t.trace ./host
[ "$(bytes_of fill_cache)" = 5000 ] || die "library: $(bytes_of fill_cache)"
[ "$(state plug.so)" = 'functions only' ] || die "library: $(state plug.so)"
