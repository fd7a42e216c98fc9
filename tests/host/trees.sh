#!/bin/bash
# SPDX-License-Identifier: MIT
# Trees of processes: a parallel build, thousands of short children, wrappers. Output and status are as without the recorder, every program is
# in the index, the snapshot agrees with each trace by itself, and nothing is left over.
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
cd "$(pwd -P)" || exit 1

# ---- a build of this project by make, two jobs at a time: all of ms-filter in check-all, else the layer below it with a program ----
mkdir copy && cp -r "$SRC"/Makefile "$SRC"/format copy || exit 1
if [ -n "${MS_CHECK_ALL-}" ]; then
	cp -r "$SRC"/libcommon "$SRC"/ms-filter copy
	tool=ms-filter
else
	mkdir -p copy/ms-tick copy/libcommon/snapshot
	cp "$SRC"/libcommon/snapshot/columns* "$SRC/libcommon/snapshot/schema.sql" copy/libcommon/snapshot
	tool=ms-tick
	cat >copy/ms-tick/main.c <<'END'
#include "format/trace.h"
int main(void)
{
	return MS_TRACE_TICK_NS != 100000;
}
END
fi
build() { # COMMAND...: the recorder, or nothing
	(cd copy && rm -rf build && "$@" make MODE=release -j2 V=1 CFLAGS=-O0 build/release/bin/$tool 2>&1)
	echo "status $?"
}
build >plain.out
cp copy/build/release/bin/$tool plain.bin
build "$BIN/ms-record" -q -o ../build.trace >recorded.out
# Two jobs at once: the order of lines is theirs.
diff <(sort plain.out) <(sort recorded.out) || fail 'make says something else'
cmp plain.bin copy/build/release/bin/$tool || fail 'the program built is another'
is 'the last line' "$(tail -n 1 recorded.out)" 'status 0'
compiled=$(grep -c '^gcc .* -c -o' recorded.out)
[ "$compiled" -gt 7 ] || fail "only $compiled files were compiled"
python3 "$SRC/tests/host/trees.py" images build.trace >programs || fail 'no index'
program() { # NAMES...: how many images of them
	local n=0 name
	for name; do
		n=$((n + $(sed -n "s/^\([a-z0-9_]*-linux-gnu-\)*$name\([.-][0-9a-z]*\)* //p" programs | awk '{ s += $1 } END { print s + 0 }')))
	done
	echo $n
}
is 'cc1 in the index' "$(program cc1)" "$compiled"
is 'as in the index' "$(program as)" "$compiled"
is 'gcc in the index' "$(program gcc)" $((compiled + 2)) # it links, and says for which processor
is 'collect2 and ld in the index' "$(program collect2) $(program ld)" '1 1'
is 'make in the index' "$(program make gmake)" 1
is 'ar in the index' "$(program ar)" "$(grep -c '; ar crs\|^ar crs' recorded.out | sed 's/^0$/2/')"
python3 "$SRC/tests/host/trees.py" tree build.trace || fail 'the snapshot of the build is wrong'
"$BIN/ms-report" --by process --limit 3 build.trace build.trace.d >report || fail "ms-report: status $?"
grep -q 'ld.bfd\|cc1' report || fail "the worst is not shown: $(cat report)"

# More traces than files may be open: the same bytes.
"$BIN/ms-snap" -q -o many.db build.trace build.trace.d || fail 'ms-snap of the build'
[ "$(find build.trace.d -name '*.trace' | wc -l)" -gt 20 ] || fail 'too few traces'
(ulimit -n 20 && "$BIN/ms-snap" -q -o few.db build.trace build.trace.d) || fail 'ms-snap with few open files'
cmp many.db few.db || fail 'few open files give another snapshot'

# ---- 2,000 short children: nothing fails, nothing is left ----
cat >children.sh <<'END'
#!/bin/sh
i=0
while [ $i -lt 1000 ]; do
	/bin/true || echo "true: $?"
	(exit $((i % 7))) || code=$((code + $?))
	i=$((i + 1))
done
echo "$i $code"
END
chmod +x children.sh
shared() { find /dev/shm -maxdepth 1 -user "$(id -u)" -name '*memscope*' 2>/dev/null; }
runs_here() { # programs that run in this folder, but for this test's own shells and tools
	local p
	for p in /proc/[0-9]*; do
		[ "$(readlink "$p/cwd")" != "$PWD" ] || readlink "$p/exe"
	done | grep 'ms-record\|dash\|/true'
}
./children.sh >plain.out
echo $? >>plain.out
: >err
before=$(echo *)
"$BIN/ms-record" -o children.trace ./children.sh >recorded.out 2>err
echo $? >>recorded.out
cmp plain.out recorded.out || fail "2,000 children: $(cat recorded.out), not $(cat plain.out): $(cat err)"
is 'recorded true' "$(python3 "$SRC/tests/host/trees.py" images children.trace | sed -n 's/^true //p')" 1000
is 'files left' "$(echo * | sed 's/ *children[.]trace[.d]*//g')" "$before"
is 'files of trivial programs' "$(ls children.trace.d)" index
is 'shared memory left' "$(shared)" ''
is 'processes left' "$(runs_here)" ''
grep -q '; [0-9]* trivial ones not kept$' err || fail "not said: $(cat err)"

# ---- children that fork and go on: what they inherited is what their parent held at the fork ----
cat >fork.pl <<'END'
my @kept = map { "x" x (300 + $_) } 1 .. 3000;
for my $n (1 .. 3) {
	push @kept, "z" x 100000;
	next if fork;
	my @own = map { "y" x (200 + $_) } 1 .. 1000 * $n;
	@kept = ();
	print scalar(@own), "\n";
	exit 0;
}
wait for 1 .. 3;
END
is 'output of forked children' "$("$BIN/ms-record" -q -o fork.trace perl fork.pl 2>&1 | sort -n | tr '\n' ' ')" '1000 2000 3000 '
python3 "$SRC/tests/host/trees.py" tree fork.trace || fail 'the snapshot of forked children is wrong'
is 'forked children' "$(python3 "$SRC/tests/host/trees.py" forks fork.trace)" '3 children inherited what their parents held'

# ---- wrappers: FILE's end names what the command became, and the report is about that ----
cat >inner.py <<'END'
#!/usr/bin/env -S python3 -S
import sys
kept = [bytes(1000 + i) for i in range(1000)]
print(len(kept), *sys.argv[1:])
END
chmod +x inner.py
printf '#!/bin/sh\nexec ./inner.py "$@"\n' >outer.sh && chmod +x outer.sh
printf 'all:\n\t@exec ./outer.sh made\n' >wrapper.mk
wrapped() { # WANT-OUTPUT COMMAND...
	local want=$1
	shift
	is "output of $*" "$(PYTHONMALLOC=malloc "$BIN/ms-record" -q -o w.trace "$@" 2>&1)" "$want"
	PYTHONMALLOC=malloc "$BIN/ms-snap" -q -o w.db w.trace || fail "$*: ms-snap: status $?"
	case $(sqlite3 w.db 'SELECT exe FROM process ORDER BY id DESC LIMIT 1') in
	*python3*) ;;
	*) fail "$*: the last program is $(sqlite3 w.db 'SELECT exe FROM process')" ;;
	esac
	is "processes of $*" "$(sqlite3 w.db "SELECT count(DISTINCT pid), count(*) > 1, min(coalesce(parent, id - 1) = id - 1) FROM process")" '1|1|1'
	"$BIN/ms-report" w.trace >report 2>&1 || fail "$*: ms-report: status $?: $(cat report)"
	grep -q 'python3' report || fail "$*: the report is not about python3: $(head -n 3 report)"
}
wrapped '1000 a b' sh -c 'exec ./inner.py a b'
wrapped '1000 x' env A=1 ./inner.py x
wrapped '1000 one two' ./outer.sh one two
wrapped '1000 n' env -u B sh -c 'exec env A=1 nice -n 0 ./outer.sh n'

# make starts it as a child: FILE is make's, the tree has all.
is 'output of make' "$(PYTHONMALLOC=malloc "$BIN/ms-record" -q -o w.trace make -s -f wrapper.mk 2>&1)" '1000 made'
python3 "$SRC/tests/host/trees.py" tree w.trace || fail 'the tree under make is wrong'
finish
