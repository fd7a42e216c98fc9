#!/bin/sh
# SPDX-License-Identifier: MIT
# A recipe for continuous integration: record a test-suite once, compare with the last commits of main, comment, fail on a budget.
#
#   heap.sh record FOLDER COMMAND...           a recording of COMMAND and what it starts: FOLDER/run.trace, run.trace.d (to be archived), run.db
#   heap.sh compare HISTORY FOLDER OUT KEY...  the snapshot of FOLDER against the last runs of dataset HISTORY that have these keys, NAME=VALUE
#                                              (none yet: everything is new): OUT/comment.md, OUT/heap.sarif, OUT/heap.xml, in a workflow
#                                              of GitHub annotations on standard output
#   heap.sh append HISTORY FOLDER KEY...       the recording of FOLDER becomes a run of dataset HISTORY with these keys
#   heap.sh comment OUT PULL-REQUEST           OUT/comment.md becomes the one comment on the pull request that begins with its first
#                                              line (needs gh)
#
# Environment: BUDGETS, a file of budgets for ms-report --fail-on=file; CODE_URL, for ms-report --source=url; GITHUB_ACTIONS, which GitHub sets: findings are
# annotations of its log. The status of compare is that of the budgets: 0 held, 1 broken, 2 not decided.
set -eu

record() {
	folder=$1
	shift
	mkdir -p "$folder"
	ms-record -q --follow=all -o "$folder/run.trace" -- "$@"
	snap "$folder" -o "$folder/run.db"
}

# ms-snap of all processes.
snap() {
	traces=$1
	shift
	for trace in "$traces"/run.trace "$traces"/run.trace.d/*.trace; do
		[ ! -e "$trace" ] || set -- "$@" "$trace" # the pattern itself where it started nothing
	done
	ms-snap "$@"
}

# Calls the command before "--" with each KEY behind it as --key KEY.
with_keys() {
	n=$#
	keys=
	while [ "$n" -gt 0 ]; do
		word=$1
		shift
		n=$((n - 1))
		if [ "$word" = -- ]; then
			keys=yes
		elif [ "$keys" ]; then
			set -- "$@" --key "$word"
		else
			set -- "$@" "$word"
		fi
	done
	"$@"
}

compare() {
	history=$1 folder=$2 out=$3
	shift 3
	mkdir -p "$out"
	with_keys ms-diff --allow-missing-old --history "$history" --new "$folder/run.db" -o "$out/diff.db" -- "$@"
	status=0
	ms-report --md="$out/comment.md" --sarif="$out/heap.sarif" --junit="$out/heap.xml" ${GITHUB_ACTIONS:+--github} \
		${BUDGETS:+--fail-on "file:$BUDGETS"} ${CODE_URL:+--source "url:$CODE_URL"} "$out/diff.db" || status=$?
	return $status
}

append() {
	history=$1 folder=$2
	shift 2
	with_keys snap "$folder" --dataset "$history" -- "$@"
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
record | compare | append | comment) "$@" ;;
*)
	sed -n '/^#   /s/^#   //p' "$0" >&2
	exit 2
	;;
esac
