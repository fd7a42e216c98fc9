#!/bin/sh
# SPDX-License-Identifier: MIT
# ms-record --hook in modules that are opened while the program runs: launched, attached to, in forked children; loaded again at the same
# place, out of reach of what was there. Compared exactly, from the first call, which is a constructor's.
set -eu
here=$SRC/tests/targets/custom
# shellcheck source=tests/targets/custom/common.sh
. "$here/common.sh"
mkdir plugs.d
for plug in a b c; do gcc -O2 -g -shared -fPIC -DPLUG -o plugs.d/$plug.so "$here/plugs.c"; done
gcc -O2 -g -o plugs "$here/plugs.c" -pthread
own="heap <> 'malloc'"
hooks="--hook 'pool_alloc(size) -> ptr' --hook 'pool_free(ptr)'"

./plugs plugs.d >plain.out
eval "record launched $hooks ./plugs plugs.d"
cmp plain.out launched.out || fail 'launched: another output'
expect launched "$(heaps launched "$own")" "$(cat plain.out)"
expect 'launched: hooks' "$(ask launched 'SELECT hooks_missing FROM process')" '[]'
ms-report launched.db >launched.report
sound launched
eval "attached attached './plugs plugs.d' $hooks"
expect attached "$(heaps attached "$own")" "$(cat attached.out)"
sound attached
# until a module has it the hook waits, and says so
grep -q '^hooks_waiting 2$' told || fail "status: $(cat told)"
expect waits "$(grep -c '^ms-record: no module has .* yet: it will be hooked when a module that has it is loaded$' attached.err)" 2

# children, with what their parent had hooked when they were forked
./plugs plugs.d forks >plain.out
eval "record forks --follow=all $hooks ./plugs plugs.d forks"
expect forks "$(heaps forks "$own")" "$(cat plain.out)"
for i in 1 2; do
	ms-snap -q -o child.db forks.trace.d/*."$i".trace
	n=$((49 + i))
	expect "child $i" "$(heaps child "$own")" "pool_alloc|$((n + 3))|$((n + 3))|$((30 + n * (n + 1) / 2))|0"
	sound child
done

# what a command becomes, into which nothing can be preloaded either
gcc -O2 -g -fno-builtin -o own "$here/plugs.c" "$SRC/tests/host/inject_own.c" -pthread
printf '#include <unistd.h>\nint main(int n, char **v) { (void)n; return execv(v[1], v + 1); }\n' >become.c
gcc -O2 -fno-builtin -o become become.c "$SRC/tests/host/inject_own.c"
./own plugs.d >plain.out
eval "record become $hooks ./become ./own plugs.d"
cmp plain.out become.out || fail 'become: another output'
ms-snap -q -o own.db become.trace.d/own.*.trace
expect become "$(heaps own "$own")" "$(cat plain.out)"
expect 'become: hooks' "$(ask own 'SELECT hooks_missing FROM process')" '[]'

# one that no module has
ms-record -o none.trace --hook 'nobody(size) -> ptr' --hook 'pool_free(ptr)' ./plugs plugs.d >none.out 2>none.err
grep -q "'nobody' was not found in any program or loaded module" none.err || fail "none: $(cat none.err)"
expect 'none: snapshot' "$(ms-snap -q -o none.db none.trace && ask none 'SELECT hooks_missing FROM process')" '["nobody"]'
ms-report none.db | grep -q "^\(Quality  .*\|         .*\)--hook: no module had the function 'nobody'" || fail "none: $(ms-report none.db | head -3)"
if grep -q 'no module had' launched.report; then fail 'launched: a hook is said to be missing'; fi
# one that cannot be hooked there: the program goes on
cat >short.c <<'END'
__asm__(".globl short_one\n.type short_one, @function\nshort_one:\n\txor %eax, %eax\n\tret\n.size short_one, .-short_one\n"
	".globl other\n.type other, @function\nother:\n\tmov %rdi, %rax\n\tret\n.size other, .-other\n");
void work(int n);
void work(int n) { (void)n; }
END
gcc -O2 -shared -fPIC -o plugs.d/a.so short.c
ms-record -o short.trace --hook 'short_one(size) -> ptr' ./plugs plugs.d >short.out 2>short.err
grep -q "'short_one' in 'a.so', loaded at run time, cannot be hooked: its code is too short for a jump" short.err || fail "short: $(cat short.err)"
