#!/bin/bash
# SPDX-License-Identifier: MIT
# make deb, and its packages in a Debian that has nothing but what every Debian has: lintian has no errors; an upgrade from an earlier build and
# a removal leave nothing behind; what is installed works, and programs are built with the library.
set -u
if [ -z "${MS_CHECK_ALL-}" ]; then
	echo 'only with make check-all: it builds packages and installs a Debian'
	exit 77
fi
if [ "$(id -u)" != 0 ]; then
	echo 'needs to be root'
	exit 1
fi
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# another test builds packages in the same folder
# shellcheck disable=SC2016 # for the shell there
flock "$SRC/build" sh -c 'cd "$SRC" && MAKEFLAGS="" JOBS=2 packaging/deb && cp build/deb/* "$0"' "$PWD" >log 2>&1 || { cat log && exit 1; }
lintian --fail-on error -- *.changes >said 2>&1 || fail "lintian: $(cat said)"

# ---- an earlier build, with a file that this one has no more ----
rm -- *-dbgsym_*.deb
version=$(dpkg-deb -f memscope_*.deb Version)
mkdir earlier
for p in memscope_*.deb libmemscope0_*.deb libmemscope-dev_*.deb; do
	rm -rf tree
	dpkg-deb -R "$p" tree
	sed -i "s/$version/$version~earlier/" tree/DEBIAN/control
	mkdir -p tree/usr/share/memscope-earlier && echo old >"tree/usr/share/memscope-earlier/${p%%_*}"
	dpkg-deb --root-owner-group -b tree earlier >log 2>&1 || fail "earlier: $(cat log)"
done

# ---- a bare Debian ----
debootstrap --variant=minbase bookworm root http://deb.debian.org/debian >log 2>&1 || { tail -n 5 log && exit 1; }
cp /etc/resolv.conf root/etc/resolv.conf
mkdir root/packages && cp -r ./*.deb earlier root/packages
# In it, with /proc, which goes with the command.
# shellcheck disable=SC2016 # for the shell there
inside() {
	env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 \
		unshare --mount --propagation private sh -c 'mount -t proc proc root/proc && exec chroot root sh -ec "$1"' sh "$1" >said 2>&1
}
files() {
	find root -xdev ! -path 'root/proc/*' ! -path 'root/var/*' ! -path 'root/tmp/*' ! -path 'root/etc/ld.so.cache' | sort
}
# What they need stays: it is not ours.
inside 'apt-get -qq update && apt-get -qq install --no-install-recommends gcc libc6-dev pkg-config libzstd-dev binutils' || { tail -n 20 said && exit 1; }
inside 'apt-get -qq install --no-install-recommends /packages/earlier/*.deb && dpkg -P libmemscope-dev memscope libmemscope0' || { tail -n 20 said && exit 1; }
files >before

inside 'apt-get -qq install --no-install-recommends /packages/earlier/*.deb' || fail "the earlier build: $(tail -n 20 said)"
[ -s root/usr/share/memscope-earlier/memscope ] || fail 'the earlier build is not there'
inside 'apt-get -qq install --no-install-recommends /packages/*.deb' || fail "upgrade: $(tail -n 20 said)"
[ ! -e root/usr/share/memscope-earlier ] || fail 'a folder of the earlier build is left'
inside "dpkg-query -W -f='\${Version} \${Status}\n' memscope libmemscope0 libmemscope-dev | sort | uniq -c"
[ "$(cat said)" = "      3 $version install ok installed" ] || fail "versions: $(cat said)"

# ---- what is installed works ----
cat >root/tmp/app.c <<'END_OF_PROGRAM'
#include <memscope.h>
#include <memscope-read.h>
#include <stdlib.h>
int main(void)
{
	ms_mark("here");
	return malloc(1000) ? memscope_read_version() - 1 : 2;
}
END_OF_PROGRAM
# shellcheck disable=SC2016 # for the shell inside
inside 'cd /tmp && gcc -g -o app app.c $(pkg-config --cflags --libs memscope) && ms-record -o run.trace ./app &&
	ms-report --csv --sql "SELECT bytes, line FROM leaks WHERE function = '\''main'\''" run.trace && ms-record --doctor ls' || fail "it does not work: $(cat said)"
grep -q '^1000,7' said || fail "the block of 1000 bytes: $(cat said)"
grep -q '^ok  *library' said || fail "the library: $(cat said)"
for f in usr/share/bash-completion/completions/ms-record usr/share/zsh/vendor-completions/_ms-record usr/share/man/man1/ms-record.1.gz \
	usr/share/man/man3/memscope-read.3.gz usr/share/memscope/memscope-report.schema.json; do
	[ -s "root/$f" ] || fail "no $f"
done
rm -rf root/root/.cache/memscope

# ---- removed ----
inside 'dpkg -P memscope libmemscope-dev libmemscope0' || fail "removal: $(cat said)"
rm -rf root/root/.cache
files | diff before - >log || fail "left: $(head -n 30 log)"
finish
