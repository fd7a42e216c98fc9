#!/bin/sh
# SPDX-License-Identifier: MIT
# A leak is told by its root, with what it retains; what no scan looked at is told apart. The numbers are those of leaksroots.c.
set -eu
program=$TB/targets/leaks/leaksroots
record() { ms-record -q --leak-check=auto:50s -o "$1.trace" "$program" "$1"; }
# The rows of a group, without places and callers.
rows() { sed -n "/^$1/,/^\$/p" | grep -vE '^ *bytes|^ *<|^$' | sed -E 's/ +[^ ]*leaksroots.c:.*//'; }
for case in index tree cycle shared; do
	record $case
	ms-snap -o $case.db $case.trace
	ms-report --width 140 $case.trace | rows UNREACHABLE >>said.txt
	ms-report --width 140 $case.db | rows UNREACHABLE >>said-of-snapshots.txt
done
cat >want.txt <<'EOF'
UNREACHABLE AT THE END, nothing points to these: 32.0 KiB, 2,048 blocks, 1 site
 32.0 KiB   2,048  2048  open_index
                           8 B in 1 block + 32.0 KiB in 2,047 blocks lost with it (all of it from grow
UNREACHABLE AT THE END, nothing points to these: 32.0 KiB, 2,047 blocks, 1 site
 32.0 KiB   2,047  1  grow
                        16 B in 1 block + 32.0 KiB in 2,046 blocks lost with it
UNREACHABLE AT THE END, nothing points to these: 600 B, 3 blocks, 1 site
    600 B       3  3  cycle_forgotten
                        100 B in 1 block + 500 B in 2 blocks lost with it
UNREACHABLE AT THE END, nothing points to these: 3.2 KiB, 10 blocks, 2 sites
  2.0 KiB       3  1  younger
                        2.0 KiB in 1 block + 60 B in 2 blocks lost with it (all of it from owned
  1.2 KiB       7  2  older
                        1000 B in 1 block + 260 B in 6 blocks lost with it (including 200 B in 4 blocks from shared
EOF
diff want.txt said.txt
diff want.txt said-of-snapshots.txt
# In every snapshot what roots retain, and what is lost with them, adds up to all that is unreachable.
for case in index tree cycle shared; do
	test "$(sqlite3 $case.db "SELECT
		(SELECT sum(retained_bytes) || ' ' || sum(retained_blocks) FROM site_verdict) = unreachable_bytes || ' ' || unreachable_blocks,
		(SELECT sum(l.bytes) || ' ' || sum(l.blocks) FROM lost_with l)
			= (SELECT sum(bytes) || ' ' || sum(blocks) FROM site_verdict WHERE verdict = 'indirect') FROM process")" = "1|1"
done
# What is shared counts for the older root.
test "$(sqlite3 shared.db "SELECT group_concat(x, ' ') FROM (SELECT p.function || ':' || l.bytes || ':' || l.blocks || '<' || r.function AS x
	FROM lost_with l JOIN place p ON p.site = l.site JOIN place r ON r.site = l.root ORDER BY l.bytes DESC, r.function, l.site)")" = \
	"shared:200:4<older owned:30:1<older owned:30:1<older owned:30:1<younger owned:30:1<younger"
# Where a filter hides the root, what it retains stands for itself, and all goes on adding up.
ms-filter --not-function '^older$' shared.trace | ms-report --width 140 | rows UNREACHABLE >said.txt
cat >want.txt <<'EOF'
UNREACHABLE AT THE END, nothing points to these: 3.2 KiB, 10 blocks, 4 sites
  2.0 KiB       3  1  younger
                        2.0 KiB in 1 block + 60 B in 2 blocks lost with it (all of it from owned
    200 B       4  3  shared
                        200 B in 4 blocks lost with blocks of hidden sites
     30 B       1  4  owned
                        30 B in 1 block lost with blocks of hidden sites
     30 B       1  5  owned
                        30 B in 1 block lost with blocks of hidden sites
   1000 B       1  .  hidden by filters
EOF
diff want.txt said.txt
# One that is suppressed takes what it retains away, and nothing else.
echo leak:older >suppressions
ms-filter --suppress suppressions shared.trace 2>remarks | ms-report --width 140 | rows UNREACHABLE >said.txt
cat >want.txt <<'EOF'
UNREACHABLE AT THE END, nothing points to these: 3.2 KiB, 10 blocks, 1 site
  2.0 KiB       3  1  younger
                        2.0 KiB in 1 block + 60 B in 2 blocks lost with it (all of it from owned
  1.2 KiB       7  .  hidden by filters
EOF
diff want.txt said.txt
grep -q "'leak:older' (suppressions, line 1) hides 4 sites: 1.2 KiB live at the end, 7 allocations" remarks
# A cut keeps what is lost with what.
ms-filter --trace-out cut.trace --not-function '^younger$' shared.trace 2>/dev/null
ms-report --width 140 cut.trace | rows UNREACHABLE >said.txt
cat >want.txt <<'EOF'
UNREACHABLE AT THE END, nothing points to these: 1.3 KiB, 9 blocks, 3 sites
  1.2 KiB       7  1  older
                        1000 B in 1 block + 260 B in 6 blocks lost with it (including 200 B in 4 blocks from shared
     30 B       1  5  owned
                        30 B in 1 block lost with blocks of other sites
     30 B       1  6  owned
                        30 B in 1 block lost with blocks of other sites
EOF
diff want.txt said.txt
ms-filter --trace-out sizes.trace --size 30..50 shared.trace 2>/dev/null
ms-report --width 140 sizes.trace | rows UNREACHABLE | head -2 >said.txt
cat >want.txt <<'EOF'
UNREACHABLE AT THE END, nothing points to these: 320 B, 8 blocks, 5 sites
    200 B       4  1  shared
EOF
diff want.txt said.txt
# One site: what it retains, where a recursion is one row, and what it is lost with.
ms-report --width 140 --site 2048 index.trace >said.txt
grep -qx 'Verdict  unreachable: 8 B in 1 block that nothing points to, + 32.0 KiB in 2,047 blocks lost with it' said.txt
grep -A1 -x 'Lost with it' said.txt | grep -qE '^ 100 %   32.0 KiB in 2,047 blocks  #[0-9]+ and 2,046 more sites  grow  .*leaksroots.c:[0-9]+'
ms-report --width 140 --site 3 shared.trace >said.txt
grep -qx 'Verdict  indirect: 200 B in 4 blocks that only unreachable ones point to' said.txt
grep -A1 -x 'Its indirect blocks are lost with blocks of' said.txt | grep -qE '^ 100 %      200 B in 4 blocks  #2  older  .*leaksroots.c:[0-9]+ < shared_forgotten$'
# Of a thread that allocates until it is gone, what came after the scan is called neither reachable nor a leak. It may be that there is
# next to nothing of that kind, or before it: then the program is run again, until both are said in KiB.
for try in $(seq 40); do
	record late
	ms-snap -o late.db late.trace
	test "$(sqlite3 late.db "SELECT late_bytes >= 1024 AND bytes >= 1024 FROM scan WHERE state = 'done'")" = 0 || break
	test "$try" != 40
done
test "$(sqlite3 late.db "SELECT late_blocks > 0, late_bytes = 24 * late_blocks, blocks + late_blocks = unfreed_blocks, bytes + late_bytes = unfreed_bytes,
	s.unreachable_blocks FROM scan s JOIN process")" = "1|1|1|1|0"
test "$(sqlite3 late.db "SELECT v.blocks = late_blocks, v.bytes = late_bytes, v.verdict, site.verdict FROM site_verdict v JOIN scan JOIN site ON site.id = v.site
	WHERE reason = 'after_scan'")" = "1|1|unknown|unknown"
test "$(sqlite3 late.db "SELECT count(*) FROM site_verdict WHERE verdict = 'reachable'")" = 2
blocks=$(sqlite3 late.db "SELECT printf('%,d', late_blocks) FROM scan")
held=$(sqlite3 late.db "SELECT printf('%,d', blocks) FROM scan")
ms-report --width 140 late.trace >said.txt
rows 'ALLOCATED AFTER' <said.txt | head -1 | grep -qE "^ALLOCATED AFTER THE SCAN, not judged: [0-9.]+ [KM]iB, $blocks blocks, 1 site$"
rows 'ALLOCATED AFTER' <said.txt | grep -qE "^ *[0-9.]+ [KM]iB +$blocks  1  late$"
rows 'LIVE AT THE END' <said.txt | grep -qE "^LIVE AT THE END, something points to these: [0-9.]+ [KM]iB, $held blocks, 2 sites$"
