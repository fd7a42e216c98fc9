#!/bin/sh
# SPDX-License-Identifier: MIT
# A program of 100,000 sites, none of which has a part of its peak that says anything: two commands, and the first screen has the five files that
# hold most, with their shares, as text, as Markdown and on the page.
set -eu
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$SRC/tests/cli/html:$SRC/tests/cli/answers"
# 40 files of 25 functions that allocate on 10 lines, each called from 10 lines: 2,500 sites a file. The first five have large blocks.
mkdir src
awk 'BEGIN {
	print "void *kept[100000];\nint n;" >"src/main.c"
	for (f = 0; f < 40; f++) {
		part = sprintf("src/part%02d.c", f)
		print "#include <stdlib.h>\nextern void *kept[];\nextern int n;" >part
		for (k = 0; k < 25; k++) {
			printf "void part%02d_%d(void)\n{\n", f, k >part
			for (i = 0; i < 10; i++)
				printf "\tkept[n++] = malloc(%d);\n", f < 5 ? 600 - 100 * f : 40 >part
			print "}" >part
			printf "void part%02d_%d(void);\n", f, k >"src/main.c"
		}
	}
	print "int main(void)\n{" >"src/main.c"
	for (f = 0; f < 40; f++)
		for (k = 0; k < 25; k++)
			for (i = 0; i < 10; i++)
				printf "\tpart%02d_%d();\n", f, k >"src/main.c"
	print "}" >"src/main.c"
}'
(cd src && printf '%s\n' ./*.c | xargs -n 20 gcc -O0 -g -c && gcc -o ../sites ./*.o)
ms-record -q -o sites.trace ./sites
ms-report sites.trace >text
ms-report --md sites.trace >md
ms-report -q --html=sites.html sites.trace
python3 - <<'END'
import re
from page import Page

total = 2500 * (600 + 500 + 400 + 300 + 200 + 35 * 40)


def words(f):
    """As each format says what a file of the first five has."""
    size, share = 2500 * (600 - 100 * f), 2500 * (600 - 100 * f) * 100 / total
    return (f"src/part{f:02}.c", f"{share:.0f} %" if share >= 10 else f"{share:.1f} %",
            f"{size / 2**20:.1f} MiB" if size >= 2**20 else f"{size / 2**10:.1f} KiB", "2,500", "2,500")


with open("text", encoding="utf-8") as f:
    text = f.read().split("\n")
with open("md", encoding="utf-8") as f:
    md = f.read().split("\n")
heading = r"PEAK at .*: 8\.1 MiB, 100,000 blocks, 100,000 sites by file"
found = {
    "text": (text, [re.sub(r" {2,}", "|", r).split("|") for r in text]),
    "markdown": (md, [re.split(r" *\| *", r.strip("| ")) for r in md]),
}
lists = [x for x in Page("sites.html").json["lists"] if x["id"] == "peak"]
found["page"] = [x["title"] for x in lists], [[r["name"], *r["cells"], *r["more"]] for x in lists for r in x["rows"]]
for name, (lines, rows) in found.items():
    at = next((i for i, x in enumerate(lines) if re.match(r"[# ]*" + heading, x)), None)
    assert at is not None, f"{name}: {lines[:40]}"
    first = [r for r in (rows[at:] if name != "page" else rows) if "src/part0" in r[0]][:5]
    print(name, *first, sep="\n\t")
    for f, row in enumerate(first):
        assert all(w in " | ".join(row) for w in words(f)), f"{name}: no {words(f)} in {row}"
    assert len(first) == 5, f"{name}: {rows}"
END
