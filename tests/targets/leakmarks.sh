#!/bin/sh
# SPDX-License-Identifier: MIT
# What a program says of its blocks by ms_ignore and ms_root: none of these is a leak, all others are, and the report says how many.
set -eu

# record PROGRAM NAME OPTION...: the snapshot of a run in that way, as run.db.
record() {
	program=$TB/targets/leaks/$1
	name=$2
	shift 2
	rm -rf run.trace run.trace.d
	ms-record -q --leak-check=auto:50s "$@" -o run.trace "$program" "$name" >out
	ms-snap -o run.db run.trace
}

# want WHAT RIGHT SEEN
want() {
	test "$2" = "$3" || {
		echo "$program $name: $1: $3, not $2"
		exit 1
	}
}

# blocks FUNCTION: live ones that it allocated, and those of them that are unreachable.
blocks() {
	sqlite3 -separator ' ' "${db:-run.db}" "SELECT coalesce(sum(v.blocks), 0),
		coalesce(sum(v.blocks) FILTER (WHERE v.verdict IN ('unreachable', 'indirect')), 0)
		FROM site_verdict v JOIN place p ON p.site = v.site WHERE p.function = '$1' OR p.function LIKE '$1(%'"
}

# scan: blocks ignored, ranges that are roots, ranges that were not kept.
scan() {
	sqlite3 -separator ' ' "${db:-run.db}" "SELECT state, ignored_blocks, root_ranges, refused_root_ranges FROM scan WHERE label = 'end'"
}

said() {
	ms-report --leaks "${db:-run.db}" | tr -s ' \n' ' ' | grep -qF "$1" || {
		echo "$program $name: not said: $1"
		ms-report --leaks "${db:-run.db}"
		exit 1
	}
}

for p in leakmarks leakmarkscxx; do
	record $p ignored
	want 'tree' '70 0' "$(blocks node)"
	want 'others' '7 3' "$(blocks plain)"
	want scan 'done 14 0 0' "$(scan)"
	said 'Scan 14 blocks ignored (ms_ignore) bytes'

	record $p reused
	want 'made again' '1 1' "$(blocks again)"
	want 'ignored' '1 0' "$(blocks plain)"
	want 'reallocated' '1 1' "$(blocks reused)"
	want scan 'done 1 0 0' "$(scan)"
	want 'the address' '' "$(cat out)"

	record $p custom
	want 'malloc' '1 0' "$(blocks plain)"
	want 'its own' '2 0' "$(blocks custom)"
	want 'in these' '2 0' "$(blocks pointed)"
	want scan 'done 3 0 0' "$(scan)"

	record $p nothing
	want 'in nothing' '10 10' "$(blocks pointed)"
	want scan 'done 0 0 0' "$(scan)"
	ms-report --leaks run.db >report
	test "$(grep -c '^Scan' report)" = 0

	record $p mapped
	want 'in a root' '10 0' "$(blocks pointed)"
	want scan 'done 0 1 0' "$(scan)"
	said 'Scan 1 range is a root (ms_root) bytes'

	record $p part
	want 'partly in roots' '10 5' "$(blocks pointed)"
	want scan 'done 0 2 0' "$(scan)"
	said 'Scan 2 ranges are roots (ms_root) bytes'

	record $p others
	want 'in a file and a block' '3 0' "$(blocks pointed)"
	want 'that block' '1 1' "$(blocks plain)"
	want scan 'done 0 2 0' "$(scan)"

	record $p taken_back
	want 'taken back' '10 10' "$(blocks pointed)"
	want scan 'done 0 0 0' "$(scan)"

	record $p many
	want 'many' '2 2' "$(blocks pointed)"
	want scan 'done 0 4096 1' "$(scan)"
	said '1 range given to ms_root NOT SCANNED'

	record $p forked --follow=all
	want 'parent' '1 0' "$(blocks plain)"
	want scan 'done 1 2 0' "$(scan)"
	db=kid.db
	ms-snap -o kid.db "$(find run.trace.d -name '*.trace')"
	want 'child: in its parent'\''s root' '1 0' "$(blocks pointed)"
	want 'child: ignored' '9 0' "$(blocks node)"
	want 'child: others' '2 2' "$(blocks plain)"
	want 'child: scan' 'done 3 1 0' "$(scan)"
	db=
	# Of both together what each said counts.
	ms-snap -o both.db run.trace run.trace.d
	db=both.db
	said 'Scan 4 blocks ignored (ms_ignore), 3 ranges are roots (ms_root)'
	db=

	record $p threads
	want 'by another thread' '1000 0' "$(blocks plain)"
	want scan 'done 1000 0 0' "$(scan)"
done

# Asked for while it runs: what was said before it was attached to counts if it was on standby; else nothing that it says does.
mkfifo to from
attached() {
	"$@" "$TB/targets/leaks/leakmarks" early <to >from &
	target=$!
	exec 7>to 8<from
	read -r pid <&8
	ms-record -q -o run.trace -p "$pid" &
	recorder=$!
	tries=0
	until ms-record --tell run.trace status >/dev/null 2>&1; do
		tries=$((tries + 1))
		test $tries -lt 6000
		sleep 0.05
	done
	echo >&7
	read -r ready <&8
	test "$ready" = ready
	ms-record -q --tell run.trace leak-check >answer
	echo >&7
	exec 7>&- 8<&-
	wait $target
	wait $recorder
	ms-snap -o run.db run.trace
}
program=leakmarks name=early
attached ms-record --standby
want 'in a root and a block of before' '2 0' "$(blocks pointed)"
want 'ignored' '3 0' "$(blocks node)"
want 'others' '2 2' "$(blocks plain)"
want 'scan' 'done 1 1 0' "$(sqlite3 -separator ' ' run.db "SELECT state, ignored_blocks, root_ranges, refused_root_ranges FROM scan")"
attached
want 'attached: in a root and a block of before' '2 1' "$(blocks pointed)"
want 'attached: ignored' '3 3' "$(blocks node)"

# All formats name what was in force; align and mask of --leak-check too.
record leakmarks part --leak-align=4 --leak-mask=0xff00000000000000
want 'partly in roots, align 4' '10 5' "$(blocks pointed)"
said 'Scan for pointers at multiples of 4 bytes (--leak-check=align:4) pointer bits 0xff00000000000000 ignored (--leak-check=mask), 2 ranges are roots (ms_root)'
ms-report --leaks --md run.db | sed 's|\\||g' | grep -qxF 'Scan: for pointers at multiples of 4 bytes (--leak-check=align:4), pointer bits 0xff00000000000000 ignored (--leak-check=mask), 2 ranges are roots (ms_root)'
ms-report --html=page.html run.db
ms-report --json=report.json run.db
PYTHONPATH=$SRC/tests/cli/html PYTHONDONTWRITEBYTECODE=1 python3 -c '
import json, page
with open("report.json", encoding="utf-8") as f:
    report = json.load(f)
wanted = {"state": "done", "align": 4, "mask": "0xff00000000000000", "ignored_blocks": 0, "root_ranges": 2, "refused_root_ranges": 0}
assert [p["leak_scan"] for p in [report["process"]] + report["processes"]] == [wanted, wanted], report["process"]
terms = page.Page("page.html").json["scan_terms"]
assert terms[2:] == ["2 ranges are roots (ms_root)"] and len(terms) == 3, terms
'
