#!/bin/sh
# SPDX-License-Identifier: MIT
# Functions, files, lines and inline chains of programs built here, compared with addr2line; and where debug files are found.
set -eu
lookup=$TB/cli/symbols-lookup
for tool in gcc g++ addr2line objdump objcopy; do
	command -v $tool >/dev/null || {
		echo "no $tool"
		exit 77
	}
done
cp "$SRC/tests/cli/symbols-sample.c" "$SRC/tests/cli/symbols-sample.cpp" .

# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

# Every instruction that calls: what a call stack can hold.
calls() {
	objdump -d --no-show-raw-insn "$1" | sed -n 's/^ *\([0-9a-f]*\):.*\<call\>.*/0x\1/p'
}

# addr2line says "(discriminator N)", leaves "." and ".." in paths, joins a relative compilation folder twice ("a/a/x.c"), and names a file from the symbol table where there is no line.
normal() {
	sed -e 's/ (discriminator [0-9]*)$//' -e 's/^__GI_//' -e 's/^\([^/]*\.[A-Za-z]*\|??\):[0?]$/??:0/' \
		-e ':a' -e 's,/\./,/,' -e 'ta' -e 's,^\./,,' -e ':b' -e 's,\(^\|/\)[^/.][^/]*/\.\./,\1,' -e 'tb' \
		-e 's,^\([^/]*\)/\1/,\1/,'
}

# binutils 2.40 takes file 1 of a line table of version 5 for file 0, the source given to the compiler, or <artificial>.
# compare FILE LEAST ODD: as many frames, and the same files and lines, at LEAST addresses or more; functions the same but for ODD ones
# at most, where addr2line falls back on a symbol that is not the inlined function. It leaves out scopes, so ours may say more.
compare() {
	calls "$1" >addresses
	n=$(wc -l <addresses)
	[ "$n" -ge "$2" ] || die "$1: only $n addresses"
	addr2line -afiC -e "$1" <addresses | normal >want
	"$lookup" "$1" <addresses | normal >have
	[ "$(wc -l <want)" = "$(wc -l <have)" ] || die "$1: chains differ: $(diff want have | head -n 20)"
	paste want have | awk -F '\t' -v odd="$3" '
		$1 == $2 { next }
		sub(/.*(<artificial>|symbols-sample\.cp*)/, "", $1) && substr($2, length($2) - length($1) + 1) == $1 { next }
		$1 !~ /:[0-9]+$/ && index($2, $1) { next }
		{ print "want " $1; print "have " $2 }
		$1 ~ /:[0-9]+$/ || ++n > odd { bad = 1 }
		END { exit bad }' >differ || die "$1: $(head -n 20 differ)"
}

for flags in "-O0 -g" "-O2 -g" "-O2 -g -gdwarf-3" "-O2 -g -gdwarf-4 -no-pie" "-O2 -g -gz" "-O2 -gdwarf-4 -gz=zlib-gnu" \
	"-O2 -g1" "-Os -g -flto"; do
	# shellcheck disable=SC2086
	gcc -DHAS_LOC $flags -o c symbols-sample.c
	compare c 10 0
	[ "$(uname -m)" != x86_64 ] || grep -q ':999$' have || die "$flags: the epilogue has no line"
done
for flags in "-O0 -g" "-O2 -g" "-O2 -g -gdwarf-4" "-O2 -g -gdwarf-4 -gz"; do
	# shellcheck disable=SC2086
	g++ $flags -o cpp symbols-sample.cpp
	compare cpp 80 6
done
grep -qx 'outer::(anonymous namespace)::helper' have || die "scopes are missing"
grep -qx 'outer::run(int)::{lambda}::operator()' have || die "the lambda has no name"
if command -v clang++ >/dev/null; then
	clang++ -O2 -g -gdwarf-4 -o cpp symbols-sample.cpp
	compare cpp 80 6
fi

# In a table of version 5 the file numbered 1 is the second one. Here that is the header, in which all of the code is.
printf '%s\n' '#include <stdlib.h>' 'void *made;' 'static inline void make(long n)' '{' 'made = malloc(n);' 'free(made);' '}' >part.h
printf '%s\n' '#include "part.h"' 'int main(int argc, char **argv) { (void)argv; make(argc); return 0; }' >whole.c
gcc -O0 -g -gdwarf-5 -o whole whole.c
calls whole >addresses
"$lookup" "$PWD/whole" <addresses | grep -A1 -x make >have
[ "$(sed -n 's,.*/,,p' have | sort -u | tr '\n' ' ')" = 'part.h:5 part.h:6 ' ] || die "files of version 5: $(cat have)"

# ---- separate debug files ----

state() {
	"$lookup" -s "$@"
}
same() {
	"$lookup" "$@" <addresses >have
	cmp -s want have || die "$* differs: $(diff want have | head -n 20)"
}
split() { # split FLAGS: c, and c.debug with its debug information
	# shellcheck disable=SC2086
	gcc -O2 -g $1 -o c symbols-sample.c
	calls c >addresses
	"$lookup" "$PWD/c" <addresses >want
	objcopy --only-keep-debug c c.debug
	objcopy --strip-all --add-gnu-debuglink=c.debug c
}
split -Wl,--build-id=none
[ "$(state "$PWD/c")" = "2 $PWD/c.debug" ] || die "debuglink: $(state "$PWD/c")"
same "$PWD/c"
mkdir .debug
mv c.debug .debug
same "$PWD/c"
mkdir -p "sys/$PWD" "dbg/$PWD"
mv .debug/c.debug "dbg/$PWD"
same -d "$PWD/dbg" "$PWD/c"
[ "$(state "$PWD/c")" = "0 " ] || die "stripped: $(state "$PWD/c")"
mv c "sys/$PWD"
same -r "$PWD/sys" -d "$PWD/dbg" "$PWD/c"
mv "dbg/$PWD/c.debug" "sys/$PWD"
same -r "$PWD/sys" "$PWD/c"
printf x >>"sys/$PWD/c.debug" # the checksum is wrong now
[ "$(state -r "$PWD/sys" "$PWD/c")" = "7 " ] || die "a debug file with a wrong checksum is used, or nobody says that it is there"

split ""
id=$(readelf -n c | sed -n 's/.*Build ID: //p')
dir=dbg/.build-id/$(echo "$id" | cut -c1-2)
file=$dir/$(echo "$id" | cut -c3-).debug
mkdir -p "$dir"
mv c.debug "$file"
same -d dbg "$PWD/c"
same -d dbg -b "$id" "$PWD/c"
[ "$(state -d dbg "$PWD/c")" = "2 $file" ] || die "build-id: $(state -d dbg "$PWD/c")"
mv c c.old # the debug file alone will do
same -d dbg -b "$id" "$PWD/c"
[ "$(state -b "$id" "$PWD/c")" = "3 " ] || die "missing: $(state -b "$id" "$PWD/c")"
gcc -O1 -o c symbols-sample.c
[ "$(state -b "$id" "$PWD/c")" = "4 " ] || die "mismatch: $(state -b "$id" "$PWD/c")"
[ "$(state "$PWD/c")" = "1 $PWD/c" ] || die "symbol table: $(state "$PWD/c")"
gcc -O1 -g -o "$file" symbols-sample.c # a debug file of another build
[ "$(state -d dbg -b "$id" "$PWD/c")" = "4 " ] || die "a debug file of another build is used"

# ---- supplementary files ----

if command -v dwz >/dev/null; then
	g++ -O2 -g -gdwarf-4 -o one symbols-sample.cpp
	g++ -O2 -g -gdwarf-4 -DTWO -o two symbols-sample.cpp
	calls one >addresses
	"$lookup" "$PWD/one" <addresses >want
	dwz -m common.debug one two
	readelf -SW one | grep -q gnu_debugaltlink || die "dwz shared nothing"
	same "$PWD/one"
fi

# ---- the C library ----

libc=$(ldd c | sed -n 's/.*libc\.so.* => \([^ ]*\) .*/\1/p')
case $(state "$libc") in
2*)
	calls "$libc" | awk 'NR % 20 == 0' >addresses
	# functions and lines; the names of files as binutils has them are wrong in version 5
	addr2line -afiC -e "$libc" <addresses | normal | sed 's,.*:,,' >want
	"$lookup" "$libc" <addresses | normal | sed 's,.*:,,' >have
	cmp -s want have || die "$libc: $(diff want have | head -n 20)"
	[ "$(wc -l <addresses)" -gt 500 ] || die "few calls in $libc"
	;;
esac

# ---- a section that claims to be a thousand times as large as it is takes no such memory ----

for i in $(seq 4000); do
	echo "struct s$i { int a$i, b$i; }; int f$i(struct s$i *x) { return x->a$i + x->b$i; }"
done >large.c
echo 'int main(void) { return 0; }' >>large.c
gcc -g -gz=zlib -O0 -o large large.c
section=$(readelf -SW large | sed -n 's/.* \.debug_info  *PROGBITS  *[0-9a-f]* \([0-9a-f]*\) \([0-9a-f]*\) .*/\1 \2/p')
python3 - "$section" <<'END_OF_PYTHON'
import os, resource, struct, subprocess, sys
at, size = (int(x, 16) for x in sys.argv[1].split())
with open("large", "r+b") as f:
    f.seek(at)
    assert struct.unpack("<I", f.read(4)) == (1,) and size > 100000  # ELFCOMPRESS_ZLIB
    f.seek(at + 8)
    f.write(struct.pack("<Q", size * 1000))
subprocess.run([os.environ["TB"] + "/cli/symbols-lookup", os.path.abspath("large")], input=b"0x1130\n", check=True, stdout=subprocess.DEVNULL)
kib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
if kib > 100000:
    sys.exit(f"FAILED: {kib} KiB for a section of {size >> 10} KiB")
END_OF_PYTHON
