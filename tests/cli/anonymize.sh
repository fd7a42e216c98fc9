#!/bin/sh
# SPDX-License-Identifier: MIT
# --anonymize: nothing of a name is left in any byte, equal names stay equal, and no figure changes.
set -eu
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

# ---- a program all of whose names say "secret" ----

mkdir secretfolder
cd secretfolder
cat >secret_source.cpp <<'C'
#include <memscope.h>
#include <pthread.h>
#include <stdlib.h>
#include <vector>
namespace secretns {
template <class T> struct SecretClass {
	__attribute__((noinline)) void secret_function(int n) { kept.push_back(T()); block = malloc((size_t)n); }
	std::vector<T> kept;
	void *block;
};
struct SecretType { char c[100]; };
}
static void *work(void *arg)
{
	pthread_setname_np(pthread_self(), "secretthread");
	static secretns::SecretClass<secretns::SecretType> s;
	for (int i = 0; i < 300; i++)
		s.secret_function(100);
	return arg;
}
int main()
{
	pthread_t t;
	pthread_create(&t, NULL, work, NULL);
	pthread_join(t, NULL);
	ms_mark("secretmark");
	free(malloc(10));
	return 0;
}
C
g++ -O1 -g "-I$SRC/include" -o secretprogram "$PWD/secret_source.cpp" -lpthread
ms-record -q -o secret.trace ./secretprogram secretarg1 --secret=arg || die "recording"
cd ..
trace=secretfolder/secret.trace

# has WORD FILE: in any case of letters, in its bytes or behind gzip
has() {
	{ gzip -dc "$2" 2>/dev/null || cat "$2"; } | grep -a -q -i -e "$1"
}
# clean FILE: nothing of the program's names, of the machine or the folders is in it
host=$(hostname)
[ ${#host} -ge 6 ] || host=secret # a short one is in many words
id=$(readelf -n secretfolder/secretprogram | sed -n 's/.*Build ID: //p')
clean() {
	for word in secret "$host" "$(basename "$(dirname "$PWD")")" "$(uname -r)" "$id"; do
		has "$word" "$1" && die "'$word' is in $1"
	done
	:
}

# ---- snapshots ----

ms-snap -o plain.db --at mark:secretmark --at peak --at end "$trace"
ms-snap -o snap.db --anonymize --at mark:secretmark --at peak --at end "$trace"
has secret plain.db || die "the test finds nothing anywhere"
clean snap.db
ms-filter --not-function secret_function --anonymize -o filter.db plain.db
clean filter.db
ms-diff plain.db plain.db >diff.db
has secret diff.db || die "nothing is in the diff"
ms-filter --anonymize diff.db >diff2.db
clean diff2.db
ms-snap --anonymize -o twice.db --at mark:secretmark --at peak --at end "$trace"
cmp snap.db twice.db || die "two runs differ"

# one name each, and the same for the same
for column in frame.function frame.file module.path thread.name snapshot.label mark.name process.exe; do
	t=${column%.*} c=${column#*.}
	bad=$(sqlite3 plain.db "ATTACH 'snap.db' AS a; SELECT count(*) FROM (SELECT p.$c FROM main.$t p JOIN a.$t q ON p.rowid = q.rowid
		GROUP BY p.$c HAVING count(DISTINCT q.$c) <> 1 AND p.$c IS NOT NULL)" 2>/dev/null ||
		sqlite3 plain.db "ATTACH 'snap.db' AS a; SELECT (SELECT count(DISTINCT $c) FROM main.$t) <> (SELECT count(DISTINCT $c) FROM a.$t)")
	[ "$bad" = 0 ] || die "$column: names do not stay apart or together"
	[ "$(sqlite3 plain.db "SELECT count(DISTINCT $c), count($c) FROM $t")" = "$(sqlite3 snap.db "SELECT count(DISTINCT $c), count($c) FROM $t")" ] ||
		die "$column: not as many names"
done
[ "$(sqlite3 snap.db "SELECT group_concat(label, ' ') FROM snapshot")" = "mark:mark1 peak end" ] || die "labels: $(sqlite3 snap.db 'SELECT label FROM snapshot')"
[ "$(sqlite3 snap.db 'SELECT count(*) FROM frame WHERE runtime = 0')" = "$(sqlite3 plain.db 'SELECT count(*) FROM frame WHERE runtime = 0')" ] ||
	die "runtime"

# the heap of a pool has the name that the program gave it
sqlite3 plain.db ".backup heap.db" "ATTACH 'heap.db' AS h" "UPDATE h.frame SET note = 'heap secretpool' WHERE id = 1"
ms-filter --anonymize heap.db >heap2.db
clean heap2.db
[ "$(sqlite3 heap2.db 'SELECT note FROM frame WHERE id = 1')" = 'heap allocator1' ] || die "heap: $(sqlite3 heap2.db 'SELECT note FROM frame WHERE id = 1')"

# every column that can hold text is thought of: replaced (*) or words of our own (=)
cat >columns <<'C'
= cohort.kind
* cohort.label
* cohort.mark
= diff.key
* diff.value
* diff_hidden.filter
= diff_known.verdict
* diff_run.command
* diff_run.exe
* diff_run.filters
* diff_run.name
* diff_run.point
= diff_run.side
= diff_total.figure
= estimate.figure
* frame.file
* frame.function
* frame.note
= growth.trend
* heap.name
* hidden.filter
* keeper.file
= keeper.kind
* keeper.module
* keeper.name
* keeper.thread
* keeper.type
= kept.path
* kept.type
* kept_diff.below_type
* kept_diff.file
= kept_diff.kind
* kept_diff.module
* kept_diff.name
* kept_diff.thread
* kept_diff.type
= loss.reason
* mark.name
= meta.key
* meta.value
* module.build_id
= module.kind
* module.path
= module.symbols
* process.allocator
* process.allocators_missed
= process.before
= process.before_why
= process.clock
* process.comm
* process.command
* process.core
* process.core_lacks
* process.core_trace
* process.cut
* process.cwd
= process.end_reason
* process.exe
* process.hooks_missing
* process.host
* process.kernel
= process.left_behind
= process.machine
= process.options
= process.recorder
= process.session
= process.state
* process.trace
= region.kind
* region.path
= region.perms
= region_diff.change
= region_diff.kind
* region_diff.path
* region_diff.process
* resident.label
= resident.state
* resident_file.file
= retention.state
* scan.label
= scan.mask
= scan.state
= site.entry
* site.key
= site.one_time
= site.verdict
* site_diff.evidence
= site_diff.figures
= site_diff.kind
= site_diff.matched
= site_diff_range.figure
= site_lifetime.unit
= site_unfreed.kind
* site_unfreed.name
= site_verdict.reason
= site_verdict.verdict
* skipped.name
= skipped.reason
* snapshot.label
* suppression.file
= suppression.note
* suppression.rule
* thread.label
* thread.name
C
sqlite3 snap.db "SELECT m.name || '.' || p.name FROM sqlite_schema m, pragma_table_info(m.name) p
	WHERE m.type = 'table' AND p.type IN ('TEXT', 'ANY') ORDER BY 1" >have
sed 's/^..//' columns | diff - have || die "a text column that nobody has decided on"

# ---- reports ----

figures='.totals, (.sites | map([.live_bytes, .allocations, (.stack | length)]))'
ms-report --json=plain.json "$trace"
ms-report --json=anonymous.json --anonymize "$trace"
[ "$(jq -c "$figures" plain.json)" = "$(jq -c "$figures" anonymous.json)" ] || die "figures changed"
help=$(ms-report --help=all)
for format in text md json csv folded sarif junit github html pprof speedscope gprof2dot massif dhat heaptrack callgrind chrome-trace; do
	case $help in *"--$format"*) ;; *) continue ;; esac
	ms-report "--$format=out.$format" --anonymize --at mark:secretmark "$trace" || die "--$format"
	[ -s "out.$format" ] || die "--$format is empty"
	clean "out.$format"
done
ms-report --svg=flame:out.flame --svg=timeline:out.timeline --anonymize --at mark:secretmark "$trace" || die "--svg"
clean out.flame
clean out.timeline
for view in tree leaks threads modules "by file" "site 1" timeline; do
	# shellcheck disable=SC2086
	ms-report --$view --full-names --anonymize "$trace" >"out.view"
	clean out.view
done
ms-report --anonymize --source-root "$PWD/secretfolder" --code-url 'https://x/{file}#{line}' --md "$trace" >out.md
clean out.md
grep -q '](https://x/p[0-9]*.cpp#' out.md || die "no link: the source root is not found"

# ---- traces ----

"$TB/cli/anonymize-bytes" "$trace" >plain.bytes
has secretns plain.bytes || die "the test does not see into traces"
ms-filter --trace-out anonymous.trace --anonymize "$trace"
"$TB/cli/anonymize-bytes" anonymous.trace >anonymous.bytes
clean anonymous.trace
clean anonymous.bytes
ms-report --json=cut.json anonymous.trace
[ "$(jq -c "$figures" plain.json)" = "$(jq -c "$figures" cut.json)" ] || die "figures of the trace changed"
ms-filter --trace-out some.trace --from mark:secretmark --function malloc --anonymize "$trace"
"$TB/cli/anonymize-bytes" some.trace >some.bytes
clean some.bytes
[ "$(ms-report --json anonymous.trace | jq -r '[.sites[].stack[].function | select(. != null)] | unique | length')" = \
	"$(jq -r '[.sites[].stack[].function | select(. != null)] | unique | length' plain.json)" ] || die "functions of the trace"

# ---- regions ----

ms-snap --maps -p $$ --anonymize -o maps.db
clean maps.db
[ "$(sqlite3 maps.db "SELECT count(*) FROM region WHERE path = '[heap]'")" = 1 ] || die "the heap has another name"
