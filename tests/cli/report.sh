#!/bin/sh
# SPDX-License-Identifier: MIT
# ms-report's output byte for byte: each line of report/cases is a name and arguments, report/NAME.out what comes out. With --update
# the .out files are written anew.
set -eu
SRC=${SRC:-$(cd "$(dirname "$0")/../.." && pwd)}
PATH=${BIN:-$SRC/build/release/bin}:$PATH
here=$SRC/tests/cli/report
update=${1-}
[ -z "$update" ] || cd "$(mktemp -d)"
# shellcheck source=tests/cli/report/fixtures.sh
. "$here/fixtures.sh"
query="SELECT site, function AS f, allocations / 8.0 AS 'a,b', NULL AS missing, x'00FF' AS bytes, 1e999 AS inf, CASE site WHEN 8 THEN 'x' ELSE site END AS mixed,
	-site AS minus, 1, 1 FROM hot ORDER BY allocations DESC, site LIMIT 4"
failed=0
while read -r name args; do
	case $name in '' | '#'*) continue ;; esac
	out=$here/$name.out
	locale=C.UTF-8
	case $name in *-C) locale=C ;; esac
	rc=0
	# the cases hold no blanks inside arguments, but for @sql, which is one query of all kinds of values
	# shellcheck disable=SC2086
	set -- $args
	for word; do
		[ "$word" = @sql ] && word=$query
		set -- "$@" "$word"
		shift
	done
	LC_ALL=$locale ms-report "$@" >got 2>err || rc=$?
	{
		cat got
		sed 's/^/stderr: /' err
		[ "$rc" = 0 ] || echo "status: $rc"
	} >all
	if [ "$update" = --update ]; then
		cp all "$out"
	elif ! diff -u "$out" all; then
		echo "FAILED: ms-report $args"
		failed=1
	fi
done <"$here/cases"
exit $failed
