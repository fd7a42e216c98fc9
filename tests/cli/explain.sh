#!/bin/sh
# SPDX-License-Identifier: MIT
# ms-report --explain says what memscope(7) says of a term, by any of its names, and knows the words that screens print.
set -eu
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
cat >expected <<'END'
retained, lost with, lost with it
    The indirect blocks that are lost because a direct one is. One that
    several direct blocks lead to counts for the oldest of them, so that
    sums balance.
END
for name in retained RETAINED 'lost with' lost_with Lost-With; do
	"$BIN/ms-report" --explain "$name" >got </dev/null
	cmp got expected || die "$name: $(cat got)"
done
"$BIN/ms-report" --explain moment | grep -q 'mark:name#3, mark:name#last\. It follows --at' || die "macros: $("$BIN/ms-report" --explain moment)"
"$BIN/ms-report" --explain mapped | grep -q 'took with mmap(2) without a file,$' || die "pages: $("$BIN/ms-report" --explain mapped)"
"$BIN/ms-report" --explain budget | grep -Fq "such as 'unfreed_bytes > 64k'; one" || die "quotes: $("$BIN/ms-report" --explain budget)"
# Each term of the page once, no line too wide, no macro left.
sed -n '/^\.Sh TERMS/,/^\.Sh ENV/s/^\.It //p' "$SRC/man/memscope.7" >terms
"$BIN/ms-report" --explain all >page
grep -v "^ " page >names
cmp names terms || die "not the terms of the page: $(cat names)"
! grep -E '^.{77}|^\.|&| (Ns|Ar|Li|Fl|Cm|Pc|Po)( |$)|[=(](Ar|Li|Cm|Pa) ' page || die 'not plain text'
# What ms-report, ms-top and ms-diff call things.
for word in growing doubling maybe filling filled step steady flat falling 'too short' new unreachable direct indirect reachable 'not judged' temporary one-time \
	RSS PSS USS 'not heap' live peak unfreed site verdict wrapper mark quality noise budget sampled slack mapped hidden busiest "kept all along" confidence pins backing cut nameless late; do
	"$BIN/ms-report" --explain "$word" >got || die "no '$word'"
	[ "$(wc -l <got)" -gt 1 ] || die "'$word': $(cat got)"
done
for bad in retaned:"no term 'retaned': did you mean 'retained'?" xyzzy:"no term 'xyzzy': 'ms-report --explain all' prints all terms"; do
	! "$BIN/ms-report" --explain "${bad%%:*}" >out 2>err || die 'status 0'
	{ [ ! -s out ] && [ "$(cat err)" = "ms-report: ${bad#*:}" ]; } || die "$(cat err)"
done
! "$BIN/ms-report" --explain '' 2>err || die 'an empty word'
! "$BIN/ms-report" --explain all >/dev/full 2>err || die 'a full disk'
grep -q "cannot write 'standard output'" err || die "$(cat err)"
