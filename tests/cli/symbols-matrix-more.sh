#!/bin/sh
# SPDX-License-Identifier: MIT
# The rest of the matrix of builds: clang, dwz, packages by LLVM, Rust; llvm-symbolizer is a second judge of every frame.
set -eu
# shellcheck source=tests/cli/symbols/matrix-lib.sh
. "$SRC/tests/cli/symbols/matrix-lib.sh"
need g++ clang++ c++filt addr2line objdump objcopy dwp dwz llvm-dwp llvm-symbolizer

# Of Rust, c++filt tells the hash of each crate and the type of each constant too.
readable() {
	c++filt | sed -e 's/\[[0-9a-f]\{8,16\}\]//g' -e 's/\([0-9]\): [ui]\([0-9]*\|size\)\>/\1/g'
}

# llvm_judge [LEAST]: the same chains, functions, files and lines as llvm-symbolizer on every address of at least so many frames. Its names
# are those of the linker, made readable by the demangler that ours are; it says which clone of a function it is, and of functions
# that gcc gives no such name it leaves out the scopes. Of functions whose code is the same, and so is one, either name will do.
llvm_judge() {
	llvm-symbolizer --obj=whole --inlines --no-demangle --functions=linkage --output-style=GNU <addresses |
		sed '/^$/d' | normal | sed -e 's/^??:0:0$/??:0/' -e 's,\(/.*\):0$,\1:?,' \
		-e 's/^[^/]*-cgu\.[0-9]*:0$/??:0/' >theirs # it names a file from the symbol table where there is no line
	sed -n '1~2p' theirs | readable >names
	nm whole | sed -n 's/^\([0-9a-f]*\) [TtWw] /\1\t/p' | readable >symbols
	sed -n '2~2p' theirs | paste -d '\n' names - >theirs2
	sed '/^0x/d' want | normal >ours
	[ "$(wc -l <ours)" = "$(wc -l <theirs2)" ] || fail "llvm-symbolizer has other chains: $(diff theirs2 ours | head -n 20)"
	paste theirs2 ours | awk -F '\t' -v least="${1-80}" '
		NR == FNR { at[$2, $1]; where[$2] = $1; next }
		{ n++; want = $1 }
		FNR % 2 && $1 != $2 { sub(/( \[clone [^]]*\])+$/, "", want) }
		(want in where && ($2, where[want]) in at) || ($2 in where && (want, where[$2]) in at) { next }
		want == $2 || (FNR % 2 && substr($2, length($2) - length(want) - 1) == "::" want) { next }
		{ print "want " $1; print "have " $2; bad++ }
		END { print bad + 0 " of " n " names and places differ"; exit bad > 0 || n < 2 * least }' symbols - >differ || fail "$(tail -n 21 differ)"
}

for flags in "-O0 -gdwarf-4" "-O2 -gdwarf-4" "-O0 -gdwarf-5" "-O2 -gdwarf-5 -no-pie -fomit-frame-pointer" "-O2 -gdwarf-4 -gz"; do
	for compiler in g++ clang++; do
		build $compiler "$flags"
		llvm_judge
		split_file
		case "$compiler $flags" in
		*"-gz"*) ;; # llvm-dwp takes no packed sections
		"g++ -O0 -gdwarf-5") ;; # nothing packs these: llvm-dwp never ends on abbreviations with constants in them, dwp crashes
		*) pack llvm-dwp ;;
		esac
		case $flags in *O2*) stripped && build_id_folder ;; esac
	done
done
for flags in "-O2 -gdwarf-2" "-O2 -gdwarf-3" "-O2 -gdwarf-5 -flto"; do
	build g++ "$flags"
	judge
	llvm_judge
	stripped
done
build clang++ "-O2 -gdwarf-5"
packed_sections zlib

# ---- dwz: what files share in one of their own ----

for version in 4 5; do
	build g++ "-O2 -gdwarf-$version"
	llvm_judge
	cp whole program
	g++ -O2 -gdwarf-$version -DTWO -o second sample.cpp
	dwz -m common.debug program second 2>dwz.log || fail "dwz: $(cat dwz.log)"
	readelf -SW program | grep -q gnu_debugaltlink || fail "dwz shared nothing"
	same "dwz"
	mv common.debug away
	state=$("$lookup" -S "$PWD/program" <addresses)
	[ "${state%% *}" = 6 ] || fail "dwz without the common file: state $state"
	mkdir -p dbg/.dwz
	mv away dbg/.dwz/common.debug
	same "dwz in a debug folder" -d dbg
done

# ---- Rust ----

if command -v rustc >/dev/null; then
	cat >sample.rs <<'R'
use std::collections::HashMap;
trait Shape { fn area(&self) -> Vec<f64>; }
struct Square(f64);
impl Shape for Square { #[inline(never)] fn area(&self) -> Vec<f64> { vec![self.0 * self.0; 100] } }
mod inner {
    #[inline(always)]
    pub fn doubled<T: Clone>(v: &[T]) -> Vec<T> { let mut w = v.to_vec(); w.extend_from_slice(v); w }
    #[inline(never)]
    pub fn generic<T: Clone, F: Fn(&T) -> T>(v: &[T], f: F) -> Vec<T> { doubled(v).iter().map(|x| f(x)).collect() }
}
fn main() {
    let shapes: Vec<Box<dyn Shape>> = vec![Box::new(Square(2.0))];
    let all: Vec<f64> = shapes.iter().flat_map(|s| inner::generic(&s.area(), |x| x + 1.0)).collect();
    let mut map: HashMap<String, usize> = HashMap::new();
    map.insert("a".repeat(100), all.len());
    std::mem::forget((all, map));
}
R
	for mangling in v0 legacy; do
		cc=rustc flags="$mangling"
		rustc -O -g -C symbol-mangling-version=$mangling -o whole sample.rs 2>rust.log ||
			rustc -O -g -Z unstable-options -C symbol-mangling-version=$mangling -o whole sample.rs 2>rust.log ||
			{ echo "note: no $mangling here: $(head -n 1 rust.log)" && continue; }
		calls whole | awk 'NR % 7 == 0' >addresses
		"$lookup" "$PWD/whole" <addresses >want
		llvm_judge 300
		grep -q '^_R\|^_ZN' ours && fail "names that are not readable: $(grep -m 3 '^_R\|^_ZN' ours)"
		grep -q 'sample::inner::generic' ours || fail "no sample::inner::generic"
	done
else
	echo "note: no rustc here"
fi
