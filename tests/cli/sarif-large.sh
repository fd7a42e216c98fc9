#!/bin/bash
# SPDX-License-Identifier: MIT
# Where call stacks in results of SARIF would be over 16 MB each frame is there once, and results have code flows of their numbers; the stacks are
# those of --json.
set -eu
fail() { echo "$*" && exit 1; }
record() { # NAME LEAKS DEPTH
	{
		echo '#include <stdlib.h>'
		echo "static void level0(void) {"
		for ((i = 0; i < $2; i++)); do echo '(void)malloc(8);'; done
		echo '}'
		for ((i = 1; i < $3; i++)); do echo "static void level$i(void) { level$((i - 1))(); }"; done
		echo "int main(void) { level$(($3 - 1))(); unsigned char z[65536]; for (int i = 0; i < 65536; i++) ((volatile unsigned char *)z)[i] = 0; }"
	} >"$1.c"
	gcc -g -w -O0 -o "$1" "$1.c"
	"$BIN/ms-record" -q -o "$1.trace" "./$1"
	"$BIN/ms-report" -q --sarif "$1.trace" >"$1.sarif"
}
record large 1500 100
[ "$(stat -c %s large.sarif)" -lt 8000000 ] || fail "$(stat -c %s large.sarif) bytes"
[ "$(jq -c '.runs[0] | [(.results | length), ([.results[] | select(has("stacks"))] | length), (.threadFlowLocations | length) >= 1600]' large.sarif)" = '[1500,0,true]' ] ||
	fail "results: $(jq -c '.runs[0].results[0]' large.sarif)"
# shellcheck disable=SC2016 # jq's
flows='.runs[0] as $r | $r.results[] | [.properties.site] +
	[.codeFlows[0].threadFlows[0].locations | reverse | .[] | $r.threadFlowLocations[.index].location.logicalLocations[0].fullyQualifiedName] | @csv'
jq -r "$flows" large.sarif | sort >got
"$BIN/ms-report" --json=full large.trace | jq -r '.sites[] | select(.verdict == "unreachable") | [.id] + [.stack[].function] | @csv' | sort >wanted
[ "$(wc -l <wanted)" = 1500 ] || fail "$(wc -l <wanted) leaks"
cmp got wanted || fail "stacks: $(head -n 1 got) instead of $(head -n 1 wanted)"
# lines, too: each leak has one of its own
[ "$(jq '[.runs[0] as $r | $r.results[] | .codeFlows[0].threadFlows[0].locations[-1].index as $i | $r.threadFlowLocations[$i].location.physicalLocation.region.startLine] | unique | length' \
	large.sarif)" = 1500 ] || fail 'lines'
record small 15 100
[ "$(jq -c '.runs[0] | [(.results | length), ([.results[] | select(has("stacks"))] | length), has("threadFlowLocations")]' small.sarif)" = '[15,15,false]' ] ||
	fail "small: $(jq -c '.runs[0].results[0]' small.sarif)"
