#!/bin/bash
# SPDX-License-Identifier: MIT
# Where five of thousands of sites have less than a third of what is live, of the peak, of what leaks or of what grows, the first screen has the
# functions, files, directories or namespaces that have most, with exact sums that add up, and a command that finds just the sites of a row.
set -eu
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

# Programs whose functions allocate a block in each of so many lines, and keep it.
head_of() { # NAME: what all files of a program begin with
	echo '#include <stdlib.h>' >"$1.h"
	echo 'extern void *keep[10000]; extern int n;' >>"$1.h"
}
functions() { # PREFIX COUNT LINES SIZE; C on standard output, and calls into the file calls
	for ((i = 0; i < $2; i++)); do
		echo "void $1$i(void) {"
		for ((k = 0; k < $3; k++)); do
			echo "keep[n++] = malloc($4);"
		done
		echo '}'
		echo "void $1$i(void); $1$i();" >>calls
	done
}
main_of() { # calls main as its last file
	echo 'void *keep[10000]; int n;'
	grep -o 'void.*(void);' calls
	echo 'int main(void) {'
	sed 's/.*; \(.*\)$/\1/' calls
	echo 'return 0; }'
}
record() { # NAME FLAGS FILE...
	local name=$1 flags=$2
	shift 2
	# shellcheck disable=SC2086
	gcc -O0 $flags -o "$name" "$@"
	"$BIN/ms-record" -q -o "$name.trace" "./$name"
	"$BIN/ms-report" --json "$name.trace" >"$name.json"
}
# A list of JSON: BY VIEW, rows, what is left out, total
groups() { # NAME VIEW
	jq -r --arg view "$2" '.groups[]? | select(.view == $view) | . as $g | "by \(.by)",
		(.rows[] | "\(.[$g.by] | split("/") | if .[-1] == "" then .[-2] else .[-1] end) \(.bytes) \(.blocks) \(.sites)"),
		(.more // empty | "more \(.rows) \(.bytes) \(.blocks) \(.sites)"), "total \(.total.bytes) \(.total.blocks) \(.total.sites)"' "$1.json"
}
is() { # NAME < WANTED: of the peak and of what is live
	cat >wanted
	for view in peak live; do
		groups "$1" $view >got
		cmp wanted got || die "$1, $view: $(cat got)"
	done
	[ "$(jq '[.groups[] | ([.rows[], .more // empty] | map(.bytes) | add) == .total.bytes] | all' "$1.json")" = true ] || die "$1: $(jq .groups "$1.json")"
}
typed() { # LABEL REGEX: what the first command with that label prints
	awk -v label="$1" '$1 == label && sub(/^[^ ]+ +/, "") { on = 1 } on { print } on && !/\\$/ { exit }' text >commands
	PATH=$BIN:$PATH bash commands >typed
	grep -Eq "$2" typed || die "$(cat commands): $(cat typed)"
}

# ---- three functions of 400 sites each have more than half; 1,200 others have one each ----
head_of f
{ echo '#include "f.h"' && : >calls && functions big 3 400 300 && functions small 1200 1 200 && main_of; } >f.c
record f -g f.c
is f <<'END'
by function
big0 120000 400 400
big1 120000 400 400
big2 120000 400 400
small0 200 1 1
small1 200 1 1
small2 200 1 1
more 1197 239400 1197 1197
total 600000 2400 2400
END
"$BIN/ms-report" f.trace >text
grep -Eqx 'PEAK at .*: 585\.9 KiB, 2,400 blocks, 2,400 sites by function, top 5 of 1,203' text || die "title: $(cat text)"
grep -Eqx 'big1 +[^ ]*f\.c +20 % +117\.2 KiB +400 +400 +[0-9]+' text || die "row: $(cat text)"
grep -Eqx '1,198 more sites +40 % +234\.0 KiB +1,198 +1,198' text || die "rest: $(cat text)"
grep -Eqx 'total +100 % +585\.9 KiB +2,400 +2,400' text || die "total: $(cat text)"
typed Sites ', top 20 of 400 sites$'
typed All '^big2 +117\.2 KiB'
"$BIN/ms-report" --md f.trace >md
# shellcheck disable=SC2016
grep -Eq '^\| `big1` \| .*f\.c \| 20 % \| 117\.2 KiB \| 400 \| 400 \| [0-9]+ \|$' md || die "Markdown: $(cat md)"
grep -q "^ms-filter --where 'function = \"big0\" and file = \".*f\.c\"' FILE | ms-report --peak$" md || die "Markdown, command: $(cat md)"
python=python3
[ ! -x /usr/bin/python3 ] || python=/usr/bin/python3
$python "$SRC/tests/cli/report/validate.py" "$SRC/man/memscope-report.schema.json" f.json
# of another moment, too
"$BIN/ms-report" --at peak f.trace >text
grep -Eq '^All      ms-report --at peak --by function ' text || die "--at: $(cat text)"
typed Largest '^SITE [0-9]+ +big0 '
# views list sites
"$BIN/ms-report" --peak f.trace | grep -q ', top 20 of 2,400 sites$' || die '--peak'
# what filters hide is said
"$BIN/ms-filter" --not-function '^small' f.trace | "$BIN/ms-report" >text
grep -Eqx 'hidden by filters +40 % +234\.4 KiB +1,200 +1,200' text || die "hidden: $(cat text)"

# ---- files: 3 of 8 have more than half, in functions of one site each ----
head_of g
: >calls
for i in 0 1 2 3 4 5 6 7; do
	{ echo '#include "g.h"' && functions "g${i}_" $((i < 3 ? 400 : 150)) 1 $((i < 3 ? 300 : 200)); } >g$i.c
done
main_of >main.c
record g -g g[0-7].c main.c
is g <<'END'
by file
g0.c 120000 400 400
g1.c 120000 400 400
g2.c 120000 400 400
g3.c 30000 150 150
g4.c 30000 150 150
g5.c 30000 150 150
more 2 60000 300 300
total 510000 1950 1950
END

# ---- two functions of one name are two rows; the site that is named is the largest ----
head_of s
: >calls
for i in 1 2; do
	{
		echo '#include "s.h"' && echo 'static void same(void) {'
		for ((k = 10; k <= 3000; k += 10)); do
			echo "keep[n++] = malloc($((k * i)));"
		done
		echo "} void call$i(void) { same(); }"
	} >s$i.c
	echo "void call$i(void); call$i();" >>calls
done
main_of >main.c
record s -g s1.c s2.c main.c
is s <<'END'
by function
same 903000 300 300
same 451500 300 300
total 1354500 600 600
END
[ "$(jq -r '([.sites[] | {key: "\(.id)", value: .peak_bytes}] | from_entries) as $of | .groups[0].rows[] | "\(.file | split("/")[-1]) \($of["\(.largest_site)"])"' s.json |
	tr '\n' ' ')" = 's2.c 6000 s1.c 3000 ' ] || die "the largest sites: $(jq .groups s.json)"
"$BIN/ms-report" --limit 1 s.trace | grep -Eq '^PEAK .* 600 sites by function, top 1 of 2$' || die '--limit 1'

# ---- directories: net and net/tls; 10 files in each have 80 functions of one site ----
head_of h
: >calls
mkdir -p net/tls db
for d in net net/tls db; do
	for ((f = 0; f < 10; f++)); do
		{ echo '#include "h.h"' && functions "${d//\//_}${f}_" 80 1 100; } >$d/$f.c
	done
done
main_of >main.c
record h '-g -I.' net/*.c net/tls/*.c db/*.c main.c
groups h peak | head -4 | cut -d' ' -f1,2- | sort >got
printf '%s\n' 'by directory' 'db 80000 800 800' 'net 80000 800 800' 'tls 80000 800 800' | sort | cmp - got || die "directories: $(cat got)"
"$BIN/ms-report" h.trace >text
typed Sites ', top 20 of 800 sites$'

# ---- without debug information: namespaces of C++ ----
head_of n
{
	echo '#include "n.h"' && : >calls
	for s in net db ui; do
		echo "namespace $s {" && functions "${s}_" 300 1 100 && echo '}'
	done
	echo 'void *keep[10000]; int n; int main() {'
	sed 's/.*; \(\([a-z]*\)_.*\)$/\2::\1/' calls
	echo '}'
} >n.cc
g++ -O0 -o n n.cc
"$BIN/ms-record" -q -o n.trace ./n
"$BIN/ms-report" --json n.trace >n.json
[ "$(groups n peak | sort | tr '\n' ,)" = 'by namespace,db 30000 300 300,net 30000 300 300,total 90000 900 900,ui 30000 300 300,' ] || die "namespaces: $(jq .groups n.json)"
"$BIN/ms-report" n.trace >text
typed Sites ', top 20 of 300 sites$'

# ---- five that have a third are shown as they are ----
head_of o
{ echo '#include "o.h"' && : >calls && functions one 5 1 4000 && functions small 400 1 100 && main_of; } >o.c
record o -g o.c
[ "$(jq 'has("groups")' o.json)" = false ] || die "$(jq .groups o.json)"
"$BIN/ms-report" o.trace | grep -q '^PEAK .*, top 5 of 405 sites$' || die 'not grouped'
"$BIN/ms-report" --limit 1 o.trace | grep -q '^PEAK .*, top 1 of 405 sites$' || die 'not grouped, one row'

# ---- leaks: the three functions have more than half of what nothing points to ----
head_of l
{
	echo '#include "l.h"' && : >calls && functions big 3 400 300 && functions small 1200 1 200
	main_of | sed 's/return 0;/unsigned char z[65536]; for (int i = 0; i < 65536; i++) ((volatile unsigned char *)z)[i] = 0; return 0;/'
} | sed 's/keep\[n++\] = malloc/(void)malloc/' >l.c
record l '-g -w' l.c
"$BIN/ms-report" --width 160 l.trace >text
grep -Eqx 'UNREACHABLE AT THE END, nothing points to these: 585\.9 KiB, 2,400 blocks, 2,400 sites by function, top 5 of 1,203' text || die "leaks, title: $(cat text)"
grep -Eqx 'big1 +[^ ]*l\.c +20 % +117\.2 KiB +400 +400 +[0-9]+' text || die "leaks, row: $(cat text)"
grep -Eqx '1,198 more sites +40 % +234\.0 KiB +1,198 +1,198' text || die "leaks, rest: $(cat text)"
typed Sites '^LIVE AT THE END, 585\.9 KiB of it unreachable: 585\.9 KiB, 2,400 blocks, top 20 of 400 sites$'
typed All '^big2 +117\.2 KiB'
[ "$(jq '.groups | map(.view) | join(" ")' l.json)" = '"peak"' ] || die "leaks, JSON: $(jq .groups l.json)"
"$BIN/ms-report" --md l.trace >md
# shellcheck disable=SC2016
grep -Eq '^\| `big1` \| .*l\.c \| 20 % \| 117\.2 KiB \| 400 \| 400 \| [0-9]+ \|$' md || die "leaks, Markdown: $(cat md)"
grep -q "^ms-filter --verdict unreachable --where 'function = \"big0\" and file = \".*l\.c\"' FILE | ms-report --leaks$" md || die "leaks, Markdown, command: $(cat md)"
"$BIN/ms-report" -q --html=l.html l.trace
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$SRC/tests/cli/html $python -c 'from page import Page
for x in Page("l.html").json["lists"]:
	print(x["id"], x["title"].split("sites by ")[-1], *([x["rows"][1][k] for k in ("name", "cells", "more")] if x["rows"][1:] else []))' >page
grep -Fqx "unreachable function, top 5 of 1,203 big1 ['117.2 KiB', '400'] ['20 % in 400 sites, the largest #401']" page || die "leaks, page: $(cat page)"
"$BIN/ms-filter" --not-function '^small' l.trace | "$BIN/ms-report" >text
grep -Eqx 'hidden by filters +40 % +234\.4 KiB +1,200 +n/a' text || die "leaks, hidden: $(cat text)"

# ---- what grows: of 2,400 sites 1,760, as the snapshot says; of the others none is a row ----
"$BIN/ms-snap" -q -o grows.db f.trace
sqlite3 grows.db "DELETE FROM growth; INSERT INTO growth(process, site, trend, rise_bytes, bytes_per_minute, low, high, confidence)
	SELECT s.process, s.id, 'growing', 200, 200, 190, 210, 0.99 FROM site s JOIN place p ON p.site = s.id
	WHERE p.function != 'big1' AND NOT p.function GLOB 'small*[05]'"
grown() { # TITLE
	"$BIN/ms-report" --width 160 grows.db | sed -n '/^GROWING/,/^$/p' >text
	grep -Eqx "$1: 421\\.9 KiB, 1,760 blocks, 1,760 sites by function, top 5 of 962" text || die "grown, title: $(cat text)"
	grep -Eqx 'big2 +[^ ]*f\.c +28 % +117\.2 KiB +400 +400 +[0-9]+' text || die "grown, row: $(cat text)"
	! grep -q '^big1' text || die "grown, what does not: $(cat text)"
	grep -Eqx '957 more sites +44 % +186\.9 KiB +957 +957' text || die "grown, rest: $(cat text)"
	grep -Eqx 'total +100 % +421\.9 KiB +1,760 +1,760' text || die "grown, total: $(cat text)"
	typed Sites '^big0 +[^ ]*f.c:[0-9]+ +300 B +\+200 B  growing '
	typed All '^1,740 more sites$'
}
grown 'GROWING as a leak does; at the peak'
# the peak was before: each site at its largest
sqlite3 grows.db "UPDATE site_stat SET live_bytes = 1, live_blocks = 1 WHERE snapshot IN (SELECT id FROM snapshot WHERE label = 'peak')"
grown "GROWING as a leak does; each site's maximum"
