#!/bin/bash
# SPDX-License-Identifier: MIT
# make install writes and builds nothing in the checkout, as any user, also where paths have spaces; what is installed works from any folder;
# an install over an earlier one, and uninstall, leave nothing that is not theirs to leave.
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
root="$PWD/a root" prefix='/opt/mem scope'
here=$root$prefix
installs() { # install|uninstall [VARIABLE=..]
	make -C "$SRC" MODE="$MODE" DESTDIR="$root" PREFIX="$prefix" "$@"
}
what_is_in() { # FOLDER: paths and kinds
	(cd "$1" && find . -printf '%y %p\n' | sort)
}

# ---- before there is a compiler, which make deps installs ----
make -n -C "$SRC" CC=no-such-compiler deps >log 2>&1 || fail "without a compiler: $(cat log)"

# ---- before: folders that others made, one of them empty ----
mkdir -p "$here/share/man" "$here/bin"
echo other >"$here/bin/other"
what_is_in "$root" >before

# ---- install ----
! make -C "$SRC" MODE="$MODE" DESTDIR="$root" PREFIX=opt install >log 2>&1 || fail 'PREFIX=opt'
grep -q "bad PREFIX 'opt', LIBDIR 'opt/lib' or ZSH_FOLDER 'opt/share/zsh/site-functions': expected whole paths" log || fail "PREFIX=opt: $(cat log)"
touch stamp
installs install >log 2>&1 || { cat log && exit 1; }
[ ! -s log ] || ! grep -qE ' (CC|LINK) ' log || fail "install compiles: $(cat log)"
changed=$(find "$SRC/build/$MODE" "$SRC/packaging" -newer stamp ! -path '*/tests/*')
[ -z "$changed" ] || fail "install changes $changed"
for f in bin/ms-record bin/ms-top lib/memscope/libmemscope-preload.so lib/libmemscope.so.0 lib/libmemscope.a include/memscope.h share/memscope/memscope.py include/memscope-read.h \
	lib/pkgconfig/memscope.pc lib/cmake/memscope/memscope-config.cmake lib/cmake/memscope/memscope-config-version.cmake \
	share/man/man1/ms-record.1 share/man/man7/memscope.7 share/memscope/memscope-report.schema.json \
	share/bash-completion/completions/ms-report share/zsh/site-functions/_ms-report share/fish/vendor_completions.d/ms-report.fish; do
	[ -s "$here/$f" ] || fail "no $f"
done
[ "$(readlink "$here/lib/libmemscope.so")" = libmemscope.so.0 ] || fail 'libmemscope.so is no link'
! find "$root" -perm /022 ! -type l | grep . || fail 'others may write there'
cat "$here"/lib/pkgconfig/* "$here"/lib/cmake/memscope/* | grep '@' && fail 'a template is not filled'
what_is_in "$root" >installed

# ---- from another folder, by a path with spaces ----
mkdir 'my work' && cd 'my work' || exit 1
printf '#include <stdlib.h>\n#include <stdio.h>\nint main(void)\n{\n\treturn puts(malloc(1000) ? "done" : "") < 0;\n}\n' >app.c
gcc -g -o 'an app' app.c
XDG_CACHE_HOME=$PWD/../cache "$here/bin/ms-record" -q -o 'a run.trace' './an app' >said 2>&1 || fail "ms-record: $(cat said)"
[ "$(cat said)" = "done" ] || fail "ms-record: $(cat said)"
"$here/bin/ms-report" --csv --sql "SELECT bytes, line FROM leaks WHERE function = 'main'" 'a run.trace' | tail -n 1 | tr -d '"\r' >said
[ "$(cat said)" = 1000,5 ] || fail "ms-report: $(cat said)"
cd .. || exit 1
if command -v pkg-config >/dev/null; then
	sed "s|^prefix=|&$root|; s|^libdir=|&$root|" "$here/lib/pkgconfig/memscope.pc" >memscope.pc
	printf '#include <memscope-read.h>\nint main(void) { return memscope_read_version() != 1; }\n' >reads.c
	[ "$MODE" != release ] || eval "gcc -o reads reads.c $(PKG_CONFIG_PATH=. pkg-config --cflags --libs memscope)" || fail 'pkg-config'
	[ "$MODE" != release ] || LD_LIBRARY_PATH="$here/lib" ./reads || fail 'the library'
fi

# ---- as another user, who may not write to the build ----
if [ "$(id -u)" = 0 ] && setpriv --reuid=65534 --regid=65534 --clear-groups test -r "$SRC/packaging/files"; then
	theirs=$(mktemp -d) # where they may look
	trap 'rm -rf "$theirs"' EXIT
	chmod 777 "$theirs"
	setpriv --reuid=65534 --regid=65534 --clear-groups make -C "$SRC" MODE="$MODE" DESTDIR="$theirs" PREFIX=/usr/ LIBDIR=/usr/lib//any install >log 2>&1 ||
		fail "another user: $(cat log)"
	[ -s "$theirs/usr/lib/any/libmemscope.a" ] || fail 'LIBDIR'
	grep -q '}/\.\./\.\./include' "$theirs"/usr/lib/any/cmake/memscope/memscope-config.cmake || fail 'CMake and LIBDIR'
fi

# ---- over an earlier one, which had a file more ----
mkdir "$here/share/memscope/old"
echo old >"$here/share/memscope/old/file"
printf 'folder\t%s\nfile\t%s\n' "$prefix/share/memscope/old" "$prefix/share/memscope/old/file" >>"$here/share/memscope/installed"
installs install >log 2>&1 || fail "again: $(cat log)"
[ ! -e "$here/share/memscope/old/file" ] || fail 'a file of the earlier install is left'
cp -r "$root" copy

# ---- uninstall: what others put into our folders stays ----
echo mine >"$here/share/memscope/mine"
installs uninstall >log 2>&1 || fail "uninstall: $(cat log)"
{ cat before && printf '%s\n' "d ./opt/mem scope/share/memscope" "f ./opt/mem scope/share/memscope/mine"; } | sort >want
what_is_in "$root" | diff want - >log || fail "after uninstall: $(cat log)"
rm -rf "$root" && mv copy "$root"
installs uninstall >log 2>&1 || fail "uninstall: $(cat log)"
what_is_in "$root" | diff before - >log || fail "after uninstall: $(cat log)"

# ---- an install that kept no record, as the first versions ----
installs install >log 2>&1
rm "$here/share/memscope/installed"
installs uninstall >log 2>&1 || fail "uninstall without a record: $(cat log)"
[ -z "$(find "$root" ! -type d ! -name other; find "$root" -name memscope)" ] || fail "left: $(what_is_in "$root")"
finish
