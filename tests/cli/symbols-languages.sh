#!/bin/bash
# SPDX-License-Identifier: MIT
# Names of Ada, D and Rust as their users write them, from DWARF and from the symbol table alone.
set -u
if [ -z "${MS_CHECK_ALL-}" ] || ! command -v gnatmake >/dev/null || ! command -v gdc >/dev/null; then
	echo 'only with make check-all, where there are gnatmake and gdc'
	exit 77
fi
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

# Each keeps 100 blocks of 8000 bytes at one place.
mkdir ada d rust
cat >ada/keeper.ads <<'ADA'
package Keeper is
   package Inner is
      function "+" (Left : Integer; Right : String) return Integer;
   end Inner;
end Keeper;
ADA
cat >ada/keeper.adb <<'ADA'
package body Keeper is
   type Block is array (1 .. 2000) of Integer;
   type Link is access Block;
   Kept : array (1 .. 100) of Link;
   N : Natural := 0;
   package body Inner is
      function "+" (Left : Integer; Right : String) return Integer is
         procedure Hold is
         begin
            N := N + 1;
            Kept (N) := new Block'(others => Left);
         end Hold;
      begin
         Hold;
         return Left + Right'Length;
      end "+";
   end Inner;
end Keeper;
ADA
cat >ada/work.adb <<'ADA'
with Keeper; use Keeper;
procedure Work is
   X : Integer := 0;
begin
   for I in 1 .. 100 loop
      X := Inner."+" (X, "abc");
   end loop;
end Work;
ADA
cat >d/work.d <<'D'
import core.stdc.stdlib : malloc;
struct Pool(T) {
	T*[] kept;
	void take(int n) { kept ~= cast(T*) malloc(T.sizeof * n); }
}
class Holder {
	Pool!double pool;
	void hold(string name, int n) { pool.take(n); }
}
void main() {
	auto h = new Holder;
	foreach (i; 0 .. 100)
		h.hold("x", 1000);
}
D
cat >rust/work.rs <<'RUST'
struct Pool<T> { kept: Vec<Vec<T>> }
impl<T: Clone + Default> Pool<T> {
    #[inline(never)]
    fn take(&mut self, n: usize) { self.kept.push(vec![T::default(); n]); }
}
trait Hold { fn hold(&mut self, n: usize); }
impl Hold for Pool<u64> { #[inline(never)] fn hold(&mut self, n: usize) { self.take(n) } }
fn main() {
    let mut p = Pool::<u64> { kept: Vec::with_capacity(100) };
    for _ in 0..100 { p.hold(1000); }
    std::mem::forget(p);
}
RUST
(cd ada && gnatmake -q -g work.adb) >log 2>&1 || die "$(cat log)"
gdc -g -o d/work d/work.d || die "gdc"

# names PROGRAM: those of its own that stand around the 100 blocks, the innermost first
names() {
	ms-record -q --no-symbols -o run.trace "$1" || die "$1"
	ms-report --json run.trace | jq -r '[.sites[] | select(.allocations == 100 and .allocated_bytes == 800000)][0].stack
		| map(.function // "" | select(test("[kK]eep|[hH]old|take|^(D )?main$|^work$"))) | join(", ")'
}
# same PROGRAM NAMES NAMES: with DWARF and without
same() {
	local got
	got=$(names "$1")
	[ "$got" = "$2" ] || die "$1: $got"
	strip -g "$1"
	got=$(names "$1")
	[ "$got" = "$3" ] || die "$1, without DWARF: $got"
}
same ada/work 'keeper.inner."+".hold, keeper.inner."+", work, main' 'keeper__inner__Oadd__hold.0, keeper__inner__Oadd, work, main'
same d/work 'work.Pool!(double).Pool.take(int), work.Holder.hold(immutable(char)[], int), D main, main' \
	'work.Pool!(double).Pool.take(int), work.Holder.hold(immutable(char)[], int), D main, main'
command -v rustc >/dev/null || { echo 'note: no rustc here'; exit 0; }
rustc -g -C symbol-mangling-version=v0 -o rust/work rust/work.rs || die "rustc, v0"
rustc -g -o rust/old --crate-name work rust/work.rs || die "rustc"
same rust/work '<work::Pool<u64>>::take, <work::Pool<u64> as work::Hold>::hold, main' \
	'<work::Pool<u64>>::take, <work::Pool<u64> as work::Hold>::hold, main'
# the old scheme does not say of what a type's own method is
same rust/old 'work::Pool<T>::take, <work::Pool<u64> as work::Hold>::hold, main' \
	'work::Pool<T>::take, <work::Pool<u64> as work::Hold>::hold, main'
