#!/bin/sh
# SPDX-License-Identifier: MIT
# The recipe in tests/ci from end to end: a history, two builds, budgets, all that it writes, and the comment with a gh that notes what it is told.
set -eu
recipe=${SRC:?}/tests/ci/heap.sh
PATH=${BIN:?}:$PATH
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
build() { # OUTPUT FLAGS
	# shellcheck disable=SC2086
	mkdir "$1" && g++ -g -O1 $2 -o "$1/app" index.cc
}
cat >index.cc <<'END'
#include <cstdio>
#include <map>
#include <string>
struct Index {
	std::map<int, std::string> words;
	void insert(int n) { words[n] = std::string(100, 'x'); }
};
__attribute__((noinline)) static void forget()
{
	for (int i = 0; i < 20; i++)
		*new volatile char[3000] = 1;
}
int main()
{
	forget();
	static Index *index = new Index;
	for (int i = 0; i < 1000; i++)
		index->insert(i);
#ifdef LEAK
	for (int i = 0; i < 64; i++)
		*new volatile char[2000] = 1;
#endif
	return puts("tested") < 0;
}
END
build one ''
build two -DLEAK
[ "$("$recipe" record main one/app)" = tested ] || die "the tests' output"
"$recipe" record branch two/app >/dev/null
[ "$(echo main/* branch/*)" = 'main/run.db main/run.trace branch/run.db branch/run.trace' ] || die "files: $(echo main/* branch/*)"
export GITHUB_ACTIONS=true BUDGETS="$SRC/tests/ci/budgets" CODE_URL='https://host/x/blob/main/{file}#L{line}'

# no history yet: everything is new, and no budget on a change can be broken
rc=0
"$recipe" compare history main first test=unit >notes 2>err || rc=$?
[ $rc = 0 ] || die "no history: status $rc: $(cat notes err)"
# commits of main; another test's runs are not asked
for n in 1 2 3; do
	"$recipe" append history main test=unit "commit=c$n" "time=$n" || die "append $n"
done
"$recipe" append history branch 'test=another one' commit=c4
rc=0
"$recipe" append history main test=unit commit=c1 2>err || rc=$?
[ "$rc $(find history -name 'v1-*' | wc -l)" = '2 4' ] || die "the same commit again: status $rc: $(cat err)"
# the same build once more
"$recipe" compare history main same test=unit >notes 2>err || die "the same build: $? $(cat notes err)"
[ "$(cat notes)" = '::notice title=MemScope::1 finding not listed here: the old runs have it too' ] || die "annotations of the same build: $(cat notes)"
GITHUB_ACTIONS='' "$recipe" compare history branch quiet 'test=another one' >notes 2>err || die "a key with a blank: $? $(cat notes err)"
[ ! -s notes ] || die "annotations outside of GitHub: $(cat notes)"
# and one that leaks 64 blocks
rc=0
"$recipe" compare history branch out test=unit >notes 2>err || rc=$?
[ $rc = 1 ] || die "a leak of 128,000 bytes: status $rc: $(cat notes err)"
grep -q "budget 'delta_unfreed_bytes > 64k' is broken: the figure is +128000" err || die "$(cat err)"
grep -q '^::error file=index.cc,line=21,title=Budget broken::budget .delta_unfreed_bytes > 64k. is broken' notes || die "$(cat notes)"
# shellcheck disable=SC2016 # Markdown's
grep -q '^| grown.* | `main` \[index.cc:21\](https://host/x/blob/main/index.cc#L21) |$' out/comment.md || die "$(cat out/comment.md)"
grep -q '<failure type="memscope/budget"' out/heap.xml || die "$(cat out/heap.xml)"
jq -e '[.runs[0].results[].ruleId] | index("memscope/budget")' out/heap.sarif >/dev/null || die "$(cat out/heap.sarif)"
# the leak that main has too is no error of the branch
[ "$(jq -r '.runs[0].results[] | select(.ruleId == "memscope/unreachable") | .level' out/heap.sarif | tr '\n' ' ')" = 'error note ' ] ||
	die "levels: $(jq -c .runs[0].results out/heap.sarif | cut -c 1-2000)"
[ "$(grep -c '^::error.*title=Unreachable memory' notes)" = 1 ] || die "errors: $(cat notes)"
[ "$(wc -c <out/comment.md)" -lt 60000 ] || die "the comment is too long"

# the comment is made once, then replaced
mkdir bin
cat >bin/gh <<'END'
#!/bin/sh
printf "%s\n" "$*" >>"$GH_LOG"
case $* in *--jq*) printf '17\t<!-- other -->\n23\t%s\n' "$GH_KEY" ;; esac
END
chmod +x bin/gh
export GH_LOG="$PWD/log" GH_KEY='<!-- another -->'
PATH=$PWD/bin:$PATH "$recipe" comment out 5
GH_KEY=$(head -n 1 out/comment.md)
PATH=$PWD/bin:$PATH "$recipe" comment out 5
[ "$(grep -v jq log)" = 'api repos/{owner}/{repo}/issues/5/comments -F body=@out/comment.md
api -X PATCH repos/{owner}/{repo}/issues/comments/23 -F body=@out/comment.md' ] || die "$(cat log)"
rc=0
"$recipe" 2>err || rc=$?
[ "$rc $(wc -l <err)" = '2 7' ] || die "usage: $rc $(cat err)"
