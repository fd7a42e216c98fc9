#!/bin/bash
# SPDX-License-Identifier: MIT
# A leak in a module of Python that is written in C: lines of Python and of C in one stack, where tracemalloc has neither the block nor the
# function, and heaptrack, where it is installed, no Python.
set -eu
python=/usr/bin/python3
version=$($python -c 'import sys; print("%d.%d" % sys.version_info[:2])') || exit 1
case $version in
3.11 | 3.13) ;;
*)
	echo "needs Python 3.11 or 3.13, this one is $version"
	exit 77
	;;
esac
fail() {
	echo "FAILED: $1"
	exit 1
}
export PYTHONPATH=$TB/host # leaky.so
cat >load.py <<'END'
import leaky
kept = []
def parse_line(n):
    return leaky.parse(n)
def load():
    for n in range(100):
        kept.append(bytearray(1999))
        parse_line(n)
load()
END
printf 'import os\nexec(compile(open("load.py").read(), "load.py", "exec"))\nos._exit(0)\n' >run.py

ms-record -q -o t.trace $python run.py
ms-snap -q -o t.db t.trace
site() { sqlite3 t.db "SELECT $1 FROM site s JOIN site_stat t ON t.site = s.id JOIN snapshot p ON p.id = t.snapshot WHERE p.label = 'end' AND s.min_size = 3000"; }
[ "$(site 't.live_blocks, t.live_bytes')" = '100|300000' ] || fail "of 3000 bytes there are $(site 't.live_blocks, t.live_bytes')"
# of the last ones an address may be left on the stack
[ "$(sqlite3 t.db "SELECT sum(blocks) >= 95 FROM site_verdict WHERE verdict = 'unreachable' AND site = $(site s.id)")" = 1 ] ||
	fail "unreachable are $(sqlite3 t.db "SELECT verdict, blocks FROM site_verdict WHERE site = $(site s.id)")"
ms-report --site "$(site s.id)" t.db >said
sed -n '/^Stack/,$p' said | grep -o '[A-Za-z_<>]* *[a-z_]*\.\(c\|py\):[0-9]*' | tr -s ' ' | head -n 6 >stack
cat >expected <<'END'
make_copy python_leak.c:35
parse python_leak.c:47
parse_line load.py:4
load load.py:8
<module> load.py:9
<module> run.py:2
END
diff expected stack || fail 'not this stack'
ms-filter --where 'live_blocks = 100 and min_size >= 2000' -o some.db t.db
ms-report --csv --by language some.db | cut -d, -f1-3 >languages
[ "$(sed -n '2,3p' languages | tr '\n' ' ')" = 'C,300000,100 Python,200000,100 ' ] || fail "by language: $(cat languages)"

cat >traced.py <<'END'
import tracemalloc
tracemalloc.start(25)
exec(compile(open("load.py").read(), "load.py", "exec"))
for t in tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, "load.py")]).statistics("lineno"):
    print(t.traceback[0].lineno, t.size)
END
$python traced.py >traced
[ "$(awk '$1 == 7 && $2 >= 200000' traced | wc -l)" = 1 ] || fail "tracemalloc: $(cat traced)"
[ "$(awk '{ s += $1 == 7 ? 0 : $2 } END { print s < 3000 }' traced)" = 1 ] || fail "tracemalloc has the leak: $(cat traced)"
if ! command -v heaptrack >/dev/null; then
	echo 'note: without heaptrack'
	exit 0
fi
heaptrack -o h $python load.py >/dev/null 2>&1
heaptrack_print -l 1 -p 0 -a 0 -T 0 h.* >printed 2>/dev/null
[ "$(grep -A 2 '^300.00K leaked over 100 calls from' printed | sed -n 's/^ *at .*\///p' | head -n 1)" = python_leak.c:35 ] || fail 'heaptrack has another leak'
! grep 'load\.py:\|parse_line' printed || fail 'heaptrack names functions of Python'
