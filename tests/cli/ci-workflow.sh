#!/bin/sh
# SPDX-License-Identifier: MIT
# The workflow in tests/ci with its action, and the job for GitLab, each of their commands as written, in a Debian that has nothing but what every Debian
# has, with the Debian package of this tree as the release.
set -eu
if [ -z "${MS_CHECK_ALL-}" ]; then
	echo 'only with make check-all: it installs a Debian'
	exit 77
fi
if [ "$(id -u)" != 0 ] && ! sudo -n true; then
	echo 'needs to be root'
	exit 1
fi
mkdir release
# another test builds packages in the same folder
# shellcheck disable=SC2016 # for the shell there
flock "$SRC/build" sh -c 'cd "$SRC" && MAKEFLAGS="" JOBS=2 packaging/deb && cp build/deb/memscope_*.deb "$0"' "$PWD/release" >log 2>&1 || { cat log && exit 1; }
as_root=$([ "$(id -u)" = 0 ] || echo sudo)
$as_root debootstrap --variant=minbase bookworm root http://deb.debian.org/debian >log 2>&1 || {
	tail -n 5 log
	exit 1
}
$as_root cp /etc/resolv.conf root/etc/resolv.conf
$as_root env SRC="$SRC" unshare --mount --propagation private /usr/bin/python3 "$SRC/tests/cli/ci-workflow.py"
