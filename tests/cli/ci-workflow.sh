#!/bin/sh
# SPDX-License-Identifier: MIT
# The workflow in tests/ci, each of its commands as written, in a Debian that has nothing but what every Debian has.
set -eu
if [ -z "${MS_CHECK_ALL-}" ]; then
	echo 'only with make check-all: it installs a Debian'
	exit 77
fi
if [ "$(id -u)" != 0 ] && ! sudo -n true; then
	echo 'needs to be root'
	exit 1
fi
as_root=$([ "$(id -u)" = 0 ] || echo sudo)
$as_root debootstrap --variant=minbase bookworm root http://deb.debian.org/debian >log 2>&1 || {
	tail -n 5 log
	exit 1
}
$as_root cp /etc/resolv.conf root/etc/resolv.conf
$as_root env SRC="$SRC" unshare --mount --propagation private /usr/bin/python3 "$SRC/tests/cli/ci-workflow.py"
