#!/bin/sh
# SPDX-License-Identifier: MIT
# What resident memory is for while the program runs: on request, at a mark, at a leak check on request, when it is detached.
set -eu
program=$TB/targets/resident
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# Waits until the program has printed its RSS, which it does when all is there.
ready() { for _ in $(seq 3000); do [ -s "$1" ] && return; sleep 0.1; done; die "$1 stays empty"; }
moments() { ms-report --sql "SELECT label || ' ' || state AS x FROM resident ORDER BY moment" "$1" | grep -E ' (done|stopped)$' | tr '\n' ' '; }

mkfifo go
ms-record -q --resident --leak-check=auto:50s --leak-check-at mark:here -o run.trace "$program" leak wait <go >rss &
exec 3>go
ready rss
ms-record --tell run.trace resident >said
grep -qE "^resident \(pid [0-9]+\): RSS 2[0-9.]+ MiB: 19.9 MiB live data, [0-9.]+ KiB free or slack, [0-9.]+ MiB not heap; stopped for [0-9.]+ " said || die "$(cat said)"
ms-record --tell run.trace resident:again >/dev/null
ms-record --tell run.trace mark:here
for _ in $(seq 50); do
	ms-record --tell run.trace flush
	case $(moments run.trace 2>/dev/null) in *mark:here*) break ;; esac
	sleep 0.1
done
ms-record --tell run.trace leak-check >/dev/null
echo >&3
exec 3>&-
wait
test "$(moments run.trace)" = "resident done resident:again done mark:here done request done end done "
# Only what was asked for was judged.
test "$(ms-report --sql "SELECT group_concat(label, ' ') AS x FROM scan" run.trace | tail -n 1)" = "mark:here request end"
ms-report --resident --at mark:here run.trace | head -n 1 | grep -q '^RSS .*(mark:here): the largest part, 19.9 MiB' || die "not at the mark"
ms-report --resident run.trace | grep -cE '^(resident|resident:again|mark:here|request|end) +[0-9.]+ m?s +2[0-9.]+ MiB +19.9 MiB' | grep -qx 5

# Of one that is attached to: blocks from before are none of ours, so that there is no advice.
"$program" trim wait <go >rss2 &
pid=$!
exec 3>go
ready rss2
ms-record -q --resident -o attached.trace -p "$pid" &
recorder=$!
for _ in $(seq 3000); do ms-record --tell attached.trace resident >said 2>/dev/null && break; sleep 0.1; done
ms-record --tell attached.trace stop >/dev/null
wait "$recorder"
echo >&3
exec 3>&-
wait
test "$(moments attached.trace)" = "resident done detach done "
ms-report --resident attached.trace >said
grep -q '^none: some blocks were not recorded, so what is free is not known$' said || die "$(cat said)"
grep -qE '^free or unrecorded +4[0-9.]+ MiB ' said || die "$(cat said)"
ms-record --tell run.trace resident:now 2>said && die "told nobody"
grep -q "no recorder is writing 'run.trace'" said
