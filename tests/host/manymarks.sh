#!/bin/bash
# SPDX-License-Identifier: MIT
# Marks of a program in quick succession: each has its name, its place among the events and its time, and they share blocks of the
# trace.
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
cat >marks.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include "memscope.h"
int main(void)
{
	char name[16];
	for (int i = 0; i < 20000; i++) {
		snprintf(name, sizeof name, "mark %d", i);
		ms_mark(name);
		void *volatile p = malloc(50);
		free(p);
	}
	return 0;
}
END
cc -O1 -I"$SRC/include" -o marks marks.c || exit 1
"$BIN/ms-record" -q --no-symbols --leak-check=no -o marks.trace ./marks || fail "status $?"
"$TB/trace-dump" marks.trace | awk '
	/^block/ { on = / marks \(7\)/; blocks += on; next }
	on {
		split($1, time, "="); split($0, text, "\""); split($4, event, "=")
		if (text[2] != "mark " (marks + 0)) names++
		if (marks && event[2] != last + 2) places++
		if (marks && time[2] < before) times++
		first = marks++ ? first : time[2]; last = event[2]; before = time[2]
	}
	END {
		# a block each ms and each 64 KiB of records, and the first and the last one
		most = int((before - first) / 1000000) + int(marks * 40 / 65536) + 2
		print marks, names + 0, places + 0, times + 0, blocks <= most ? "few" : blocks " blocks, not " most
	}' >got
is "marks, wrong names, places, times, blocks" "$(cat got)" "20000 0 0 0 few"
finish
