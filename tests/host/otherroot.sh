#!/bin/bash
# SPDX-License-Identifier: MIT
# A program in another root, where the recorder's library is not, is recorded however it is run, and prints what it prints without the recorder.
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
as_root=()
[ "$(id -u)" = 0 ] || as_root=(unshare -r)
"${as_root[@]}" chroot / true 2>/dev/null || { echo 'note: no chroot here' && exit 0; }
cat >app.c <<'END'
#include <stdlib.h>
static void *volatile kept[1000];
__attribute__((noinline)) static void fill(void)
{
	for (int i = 0; i < 1000; i++)
		kept[i] = malloc(100);
}
int main(void)
{
	fill();
	return 7;
}
END
mkdir root
for how in app static; do
	gcc -O1 -w -g "$([ $how = static ] && echo -static || echo -fPIE)" -o root/$how app.c || die "no $how"
done
{ ldd root/app && ldd /bin/sh; } | grep -o '/[^ ]*' | sort -u | while read -r lib; do
	mkdir -p "root${lib%/*}" && cp -L "$lib" "root$lib"
done
mkdir -p root/bin && cp /bin/sh root/bin/
# recorded APPS COMMAND...: status 7, not a word, and 1,000 blocks of each app
recorded() {
	local apps=$1 said
	shift
	rm -rf run.trace run.trace.d
	said=$(ms-record -q -o run.trace "${options[@]}" -- "${as_root[@]}" "$@" 2>&1)
	is "status of ${options[*]} $*" "$?" 7
	is "what ${options[*]} $* says" "$said" ''
	is "what ${options[*]} $* allocates" "$(awk -F '\t' '$11 ~ /root\/(app|static)$/ { n++; blocks += $7 >= 1000 } END { print n + 0, blocks + 0 }' \
		run.trace.d/index)" "$apps $apps"
}
for leaks in auto yes no; do
	options=("--leak-check=$leaks")
	recorded 1 chroot root /app
	recorded 1 chroot root /static
	recorded 1 sh -c 'chroot root /app; exit $?'
	[ $leaks = yes ] || recorded 3 chroot root /bin/sh -c '/app; /static; exec /app'
done
recorded 1 chroot root /app
ms-report --json run.trace.d/app.*.trace | jq -e '[.sites[] | select(.stack[0].function == "fill") | .live_bytes] == [100000]' >said || fail "the site: $(cat said)"
finish
