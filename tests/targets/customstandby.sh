#!/bin/sh
# SPDX-License-Identifier: MIT
# ms-record --standby --hook: functions are hooked when the command starts, and recorded while somebody records it, in modules that are opened
# meanwhile too; with their names, which the recorder has from the holder.
set -eu
here=$SRC/tests/targets/custom
# shellcheck source=tests/targets/custom/common.sh
. "$here/common.sh"
woken() { # NAME COMMAND OPTIONS OF THE HOLDER: recorded from before the command begins
	name=$1 command=$2
	shift 2
	rm -f "$name.db" "$name.trace" go ready
	mkfifo go
	# shellcheck disable=SC2086
	ms-record --standby "$@" $command started <go >"$name.out" 2>ready &
	holder=$!
	exec 7>go
	until grep -q started ready; do kill -0 $holder && sleep 0.02; done
	target=$(pgrep -P $holder)
	if ms-record -q -o other.trace --hook 'pool_alloc(size) -> ptr' -p "$target" 2>other.err; then fail 'another hook was accepted'; fi
	grep -q 'has to be given to the ms-record --standby that runs it' other.err || fail "another hook: $(cat other.err)"
	ms-record -q -o "$name.trace" -p "$target" 2>"$name.err" &
	recorder=$!
	finish "$name" $holder
}
gcc -O2 -g -o allocators "$here/allocators.c"
./allocators >plain.out
eval "woken allocators ./allocators $(sed "s/.*/--hook '&'/" "$here/allocators.hooks" | tr '\n' ' ')"
cmp plain.out allocators.out || fail 'allocators: another output'
expect allocators "$(heaps allocators "heap <> 'malloc'")" "$(sort plain.out)"
sound allocators

mkdir plugs.d
for plug in a b c; do gcc -O2 -g -shared -fPIC -DPLUG -o plugs.d/$plug.so "$here/plugs.c"; done
gcc -O2 -g -o plugs "$here/plugs.c" -pthread
woken plugs './plugs plugs.d' --hook 'pool_alloc(size) -> ptr' --hook 'pool_free(ptr)'
expect plugs "$(heaps plugs "heap <> 'malloc'")" "$(cat plugs.out)"
sound plugs

# nobody records: it passes
ms-record --standby --hook 'pool_alloc(_, size) -> ptr' ./allocators >asleep.out
cmp plain.out asleep.out || fail 'asleep: another output'
# what cannot be hooked is not run
cat >short.c <<'END'
#include <stdio.h>
__asm__(".globl short_one\n.type short_one, @function\nshort_one:\n\txor %eax, %eax\n\tret\n.size short_one, .-short_one\n"
	".globl other\n.type other, @function\nother:\n\tmov %rdi, %rax\n\tret\n.size other, .-other\n");
int main(void) { return puts("it ran") < 0; }
END
gcc -O2 -o short short.c
if ms-record --standby --hook 'short_one(size) -> ptr' ./short >short.out 2>short.err; then fail 'short: not refused'; else expect short $? 125; fi
grep -q "^ms-record: cannot hook 'short_one': its code is too short for a jump" short.err || fail "short: $(cat short.err)"
if [ -s short.out ]; then fail 'short: it was run'; fi
