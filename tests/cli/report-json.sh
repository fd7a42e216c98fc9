#!/bin/sh
# SPDX-License-Identifier: MIT
# The JSON of ms-report is as its schema says; figures are exact up to 2^63; bytes that are no text come out as valid JSON.
set -eu
# shellcheck source=tests/cli/report/fixtures.sh
. "$SRC/tests/cli/report/fixtures.sh"
python=python3
[ ! -x /usr/bin/python3 ] || python=/usr/bin/python3
fixture odd.db "UPDATE frame SET function = CAST(x'66FF0A22C328' AS TEXT) WHERE id = 6; UPDATE process SET command = 'not JSON', exe = NULL,
	started_ns = NULL, exit_status = NULL, unfreed_bytes = 9223372036854775807, stacks_cut = -1, attached = NULL"
fixture noted.db "UPDATE site SET one_time = 'the emergency pool' WHERE id IN (1, 8); UPDATE process SET cut = 'run.trace by --from 1s', from_ns = 1000000000,
	to_ns = 3000000000"
files=
for db in noted run cut damaged growing lost killed sampled hidden allhidden nothing two odd; do
	ms-report --allow-partial --json=$db.json --layout=full $db.db
	files="$files $db.json"
done
ms-report --json=site.json --layout=full --site 2 run.db
ms-report --json=views.json --by process --sizes --summary --threads --modules --timeline two.db
ms-report --json=at.json --at 1.5s --peak --limit 2 run.db
# shellcheck disable=SC2086
$python "$SRC/tests/cli/report/validate.py" "$SRC/man/memscope-report.schema.json" $files site.json views.json at.json
# version 2 says the same: stacks put back together make it version 1
compact=
for db in noted run sampled hidden nothing two; do
	ms-report --allow-partial --json=compact $db.db >$db.compact
	jq -c '. as $t | def stack($n): if $n == null then [] else $t.stacks[$n] as [$up, $frame] | [$t.frames[$frame]] + stack($up) end;
		del(.frames, .stacks) | .version = 1 | .sites[] |= (.stack = stack(.stack) | del(.key))' $db.compact >$db.whole
	jq -c . $db.json | cmp - $db.whole
	# each frame and each row of a stack is there once
	jq -e '.version == 2 and ([.frames | group_by(.)[] | length] | all(. == 1)) and (.stacks | length == (unique | length))' $db.compact >/dev/null
	ms-report --allow-partial --json=compact $db.db | cmp - $db.compact
	ms-report --allow-partial --json=$db.pretty --layout=compact --pretty $db.db
	sed "s/\\\\u000a/\\\\n/g" $db.pretty >$db.jq # as jq writes a line end
	jq --indent 2 . $db.compact | cmp - $db.jq
	compact="$compact $db.compact"
done
ms-report --json --site 2 --layout=compact run.db >site.compact
jq -e '.version == 2 and (.sites | length) == 1 and (.stacks | length) == ('"$(jq '.sites[0].stack | length' site.json)"')
	and .sites[0].stack == (.stacks | length) - 1' site.compact >/dev/null
# shellcheck disable=SC2086
$python "$SRC/tests/cli/report/validate.py" "$SRC/man/memscope-report.schema.json" $compact site.compact
# the validator itself finds faults
jq '.totals.frees = -1' run.json >bad1.json
jq 'del(.quality.complete)' run.json >bad2.json
jq '.sites[0].stack[0].line = "7"' run.json >bad3.json
jq '.stacks[0] = [0]' run.compact >bad4.json
for f in bad1 bad2 bad3 bad4; do
	! $python "$SRC/tests/cli/report/validate.py" "$SRC/man/memscope-report.schema.json" $f.json >/dev/null || exit 1
done
grep -q '"unfreed_bytes":9223372036854775807,' odd.json
jq -e '.quality.stacks_cut == null and .process.command == ["not JSON"] and .process.exit == null and .quality.attached == null' odd.json >/dev/null
jq -e '.sites[0].stack[1].function == "f\ufffd\n\"\ufffd("' odd.json >/dev/null
jq -e '.quality.cut == "run.trace by --from 1s" and .quality.from_ns == 1000000000 and .quality.to_ns == 3000000000 and .processes[0].cut == .quality.cut
	and .one_time == {sites: 2, live_bytes: 1048576, live_blocks: 1} and [.sites[] | select(.one_time).id] == [1, 8]
	and .sites[0].one_time == "the emergency pool"' noted.json >/dev/null
jq -e '.quality.cut == null and .quality.from_ns == null and .quality.to_ns == null and .one_time.sites == 0 and .sites[0].one_time == null' run.json >/dev/null
jq -e '(.sites | length) == 1 and .sites[0].id == 2 and .omitted.sites == 7' site.json >/dev/null
jq -e '.at == "1.5s" and [.sites[].id] == [7, 1] and .sites[1].live_bytes == 1048576 and .omitted.live_bytes == 129008' at.json >/dev/null
jq -e '.omitted.hidden_sites == 4 and .omitted.filters == "--not-function evil; --min 2k"' hidden.json >/dev/null
jq -e '.processes | length == 2' two.json >/dev/null
jq -e '[.views[].view] == ["by", "sizes", "summary", "threads", "modules", "timeline"] and (.views[0] | .by == "process"
	and [.rows[] | .peak_bytes, .peak_time_ns] == [3405476, 2500000000, 7000, 2000000000] and .total.at_sum_peak_bytes == 3406476)' views.json >/dev/null
ms-report --json --limit 2 --sizes --by function --threads --failed hidden.db >some.json
jq -e '.sites[0].id == 7 and (.views[0] | .view == "sizes" and [.rows[].low] == [16, 64] and .more.rows == 2 and .more.allocated_bytes == 5242880
	and .hidden.temporary == 94001 and .total.live_blocks == 3126)' some.json >/dev/null
jq -e '.views[1].rows[0] | .sites == 1 and .failed_allocations == 2 and .peak_blocks == 5' some.json >/dev/null
jq -e '[.views[2].rows[] | .thread, .peak_bytes] == ["orderd", 3205428, "io-1", 200048]' some.json >/dev/null
ms-report --json --limit 2 --sql "SELECT site, allocations / 8.0 AS 'a,\"b', NULL AS n, x'00FF' AS x, 1e999 AS inf, 1, 1 FROM hot" run.db >sql.json
jq -e '.views == [{"view": "sql", "rows": [{"site": 8, "a,\"b": 12500, "n": null, "x": "x\u002700ff\u0027", "inf": null, "1": 1, "1_2": 1},
	{"site": 2, "a,\"b": 625, "n": null, "x": "x\u002700ff\u0027", "inf": null, "1": 1, "1_2": 1}], "more": {"rows": 6}}]' sql.json >/dev/null
jq -e '(.sites[0].threads | map(.name) == ["io-1", "orderd"]) and (.sites[0].lifetimes | map(.frees) == [1500, 500, 2000]) and (.sites[0].sizes | map(.peak_blocks) == [4000])' site.json >/dev/null
jq -e '.totals.temporary_allocations == null and .quality.sampled_bytes == 524288' sampled.json >/dev/null
