#!/bin/sh
# SPDX-License-Identifier: MIT
# A recipe for continuous integration: record a test-suite, keep the trace, compare with main, comment, fail on a budget.
#
#   heap.sh record FOLDER RUNS COMMAND...   RUNS recordings of COMMAND: FOLDER/run.N.trace (to be archived) and FOLDER/run.N.db
#   heap.sh compare BASE NEW OUT            snapshots of folder NEW against those of folder BASE (none yet: everything is new):
#                                           OUT/comment.md, OUT/heap.sarif, OUT/heap.xml, annotations on standard output
#   heap.sh comment OUT PULL-REQUEST        OUT/comment.md becomes the one comment on the pull request that begins with its first
#                                           line (needs gh)
#
# Environment: BUDGETS, a file of budgets for ms-report --budgets; CODE_URL, for ms-report --code-url. The status of compare is that of
# the budgets: 0 held, 1 broken, 2 not decided.
set -eu

record() {
	folder=$1 runs=$2
	shift 2
	mkdir -p "$folder"
	for n in $(seq "$runs"); do
		ms-record -q -o "$folder/run.$n.trace" -- "$@"
		ms-snap -o "$folder/run.$n.db" "$folder/run.$n.trace"
	done
}

compare() {
	base=$1 new=$2 out=$3
	mkdir -p "$out"
	set -- --allow-missing-old
	for db in "$base"/run.*.db; do # the pattern itself where there are none: that is what may be missing
		set -- "$@" --old "$db"
	done
	for db in "$new"/run.*.db; do
		set -- "$@" --new "$db"
	done
	ms-diff "$@" -o "$out/diff.db"
	status=0
	ms-report --md="$out/comment.md" --sarif="$out/heap.sarif" --junit="$out/heap.xml" --github \
		${BUDGETS:+--budgets "$BUDGETS"} ${CODE_URL:+--code-url "$CODE_URL"} "$out/diff.db" || status=$?
	return $status
}

comment() {
	out=$1 pull=$2
	key=$(head -n 1 "$out/comment.md")
	id=$(gh api "repos/{owner}/{repo}/issues/$pull/comments" --paginate --jq '.[] | [.id, (.body | split("\n")[0])] | @tsv' |
		awk -F '\t' -v key="$key" '$2 == key { print $1; exit }')
	if [ -n "$id" ]; then
		gh api -X PATCH "repos/{owner}/{repo}/issues/comments/$id" -F body=@"$out/comment.md" >/dev/null
	else
		gh api "repos/{owner}/{repo}/issues/$pull/comments" -F body=@"$out/comment.md" >/dev/null
	fi
}

case ${1-} in
record | compare | comment) "$@" ;;
*)
	sed -n '/^#   /s/^#   //p' "$0" >&2
	exit 2
	;;
esac
