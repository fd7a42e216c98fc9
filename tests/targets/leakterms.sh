#!/bin/sh
# SPDX-License-Identifier: MIT
# What only the author of a program can know of its pointers: with it no block is called a leak that is none, and the report says with what.
set -eu
program=$TB/targets/leaks/leakterms

# record NAME OPTION...: the trace and snapshot of a run in that way.
record() {
	name=$1
	shift
	ms-record -q --leak-check=auto:50s "$@" -o run.trace "$program" "$name"
	ms-snap -o run.db run.trace
}

# unreachable FUNCTION: so many blocks that it allocated are so.
unreachable() {
	sqlite3 run.db "SELECT coalesce(sum(v.blocks), 0) FROM site_verdict v JOIN place p ON p.site = v.site
		WHERE v.verdict IN ('unreachable', 'indirect') AND p.function = '$1'"
}

# want WHAT RIGHT SEEN
want() {
	test "$2" = "$3" || {
		echo "$1: $3, not $2"
		exit 1
	}
}

scan() {
	sqlite3 run.db "SELECT align, ifnull(mask, '-') FROM scan WHERE label = 'end'"
}

# Records of 11 bytes, of which an eighth, a quarter or all have their pointer where it is looked for.
for case in 8:875:87500 4:750:75000 1:0:0; do
	align=${case%%:*}
	rest=${case#*:}
	record packed --leak-align="$align"
	want "packed, align $align" "${rest%:*}" "$(unreachable body)"
	want "packed in the heap, align $align" "${rest#*:}" "$(unreachable heap_body)"
	want "scan, align $align" "$align|-" "$(scan)"
done
ms-report --leaks run.trace | grep -qx "Scan  *for pointers at unaligned addresses, too (--leak-check=align:1)"
ms-report --leaks --md run.trace | grep -qF 'Scan: for pointers at unaligned addresses, too'
record packed
want "packed" 875 "$(unreachable body)"
want "scan" "8|-" "$(scan)"
ms-report --leaks run.trace >report
test "$(grep -c "^Scan" report)" = 0

# Pointers with a tag in their highest byte, in static memory and in blocks.
record tagged
want "tagged" 100 "$(unreachable tagged_block)"
record tagged --leak-mask=0xff00000000000000
want "tagged, with a mask" 0 "$(unreachable tagged_block)"
want "scan, with a mask" "8|0xff00000000000000" "$(scan)"
ms-report --leaks run.trace | grep -qx "Scan  *pointer bits 0xff00000000000000 ignored (--leak-check=mask)"
