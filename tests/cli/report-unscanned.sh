#!/bin/sh
# SPDX-License-Identifier: MIT
# Where nothing was scanned for leaks no format has a verdict that is none, and JSON says why; where it was, each has one.
set -eu
cat >leaks.c <<'END'
#include <stdlib.h>
struct node { struct node *next; char more[100]; } *head;
int main(void)
{
	for (int i = 0; i < 400000; i++) {
		struct node *n = malloc(sizeof *n);
		n->next = head;
		head = n;
	}
	return 0;
}
END
gcc -O1 -g -fno-builtin -o leaks leaks.c
ms-record -q --leak-check=auto:50s -o done.trace ./leaks
ms-record -q --leak-check=auto:10ms -o time.trace ./leaks
ms-record -q --leak-check=no -o none.trace ./leaks
ms-record -q --sample=64k -o sampled.trace ./leaks
for name in 'done' time none sampled; do
	ms-snap -q -o $name.db $name.trace
	ms-report --json=$name.json --csv=$name.csv $name.db
	ms-diff $name.db $name.db >diff.db
	ms-report --json=diff-$name.json diff.db
done
# Each reason is said in words.
while IFS='|' read -r state words; do
	sqlite3 time.db "UPDATE scan SET state = '$state'"
	ms-report --leaks time.db | tr -s ' \n' ' ' | grep -qF "not checked for leaks: $words" || {
		echo "$state: $(ms-report --leaks time.db | head -3)"
		exit 1
	}
done <<END
killed|the program was killed, or ended without calling exit()
time|the scan would have taken longer than ms-record --leak-check allows
unreadable|some of the program's memory could not be read
threads|the program's threads could not be stopped
lost|events were lost
memory|the recorder had too little memory for the pointers that it found
stopped|recording was stopped before the program ended
files|the recorder ran out of file descriptors
END
python3 - <<'END'
import csv
import json

STATES = {"done": "done", "time": "time", "none": None, "sampled": "sampled"}
for name, state in STATES.items():
    with open(f"{name}.json", encoding="utf-8") as f:
        report = json.load(f)
    with open(f"diff-{name}.json", encoding="utf-8") as f:
        diff = json.load(f)["diff"]
    with open(f"{name}.csv", encoding="utf-8", newline="") as f:
        rows = list(csv.reader(f))
    scan = report["process"]["leak_scan"]
    assert (scan and scan["state"]) == state, (name, scan)
    assert report["processes"][0]["leak_scan"] == scan, name
    verdict = ["reachable"] if state == "done" else []
    found = {s["verdict"] for s in report["sites"] if "verdict" in s}
    assert sorted(v for v in found if v) == verdict, (name, found)
    assert all(("verdict" in s) == (state == "done") for s in report["sites"] + diff["sites"]), name
    assert ("verdict" in rows[0]) == (state == "done"), (name, rows[0])
    assert rows[1:] and all(len(r) == len(rows[0]) for r in rows), (name, rows)
    assert ("reachable" in open(f"{name}.csv", encoding="utf-8").read()) == (state == "done"), name
    assert state == "done" or rows[0][-2:] == ["retained_bytes", "retained_blocks"] or state == "sampled", rows[0]
    assert (scan or {}).keys() == ({"state", "align", "mask", "ignored_blocks", "root_ranges", "refused_root_ranges"} if state == "done"
                                   else {"state"} if state else set()), scan
END
