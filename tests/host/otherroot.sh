#!/bin/bash
# SPDX-License-Identifier: MIT
# A program in another root, where the recorder's library is not, is recorded however it is run, and prints what it prints without the recorder;
# and it is attached to. MS_OTHER_ROOT: a root that has otherroot.c as /app and, static, as /static, built there (packaging/matrix).
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
as_root=()
[ "$(id -u)" = 0 ] || as_root=(unshare -r)
"${as_root[@]}" chroot / true 2>/dev/null || { echo 'note: no chroot here' && exit 0; }
root=${MS_OTHER_ROOT:-root}
if [ ! -e "$root" ]; then
	mkdir -p root/bin && cp /bin/sh root/bin/
	gcc -O1 -w -g -o root/app "$SRC/tests/host/otherroot.c" || die 'no program'
	gcc -O1 -w -g -static -o root/static "$SRC/tests/host/otherroot.c" || die 'no static program'
	{ ldd root/app && ldd /bin/sh; } | grep -o '/[^ ]*' | sort -u | while read -r lib; do
		mkdir -p "root${lib%/*}" && cp -L "$lib" "root$lib"
	done
fi
site() { # TRACE
	is "the site in $1" "$(ms-report --json "$1" | jq -c '[.sites[] | select(.stack[0].function == "fill") | .allocations, .live_bytes, .stack[1].function]')" \
		'[1000,100000,"main"]'
}
# recorded APPS COMMAND...: status 7, not a word, and as many of these programs with their blocks
recorded() {
	local apps=$1 said
	shift
	rm -rf run.trace run.trace.d
	said=$(ms-record -q -o run.trace "--leak-check=$leaks" -- "${as_root[@]}" "$@" 2>&1)
	is "status of $leaks $*" "$?" 7
	is "what $leaks $* says" "$said" ''
	is "what $leaks $* allocates" "$(awk -F '\t' '$11 ~ /\/(app|static)$/ { n++; blocks += $7 >= 1000 } END { print n + 0, blocks + 0 }' run.trace.d/index)" "$apps $apps"
}
for leaks in auto yes no; do
	recorded 1 chroot "$root" /app
	site run.trace.d/app.*.trace
	recorded 1 chroot "$root" /static
	recorded 1 sh -c "chroot '$root' /app; exit \$?"
	[ $leaks = yes ] || recorded 3 chroot "$root" /bin/sh -c '/app; /static; exec /app'
done
# shellcheck disable=SC2317 # by wait_for
runs() { [ "$(basename "$(readlink "/proc/$1/exe")")" = "$2" ]; }
# shellcheck disable=SC2317 # by wait_for
answers() { ms-record --tell "$1" flush 2>/dev/null; }
[ "$(id -u)" = 0 ] && for app in app static; do
	mkfifo $app.in
	chroot "$root" /$app wait <$app.in &
	target=$!
	exec 3>$app.in
	wait_for runs $target $app
	ms-record -q -o $app.trace -p $target 3>&- &
	recorder=$!
	wait_for answers $app.trace
	echo >&3 && exec 3>&-
	wait $target
	is "status of $app, attached to" "$?" 7
	wait $recorder || fail "attached to $app: status $?"
	site $app.trace
done
finish
