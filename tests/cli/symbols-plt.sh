#!/bin/sh
# SPDX-License-Identifier: MIT
# Names of a linkage table ("malloc@plt"): the same as objdump's for every instruction in it, however the table was made.
set -eu
lookup=$TB/cli/symbols-lookup
[ "$(uname -m)" = x86_64 ] || {
	echo 'linkage tables of x86-64 alone are read'
	exit 77
}
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
cat >part.cpp <<'C'
#include <stdlib.h>
namespace part { void *make(int n) { return malloc(n); } }
C
cat >program.cpp <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
namespace part { void *make(int n); }
int main(int argc, char **argv)
{
	std::string s(argc * 100, 'x');
	void *(*volatile f)(size_t, size_t) = calloc; /* its address is taken, so that it has a slot of another kind */
	char *p = (char *)part::make(argc), *q = strdup(argv[0]);
	puts(s.c_str());
	free(p), free(q), free(f(1, 2)), free(calloc(3, 4));
	return 0;
}
C
# ours FILE: what the lookup says of the addresses on standard input, one name each
ours() {
	"$lookup" "$PWD/$1" | sed -n '2~3p'
}
# compare WHAT LEAST FILE [FILE]: the program in the second file is asked, which may have lost names that objdump needs
compare() {
	objdump -d -C --no-show-raw-insn "$3" | awk '
		/^[0-9a-f]+ <.*>:$/ { name = $0; sub(/^[0-9a-f]+ </, "", name); sub(/>:$/, "", name) }
		/^ *[0-9a-f]+:/ && name ~ /@plt$/ { sub(/:.*/, ""); print "0x" $1 "\t" name }' >table
	cut -f 1 table | ours "${4-$3}" >have
	cut -f 2 table >want
	cmp -s want have || die "$1: $(paste table have | awk -F '\t' '$2 != $3' | head -n 5)"
	[ "$(sort -u want | wc -l)" -ge "$2" ] || die "$1: few entries: $(sort -u want | tr '\n' ' ')"
}
g++ -O1 -fPIC -shared -o libpart.so part.cpp
link() {
	# shellcheck disable=SC2016
	g++ -O0 -o program program.cpp "$@" -L. -lpart '-Wl,-rpath,$ORIGIN'
}
link -g
compare "as usual" 6 program
grep -qx 'malloc@plt\|strdup@plt' want || die "no strdup@plt"
grep -qx 'part::make(int)@plt' want || die "no part::make(int)@plt"
# what comes before the first entry belongs to none
first=$(readelf -SW program | sed -n 's/^ *\[ *[0-9]*\] \.plt  *PROGBITS *\([0-9a-f]*\) .*/0x\1/p')
[ "$(echo "$first" | ours program)" = '??' ] || die "the start of the table has a name"
objcopy --only-keep-debug program program.debug
objcopy --strip-all --add-gnu-debuglink=program.debug program stripped
compare "stripped, with a debug file" 6 program stripped
rm program.debug
compare "stripped" 6 program stripped
for flags in "-Wl,-z,now" "-Wl,-z,lazy" "-no-pie -Wl,-z,lazy" "-fcf-protection=full -Wl,-z,ibtplt" "-Wl,-z,ibtplt -Wl,-z,now" "-fno-plt"; do
	# shellcheck disable=SC2086
	link $flags
	case $flags in -fno-plt) least=0 ;; *) least=5 ;; esac
	compare "$flags" $least program
done
# addends that a linker (-z mark-plt) leaves in slots with a name are no part of it
link -Wl,-z,lazy
compare "before addends" 5 program
cp want named
python3 - <<'P'
import struct
data = bytearray(open("program", "rb").read())
at, size, count = struct.unpack_from("<Q", data, 0x28)[0], *struct.unpack_from("<HH", data, 0x3A)
for i in range(count):
    kind, offset, length = (struct.unpack_from("<" + f, data, at + i * size + o)[0] for o, f in ((4, "I"), (24, "Q"), (32, "Q")))
    for r in range(offset, offset + length, 24) if kind == 4 else ():  # SHT_RELA
        if struct.unpack_from("<I", data, r + 8)[0] == 7:  # R_X86_64_JUMP_SLOT
            struct.pack_into("<Q", data, r + 16, 0x1234)
open("marked", "wb").write(data)
P
cut -f 1 table | ours marked >have
cmp -s program marked && die 'no slot was marked'
diff named have || die 'an addend of a slot with a name'
gcc -O1 -static -o static -x c - <<'C'
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv) { return strlen(argv[0]) + argc > 1000; }
C
objdump -d -C --no-show-raw-insn static | grep -q '@plt>:' && compare "static" 1 static
libc=$(ldd program | sed -n 's/.*libc\.so\.6 => \([^ ]*\) .*/\1/p')
cp "$libc" libc.so
compare "the C library" 3 libc.so
