#!/bin/sh
# SPDX-License-Identifier: MIT
# LeakSanitizer finds the same leaks in the small programs, block by block, but where leakblocks.py says why not; and a suppression
# hides the same of them.
set -eu
if [ "${MS_CHECK_ALL:-0}" != 1 ]; then
	echo "only with make check-all"
	exit 77
fi
command -v clang >/dev/null || { echo "clang is not installed"; exit 77; }
leaks=$SRC/tests/targets/leaks
mkdir lsan
flags="-O1 -g -fno-builtin -fno-optimize-sibling-calls -fno-inline -Wno-unknown-attributes -D_GNU_SOURCE -I$SRC -I$leaks"
for p in leaks leaksmore leaksthreads; do
	# shellcheck disable=SC2086
	clang $flags -fsanitize=leak -std=gnu11 -o lsan/$p "$leaks/$p.c" -lpthread -ldl
done
# shellcheck disable=SC2086
clang++ $flags -fsanitize=leak -std=gnu++17 -o lsan/leakscxx "$leaks/leakscxx.cc" -lpthread
# shellcheck disable=SC2086
clang $flags -std=gnu11 -fPIC -shared -o lsan/leaksmodule.so "$leaks/leaksmodule.c"
python3 "$SRC/tests/host/leakblocks.py" sanitizer "$TB/targets/leaks" lsan
python3 "$SRC/tests/host/leaksuppress.py" sanitizer "$TB/targets/leaks" lsan
