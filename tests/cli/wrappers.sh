#!/bin/bash
# SPDX-License-Identifier: MIT
# Sites are named after what called wrappers of malloc: known ones, those that most sites of a module come by, and those that --wrapper
# names; never main, nor a function that one other calls. Rows of a list differ where their stacks do.
set -eu
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
gcc -g -O1 -fno-inline -o app "$SRC/tests/cli/report/wrappers.c"
for what in list share load main alone inside; do
	"$BIN/ms-record" -q -o $what.trace ./app $what >/dev/null
	"$BIN/ms-snap" -q -o $what.db $what.trace
done
# NAME..., each of the functions that sites of the program are named after
names() { # TRACE OPTION...
	"$BIN/ms-snap" -q -o named.db "$@"
	sqlite3 named.db "SELECT DISTINCT f.function FROM site s JOIN stack k ON k.id = user_frame JOIN frame f ON f.id = k.frame
		WHERE f.function NOT LIKE '\_%' ESCAPE '\' ORDER BY 1" | tr '\n' ' '
}
is() { # NAMES TRACE OPTION...
	local want=$1 got
	shift
	got=$(names "$@")
	[ "$got" = "$want " ] || die "$*: $got"
}
# xmalloc is known; what called xdup is one row of --wrapper away
is 'main xdup' list.trace
is 'main one three two' list.trace --wrapper '^xdup$'
is 'main one three two' --wrapper nothing --wrapper '^xdup$' list.trace
# get_mem is called by four functions, and dup_text by one
is 'dup_text index_it parse read_all' share.trace
is 'dup_text index_it parse read_all' share.trace
# each of three functions that call load does so in two lines: not four
is load load.trace
is main main.trace
# nothing but a wrapper
is xcalloc alone.trace
# what it allocates in three lines is its own
is build inside.trace

# Functions that pass a size on are seen through, also one behind another; not so functions that make objects of one size, of about one, or of two, nor
# one that is called from many places, nor one in which a string grows. A --wrapper for one of them changes nothing.
g++ -g -O1 -fno-inline -fno-optimize-sibling-calls -o handed "$SRC/tests/cli/report/handed_on.cc"
for what in c cc many; do
	"$BIN/ms-record" -q -o handed-$what.trace ./handed $what >/dev/null
done
is 'buffer_alloc load_config load_table make_key node_alloc open_a open_b open_c thing_alloc' handed-c.trace
is 'buffer_alloc load_config load_table make_key node_alloc open_a open_b open_c thing_alloc' handed-c.trace --wrapper '^my_malloc$'
is 'five label' handed-cc.trace
is 'user_1 user_101 user_102 user_2 user_3 user_4 user_5 user_6 user_7 user_8' handed-many.trace
# A static function without a name is part of xmalloc, which alone calls it.
cat >low.c <<'END'
#include <stdlib.h>
void *volatile keep[9];
static __attribute__((noipa)) void *low(size_t size) { return calloc(1, size); }
void *xmalloc(size_t size) { return low(size); }
void alpha(void) { keep[0] = xmalloc(7); }
void beta(void) { keep[1] = xmalloc(7); }
static __attribute__((noipa)) void *other(size_t size) { return calloc(2, size); }
void gamma_one(void) { keep[2] = other(7); }
int main(void) { alpha(); beta(); gamma_one(); return 0; }
END
gcc -O1 -fno-inline -fno-optimize-sibling-calls -rdynamic -o low low.c
strip low
"$BIN/ms-record" -q -o low.trace ./low
is 'alpha beta' low.trace
"$BIN/ms-report" --peak low.trace | grep -Eq '^ *50 % .* low\+0x[0-9a-f]+ ' || die "other: $("$BIN/ms-report" --peak low.trace)"
# One that has no name and very many callers and sizes says nothing either; with fewer it stays.
for n in 7 8; do
	{
		echo '#include <stdlib.h>'
		echo 'void *volatile keep[9];'
		echo 'static __attribute__((noipa)) void *piece(size_t size) { return calloc(1, size); }'
		for ((i = 1; i <= n; i++)); do
			echo "void user_$i(void) { keep[$i] = piece($i); }"
		done
		echo "int main(void) { $(for ((i = 1; i <= n; i++)); do echo "user_$i();"; done) $(for i in 0 1 2 3 4 5 6 7 8 9; do echo "keep[0] = malloc($i);"; done) return 0; }"
	} >piece.c
	gcc -O1 -fno-inline -fno-optimize-sibling-calls -rdynamic -o piece$n piece.c
	strip piece$n
	"$BIN/ms-record" -q -o piece$n.trace ./piece$n
done
is 'main user_1 user_2 user_3 user_4 user_5 user_6 user_7 user_8' piece8.trace
is main piece7.trace

# ms-report, ms-top and ms-diff name a trace the same, and refuse what does not match
"$BIN/ms-report" --leaks list.trace --wrapper xdup >report
grep -Eq ' three +.*wrappers\.c:[0-9]+ +xdup$' report || die "--wrapper: $(cat report)"
"$BIN/ms-top" -b -n 1 --wrapper xdup list.trace >top
grep -Eq ' three wrappers\.c:[0-9]+  xdup < main$' top || die "ms-top --wrapper: $(cat top)"
"$BIN/ms-top" -b -n 1 list.trace >top
grep -Eq ' xdup wrappers\.c:[0-9]+  xmalloc < three$' top || die "ms-top: $(cat top)"
"$BIN/ms-top" -b -n 1 alone.trace >top
grep -Eq ' xcalloc wrappers\.c:[0-9]+  xmalloc$' top || die "ms-top, alone: $(cat top)"
"$BIN/ms-diff" -q -o diff.db --wrapper xdup main.trace list.trace
[ "$(sqlite3 diff.db "SELECT count(*) FROM site s JOIN stack k ON k.id = user_frame JOIN frame f ON f.id = k.frame WHERE function = 'three'")" = 1 ] ||
	die 'ms-diff --wrapper'
"$BIN/ms-report" --leaks list.trace --wrapper nowhere 2>&1 >/dev/null | grep -qx "ms-report: --wrapper 'nowhere': no function of that name was found" ||
	die 'a wrapper that is nowhere'
refused() { # MESSAGE COMMAND...
	local message=$1 rc=0
	shift
	"$@" >out 2>err || rc=$?
	[ $rc = 2 ] || die "$*: status $rc"
	grep -qF -- "$message" err || die "$*: $(cat err)"
}
refused "ms-snap has already named the sites of 'list.db'" "$BIN/ms-report" --wrapper x list.db
refused "bad regular expression '(': " "$BIN/ms-report" --wrapper '(' list.trace
refused "bad regular expression '': it would match" "$BIN/ms-snap" --wrapper '' list.trace
refused "'--wrapper' is for traces" "$BIN/ms-top" -b --wrapper x

# ---- rows ----
# What a list says of each site, in one line
rows() {
	awk '/^ *[0-9.]+ (%|B|KiB) /{ if (row) print row; sub(/^ *([0-9.]+ (%|B|KiB)? *)+/, ""); row = $0; next }
		row { row = row " / " $0 } END { print row }' "$1" | tr -s ' '
}
for width in 40 60 100 200; do
	for view in --leaks --peak; do
		for what in list share load main inside; do
			"$BIN/ms-report" $view --limit 0 --width $width $what.trace >report
			[ "$(rows report | sort -u | wc -l)" = "$(sqlite3 $what.db 'SELECT count(*) FROM site')" ] || die "$what $view, $width columns: $(cat report)"
		done
	done
done
"$BIN/ms-report" --peak main.trace >report
[ "$(grep -cE '^ +at app\+0x[0-9a-f]+$' report)" = 2 ] || die "addresses: $(cat report)"
"$BIN/ms-report" --leaks --md inside.trace >report
[ "$(grep -c '^| [0-9]' report)" = "$(grep '^| [0-9]' report | cut -d'|' -f5- | sort -u | wc -l)" ] || die "Markdown: $(cat report)"
# shellcheck disable=SC2016
grep -q '`build` [^ ]* ← `pair` ← `second` ' report || die "Markdown: $(cat report)"
