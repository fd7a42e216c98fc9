#!/bin/bash
# SPDX-License-Identifier: MIT
# What is committed, on a bare machine: .ci/run in a fresh Debian without /sys, as a user who is not root, in a path with a space, with TMPDIR
# elsewhere, umask 077, a Turkish locale and no TERM. Nothing may fail; only what tests/skips has may be skipped. Arguments: tests, as for
# tests/run, which then run alone, without lint. Runs are tests. There is no short form: it installs a Debian, as root.
set -u
if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
	echo 'bare: needs root and debootstrap'
	exit 77
fi
# Mounts that nobody else sees end with us, however we end.
[ "${1-}" = --apart ] || exec unshare --mount --propagation private "$0" --apart "$@"
shift
SRC=${SRC:-$(cd "$(dirname "$0")/../.." && pwd)} here='/home/u/mem scope'

prepare() {
	debootstrap --variant=minbase --include=make,git,ca-certificates,locales bookworm root http://deb.debian.org/debian || return
	cp /etc/resolv.conf root/etc/resolv.conf
	# / is to be a mount point, as in a container.
	mount --bind root root && mount -t proc proc root/proc && mount --rbind /dev root/dev || return
	chroot root useradd --create-home --shell /bin/bash u
	echo 'tr_TR.UTF-8 UTF-8' >root/etc/locale.gen
	chroot root locale-gen || return
	(umask 077 && git -c safe.directory='*' clone "$SRC" "root$here") || return
	mkdir root/var/tmp/other
	chroot root chown -R u:u "$here" /var/tmp/other
	chroot root env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root make -C "$here" deps # packages need root
}

# A command line of the user, in the checkout.
as_user() {
	# shellcheck disable=SC2016 # for the shell there
	chroot root setpriv --reuid=u --regid=u --init-groups env -i PATH=/usr/bin:/bin HOME=/home/u USER=u TMPDIR=/var/tmp/other \
		LC_ALL=tr_TR.UTF-8 bash -c 'umask 077; unset TERM; cd "$0" && eval "$1"' "$here" "$1"
}

(umask 022 && prepare) >prepare.log 2>&1 </dev/null || {
	tail -n 20 prepare.log >&2
	echo 'bare: runs 0, found 1, left 1'
	exit 1
}
command=.ci/run
[ $# = 0 ] || command="make -j2 all test-programs >/dev/null && tests/run$(printf ' %q' "$@")"
as_user "$command" >run.log 2>&1 </dev/null
rc=$?
grep -A 40 -E '^FAILED|^lint: [1-9]' run.log >&2
totals=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' run.log | tail -n 1)
read -r passed _ found _ skipped _ <<<"${totals:-0 passed, 1 failed, 0 skipped}"
[ $rc = 0 ] || [ "$found" != 0 ] || found=1 # lint
echo "$totals" >&2
echo "bare: runs $((passed + found + skipped)), found $found, left $found"
[ "$found" = 0 ] && [ $rc = 0 ]
