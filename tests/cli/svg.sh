#!/bin/sh
# SPDX-License-Identifier: MIT
# ms-report --svg: well-formed, without script, sums as the report's, names that may do nothing, texts inside their boxes.
set -eu
# shellcheck source=tests/cli/report/fixtures.sh
. "$SRC/tests/cli/report/fixtures.sh"
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
cat >svg.py <<'P'
import sys
import xml.etree.ElementTree as E
NS = "{http://www.w3.org/2000/svg}"
def read(path):
    root = E.parse(path).getroot()
    assert root.tag == NS + "svg", root.tag
    for e in root.iter():
        assert e.tag.removeprefix(NS) in ("svg", "title", "style", "g", "rect", "text", "path", "line"), e.tag
        assert not [k for k in e.attrib if k.startswith("on") or "href" in k], e.attrib
    assert "prefers-color-scheme:dark" in root.find(NS + "style").text
    return root
def flame(path):
    """[(value, title, x, y, width)], the whole first."""
    boxes = []
    for g in read(path).iter(NS + "g"):
        r = {k: float(v) for k, v in g.find(NS + "rect").attrib.items() if k != "class"}
        boxes.append((int(g.get("data-value")), g.find(NS + "title").text, r["x"], r["y"], r["width"]))
        for label in g.findall(NS + "svg"):  # clipped by a box of its own, which is no wider
            assert float(label.get("width")) <= r["width"] + .1 and float(label.get("x")) >= r["x"] - .1, label.attrib
    rows = {}
    for box in boxes:
        rows.setdefault(box[3], []).append(box)
    for row in rows.values():
        row.sort(key=lambda b: b[2])
        for a, b in zip(row, row[1:]):
            assert a[2] + a[4] <= b[2] + .02, (a, b)
        assert sum(b[0] for b in row) <= boxes[0][0], row
    return boxes
if __name__ == "__main__":
    boxes = flame(sys.argv[1])
    want = int(sys.argv[2])
    assert boxes[0][0] == want, boxes[0]
    below = sorted({b[3] for b in boxes})[1:2]
    wide = sum(b[4] for b in boxes if b[3] in below)
    assert not want or boxes[0][4] - wide < 6, "what lies below the whole is less"
    for words in sys.argv[3:]:
        assert any(words in b[1] for b in boxes), (words, [b[1] for b in boxes])
P
json() { # FILTER DB: a figure of the JSON report
	ms-report --allow-partial --json "$2" | jq "$1"
}
ms-report --svg=flame run.db >run.svg
python3 svg.py run.svg 3405476 || die 'the peak'
for db in run hidden two lost cut allhidden; do
	ms-report -q --allow-partial --svg=flame $db.db >$db.svg || die "$db.db"
	python3 svg.py $db.svg "$(ms-report -q --allow-partial --folded --metric peak $db.db | awk '{ sum += $NF } END { print sum + 0 }')" || die "the peak of $db.db"
	ms-report -q --allow-partial --svg=flame --metric allocated $db.db >$db.svg
	python3 svg.py $db.svg "$(json .totals.allocated_bytes $db.db)" || die "what $db.db allocated"
	ms-report -q --allow-partial --svg=timeline $db.db >$db.svg
	python3 -c "import svg; svg.read('$db.svg')" || die "the timeline of $db.db"
done
ms-report --svg=flame --metric live hidden.db >hidden.svg
python3 svg.py hidden.svg "$(json .totals.unfreed_bytes hidden.db)" '[hidden by filters]' || die 'what is hidden'
ms-report --svg=flame --leaks --at 1.5s run.db >at.svg
python3 svg.py at.svg 1177584 'orderd::Arena::Arena  src/arena.cpp:19  1.0 MiB in 1 block, 89 %' || die '--at'
ms-report --svg=flame --allocated run.db >run.svg
python3 svg.py run.svg 10368060 'main  src/main.cpp:31' || die 'what was allocated'
grep -q '_start' run.svg && die 'the runtime is shown'
fixture odd.db "UPDATE frame SET function = '</title><script>&' || char(34, 27, 8238) || '<x', file = 'a<b&.c' WHERE function LIKE 'orderd::Arena%'"
ms-report --svg=flame --full-names odd.db >odd.svg
python3 svg.py odd.svg 3405476 '</title><script>&"\x1b\u{202e}<x  a<b&.c:19' || die 'a hostile name'
ms-report --svg=flame --allocated --full-names run.db | grep -q '<title>_start ' || die '--full-names'
ms-report --allow-partial --svg=timeline cut.db 2>/dev/null | grep -q '>INCOMPLETE: ' || die 'what is incomplete'
ms-report --svg=timeline run.db >time.svg
grep -q 'orderd: live heap (filled) and RSS (line) over time, peaks: heap 3.2 MiB at 2.500 s, RSS 9.0 MiB' time.svg || die "the timeline's title"
[ "$(grep -c '<g><title>.*: live .* RSS ' time.svg)" = 240 ] || die "the timeline's figures"

# several at once, into files
ms-report --svg=flame:a.svg --svg=timeline:b.svg --text=c.txt run.db
ms-report --svg=flame run.db | cmp - a.svg
cmp b.svg time.svg
test -s c.txt

# a deep stack, and what is too small to be seen
cat >deep.c <<'C'
#include <stdlib.h>
void *kept[9];
#define F(n, m) __attribute__((noinline)) void n(int i) { m(i + 1); kept[8] = 0; }
__attribute__((noinline)) void f0(int i) { kept[i & 7] = malloc(100000); kept[8] = 0; }
C
i=0
while [ $i -lt 150 ]; do
	echo "F(f$((i + 1)), f$i)" >>deep.c
	i=$((i + 1))
done
echo 'int main(void) { f150(0); kept[7] = malloc(1); return 0; }' >>deep.c
gcc -g -O1 -o deep deep.c
ms-record -q -o deep.trace ./deep
ms-report --svg=flame deep.trace >deep.svg
python3 svg.py deep.svg 100001 'f60 ' || die 'a deep stack'
[ "$(grep -c '<g ' deep.svg)" = 100 ] || die "a deep stack has $(grep -c '<g ' deep.svg) boxes"

# what is refused
refused() { # WORDS OPTION...
	words=$1
	shift
	ms-report "$@" >out 2>err && die "$* is taken"
	[ ! -s out ] || die "$* writes something"
	grep -qF -e "$words" err || die "$*: $(cat err)"
}
refused "bad --export 'svg-x.svg': expected folded, svg-flame, svg-timeline, pprof" --svg=x.svg run.db
refused "option '--svg' needs" --svg
refused "no file name after '--export=svg-flame:'" --svg=flame: run.db
refused 'only one format can go to standard output' --svg=flame --svg=timeline run.db
refused '--tree is not available in that format' --svg=flame --tree run.db
refused '--metric is for' --svg=timeline --metric live run.db
ms-diff run.db run.db >diff.db
refused '--export=svg-flame shows one run: for a comparison use --html or --export=folded' --svg=flame diff.db
