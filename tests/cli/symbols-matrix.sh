#!/bin/sh
# SPDX-License-Identifier: MIT
# Functions, files, lines and inline chains for every way in which gcc writes debug information and people move it about.
#
# Each program is compared with addr2line once, as a whole file; then with itself, after its debug information was split, packed,
# compressed or moved, when every answer must be the same. Which answers addr2line gives wrong is in symbols.sh.
# Other compilers and tools are in symbols-matrix-more.sh.
set -eu
# shellcheck source=tests/cli/symbols/matrix-lib.sh
. "$SRC/tests/cli/symbols/matrix-lib.sh"
need g++ addr2line objdump objcopy

for flags in "-O0 -gdwarf-4" "-O2 -gdwarf-4" "-O0 -gdwarf-5" "-O2 -gdwarf-5 -no-pie -fomit-frame-pointer" "-O2 -gdwarf-5 -flto"; do
	build g++ "$flags"
	judge
	case $flags in
	*-flto*) continue ;;
	*) split_file ;;
	esac
	# dwp of binutils 2.40 cannot read gcc's version 5; later it is a part of gold, which not every system has
	case $flags in *dwarf-4*) ! command -v dwp >/dev/null || pack dwp ;; esac
	case $flags in *O2*) stripped && build_id_folder ;; esac
done
build g++ "-O2 -gdwarf-5"
packed_sections zlib
packed_sections zlib-gnu
if objcopy --compress-debug-sections=zstd whole try 2>/dev/null; then
	packed_sections zstd
fi

# ---- what is wrong is said, and never believed ----

split_file
rm -- *.dwo
[ "$("$lookup" -S "$PWD/program" <addresses)" = "6 $PWD/program" ] || fail "a missing .dwo is not said"
build g++ "-O1 -gdwarf-5"
g++ -O1 -gdwarf-5 -gsplit-dwarf -c sample.cpp
g++ -O1 -o program sample.o
mv sample.dwo other.dwo
g++ -O2 -gdwarf-5 -gsplit-dwarf -c sample.cpp # another build under the same name
calls program >addresses
[ "$("$lookup" -S "$PWD/program" <addresses)" = "6 $PWD/program" ] || fail "a .dwo of another build is believed"
mv other.dwo sample.dwo
[ "$("$lookup" -S "$PWD/program" <addresses)" = "2 $PWD/program" ] || fail "the right .dwo is not"

# damage NAME: makes nonsense of a section of the program
damage() {
	cp whole program
	# shellcheck disable=SC2046
	set -- $(readelf -SW program | sed -n "s/^ *\[ *[0-9]*\] *\($1\) *PROGBITS *[0-9a-f]* \([0-9a-f]*\) \([0-9a-f]*\) .*/\2 \3/p")
	head -c "$((0x$2))" /dev/zero | tr '\0' '\377' | dd of=program bs=1 seek="$((0x$1))" conv=notrunc status=none
}
build g++ "-O2 -gdwarf-5"
for section in .debug_info .debug_abbrev .debug_line .debug_rnglists; do
	damage "$section"
	state=$("$lookup" -S "$PWD/program" <addresses)
	[ "$state" = "5 $PWD/program" ] || fail "damaged $section: state $state"
	"$lookup" "$PWD/program" <addresses >have
	grep -qx 'outer::run(int)' have || fail "damaged $section: the symbol table is not used"
done
head -c 20000 whole >program # cut short: no table of sections
[ "$("$lookup" -S "$PWD/program" <addresses)" = "5 " ] || fail "a file cut short is not said"

# ---- names of 20 KB ----

cat >long.cpp <<'C'
#include <stdlib.h>
template <class... T> struct list {};
template <class T, int N> struct deep { typedef deep<list<T, char[N], T *>, N - 1> type; };
template <class T> struct deep<T, 0> { typedef T type; };
template <class T> __attribute__((noinline)) void *long_name(T *) { return malloc(1); }
#define A(n) a_name_that_is_rather_long_as_people_write_them_who_generate_their_code_with_care_##n
#define B(n) struct A(n##0) {}; struct A(n##1) {}; struct A(n##2) {}; struct A(n##3) {}; struct A(n##4) {};
#define N(n) A(n##0), A(n##1), A(n##2), A(n##3), A(n##4)
B(a) B(b) B(c) B(d) B(e) B(f) B(g) B(h) B(i) B(j) B(k) B(l) B(m) B(n) B(o) B(p) B(q) B(r) B(s) B(t) B(u) B(v) B(w) B(x) B(y) B(z)
B(aa) B(ab) B(ac) B(ad) B(ae) B(af) B(ag) B(ah) B(ai) B(aj) B(ak) B(al) B(am) B(an) B(ao) B(ap) B(aq) B(ar) B(as) B(at) B(au) B(av)
typedef list<N(a), N(b), N(c), N(d), N(e), N(f), N(g), N(h), N(i), N(j), N(k), N(l), N(m), N(n), N(o), N(p), N(q), N(r), N(s), N(t),
	N(u), N(v), N(w), N(x), N(y), N(z), N(aa), N(ab), N(ac), N(ad), N(ae), N(af), N(ag), N(ah), N(ai), N(aj), N(ak), N(al), N(am),
	N(an), N(ao), N(ap), N(aq), N(ar), N(as), N(at), N(au), N(av)> wide;
int main() { free(long_name((wide *)0)); free(long_name((deep<int, 6>::type *)0)); return 0; }
C
g++ -O1 -g -o program long.cpp
nm program | grep -o '_Z9long_name.*' | while read -r name; do
	# -r takes the demangler's limit off, which leaves names of more than 1,024 characters as they are
	printf '%s\n' "$(c++filt -r -p "$name")"
done | sort >want
calls program >addresses
"$lookup" "$PWD/program" <addresses | grep '^void\* long_name\|long_name<' | sed 's/^void\* //; s/(.*//' | sort -u >have
sed 's/(.*//' want | sort -u >want2
cmp -s want2 have || fail "long names: $(cut -c1-200 want2 have)"
[ "$(wc -c <have)" -gt 20000 ] || fail "no long name: $(wc -c <have)"
