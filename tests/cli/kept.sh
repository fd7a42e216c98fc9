#!/bin/sh
# SPDX-License-Identifier: MIT
# What keeps blocks alive, compared by ms-diff and judged by budgets, on snapshots whose figures are known (report/fixtures.sh): each line of
# kept/cases is a name and a command, kept/NAME.out what comes out. With --update the .out files are written anew.
set -eu
SRC=${SRC:-$(cd "$(dirname "$0")/../.." && pwd)}
PATH=${BIN:-$SRC/build/release/bin}:$PATH
here=$SRC/tests/cli/kept
update=${1-}
[ -z "$update" ] || cd "$(mktemp -d)"
# shellcheck source=tests/cli/report/fixtures.sh
. "$SRC/tests/cli/report/fixtures.sh"
# the same program, built elsewhere: the module in another folder, keepers in another order, a second thread of that name; g_cache is gone
fixture other.db "$kept; UPDATE keeper SET module = replace(module, '/home/ann/orderd/bin', '/opt/build');
	UPDATE keeper SET id = 5 - id + 100 WHERE id IN (2, 3); UPDATE keeper SET id = id - 100 WHERE id > 100; UPDATE keeper_set SET keeper = 5 - keeper;
	UPDATE keeper SET name = 'g_new', type = NULL, file = NULL, line = NULL WHERE id = 1;
	INSERT INTO keeper(process, scan, id, kind, name, thread) SELECT 1, scan, 7, kind, name, thread FROM keeper WHERE id = 4;
	UPDATE kept SET keeper = 7 WHERE keeper = 6;
	UPDATE kept SET site = 7, bytes = 4096, retained_bytes = 4096, type = 'std::vector<int> *' WHERE scan = 2 AND id = 10;
	UPDATE kept SET retained_bytes = 4096 WHERE scan = 2 AND id = 9"
failed=0
while read -r name command; do
	case $name in '' | '#'*) continue ;; esac
	out=$here/$name.out
	rc=0
	LC_ALL=C.UTF-8 sh -c "$command" >got 2>err || rc=$?
	{
		cat got
		sed 's/^/stderr: /' err
		[ "$rc" = 0 ] || echo "status: $rc"
	} >all
	if [ "$update" = --update ]; then
		cp all "$out"
	elif ! diff -u "$out" all; then
		echo "FAILED: $command"
		failed=1
	fi
done <"$here/cases"
exit $failed
