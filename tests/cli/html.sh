#!/bin/sh
# SPDX-License-Identifier: MIT
# ms-report --html without a browser: the page is whole, allows nothing but its own script, has the figures of --json and the lists of --text,
# stays under 3 MB with 100,000 sites, shows hostile names as text, and a file of it appears whole or not at all. With make check-all ranges of
# time are chosen in a browser.
set -eu
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$SRC/tests/cli/html"
# shellcheck source=tests/cli/report/fixtures.sh
. "$SRC/tests/cli/report/fixtures.sh"
ms-diff -q run.db grown.db >diff.db
ms-diff -q run.db leaky.db >diff2.db
ms-diff -q kept.db@1.5s kept.db >kept-diff.db
fixture changed.db "UPDATE site_stat SET live_bytes = live_bytes * 2, live_blocks = live_blocks * 2 WHERE site = 3;
	UPDATE site_stat SET live_bytes = 0, live_blocks = 0 WHERE site = 1;
	UPDATE site SET allocations = allocations + 7 WHERE id = 2; DELETE FROM site_stat WHERE site = 4; DELETE FROM site WHERE id = 4;
	UPDATE snapshot SET (live_bytes, live_blocks) = (SELECT sum(live_bytes), sum(live_blocks) FROM site_stat c WHERE c.snapshot = snapshot.id);
	UPDATE process SET (allocations, frees, allocated_bytes, reallocations, failed_allocations, temporary_allocations) =
		(SELECT sum(allocations), sum(frees), sum(allocated_bytes), sum(reallocations), sum(failed_allocations), sum(temporary) FROM site),
		(peak_bytes, peak_blocks) = (SELECT live_bytes, live_blocks FROM snapshot WHERE label = 'peak'),
		(unfreed_bytes, unfreed_blocks) = (SELECT live_bytes, live_blocks FROM snapshot WHERE label = 'end')"
ms-diff -q run.db changed.db >diff3.db
fixture churned.db "UPDATE site SET allocated_bytes = allocated_bytes * 3 WHERE id = 2;
	UPDATE process SET allocated_bytes = (SELECT sum(allocated_bytes) FROM site)"
ms-diff -q run.db churned.db >diff4.db
ms-diff -q --old run.db --old churned.db --new churned.db --new churned.db >diff5.db
python3 "$SRC/tests/cli/html/check.py" ./*.db

# ranges of time, of a program whose heap grows and is freed
ms-record -q -o chat.trace "$TB/cli/answers/chat" >out
python3 "$SRC/tests/cli/html/ranges.py" chat.trace

# names that try to be more than text, and 10 KB of one
python3 "$SRC/tests/cli/html/hostile.py" hostile.db
ms-report -q --html=hostile.html hostile.db
python3 "$SRC/tests/cli/html/hostile.py" --check hostile.html

# many sites; then so many figures and names that there is no room for all
for kind in regular irregular; do
	"$SRC/libcommon/snapshot/columns" schema | sqlite3 $kind.db
	python3 "$SRC/tests/cli/report/many.py" $kind.db 100000
done
python3 "$SRC/tests/cli/html/irregular.py" irregular.db
ms-report -q --html=regular.html regular.db
ms-report -q --html=irregular.html irregular.db
ms-report -q --html=few.html --limit 3 run.db
ms-report -q --html=none.html --limit 0 run.db
python3 "$SRC/tests/cli/html/sizes.py"

# views are no choice, as all of them are there; the file is one output among others
if ms-report --html --threads run.db 2>err; then
	echo 'a view was taken' && exit 1
fi
grep -q -- '--threads is not available in that format' err
ms-report -q --html=a.html --json=a.json --metric temporary run.db
grep -q '<h1>orderd</h1>' a.html
ms-report -q --html run.db | cmp - a.html && { echo '--metric changed nothing' && exit 1; }
ms-report -q --html=/dev/full run.db 2>err && { echo 'a full disk went unnoticed' && exit 1; }
grep -q "cannot write '/dev/full'" err

# stopped at any moment: no file, or a whole one
mkdir stopped
for wait in 0 0.05 0.2 0.5 1; do
	ms-report -q --html=stopped/page.html regular.db &
	pid=$!
	sleep "$wait"
	kill -TERM "$pid" 2>/dev/null || :
	wait "$pid" || :
	for f in stopped/* stopped/.*; do
		case $f in
		stopped/page.html) cmp "$f" regular.html ;;
		stopped/. | stopped/.. | 'stopped/*') ;;
		*) echo "left behind: $f" && exit 1 ;;
		esac
	done
	rm -f stopped/page.html
done
