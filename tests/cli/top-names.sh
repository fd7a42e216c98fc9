#!/bin/bash
# SPDX-License-Identifier: MIT
# ms-top's names are ms-report's: what a site called, the tree with a row for each function; filters and orders of plain frames; what y
# copies, to a terminal's clipboard.
set -u
# shellcheck source-path=SCRIPTDIR source=top/lib.sh
. "$SRC/tests/cli/top/lib.sh"
traced=$TB/cli/top/traced
"$BIN/ms-record" -q -o run.trace "$traced" < <(printf 'twice 100\nword 50\nhoard 10\nchurn 30\n') >said || fail "recording: status $?"

# ---- what a site called ----
timeout 600 "$T" --json -n 1 run.trace >frame.json || fail "--json: status $?"
names='[.site.name, .called.name, .caller.name]'
[ "$(jq -c "[.sites[] | $names] | unique" frame.json)" = \
	'[["churn",null,"main"],["hoard",null,"main"],["leaf",null,"twice"],["word","__strdup","main"]]' ] || fail "names: $(jq -c ".sites[] | $names" frame.json)"
ms-report run.trace >report.txt || fail "ms-report: status $?"
called=$(sed -nE 's/^.* word +.*traced\.c:[0-9]+ +(\w+)$/\1/p' report.txt | sort -u)
[ "$called" = __strdup ] || fail "ms-report calls it '$called': $(cat report.txt)"
COLUMNS=140 timeout 600 "$T" -b -n 1 run.trace >frame || fail "-b: status $?"
expect ' word traced\.c:[0-9]+  __strdup < main$'
expect ' hoard traced\.c:[0-9]+ < main$'

# ---- filter and order ----
order() { COLUMNS=140 timeout 600 "$T" -b -n 1 "$@" run.trace | sed -nE 's/^ .* (leaf|word|hoard|churn) traced\.c.*/\1/p' | tr '\n' ' '; }
[ "$(order)" = 'leaf leaf hoard word churn ' ] || fail "order: $(order)"
[ "$(order --sort blocks)" = 'leaf leaf word hoard churn ' ] || fail "--sort blocks: $(order --sort blocks)"
[ "$(order --sort -live)" = 'churn word hoard leaf leaf ' ] || fail "--sort -live: $(order --sort -live)"
[ "$(order --filter 'twice|strdup')" = 'leaf leaf word ' ] || fail "--filter: $(order --filter 'twice|strdup')"
[ "$(order --filter 'traced.c$')" = 'leaf leaf hoard word churn ' ] || fail "a file: $(order --filter 'traced.c$')"
# not by the folders that all files lie in, the checkout's and that where the tests run
while read -r part; do # with the slash before it too: u/ is in gnu/
	[ -z "$(order --filter "/$part/")" ] || fail "--filter /$part/: $(order --filter "/$part/")"
done < <(echo "$SRC/$PWD" | tr / '\n' | sort -u | grep -vE '^(top|cli|tests|)$')
wrong() { # MESSAGE ARGS
	local message=$1 rc
	shift
	timeout 600 "$T" -b -n 1 "$@" >out 2>err </dev/null
	rc=$?
	[ $rc = 2 ] || fail "$*: status $rc"
	grep -q -- "$message" err || fail "$*: $(cat err)"
}
wrong "a trace cannot be sorted by 'rss': choose from LIVE, PEAK, /MIN" --sort rss run.trace
wrong "'--columns' is for the list of processes only" --columns pid run.trace
wrong "'--kernel' is for the list of processes only" --kernel -p 1
wrong "'--filter' is for the list of processes and for traces, not for -p PID" --filter x -p 1
wrong "--proc-root and 'run.trace': choose one" --proc-root /proc/ run.trace

# ---- the tree ----
start 120 40 run.trace
sees '^> +391 K .* 200 .* leaf traced\.c:[0-9]+ < twice traced\.c:[0-9]+$'
# two rows of one line that have one caller too, by its line
[ "$(grep -oE 'leaf traced\.c:[0-9]+ < twice traced.*' screen | sort -u | wc -l)" = 2 ] || fail "rows that read the same: $(cat screen)"
keys 2
sees '^  +586 K +[0-9.]+ +300 +- twice traced\.c$'
sees '^  +586 K +[0-9.]+ +300 +leaf traced\.c:[0-9]+$'
# the figures of ms-report's tree
ms-report --tree --at end --limit 100 run.trace | sed -nE 's/^ *([0-9.,]+ [KM]?i?B) +([0-9,]+)x .* (leaf|twice|word|hoard)( .*)?$/\3 \1 \2/p' | sort >report
printf '%s\n' 'hoard 9.8 KiB 10' 'leaf 585.9 KiB 300' 'twice 585.9 KiB 300' 'word 1.3 KiB 50' | cmp -s - report || fail "ms-report's tree: $(cat report)"
keys v
sees '^  +391 K +[0-9.]+ +200 +- twice traced\.c:[0-9]+$'
sees '^  +195 K +[0-9.]+ +100 +(\+|-) twice traced\.c:[0-9]+$'
keys v
sees '^  +586 K +[0-9.]+ +300 +- twice traced\.c$'
# the selection stays with its function
keys j k
until_true eval "screen; grep -qE '^>.* main ' screen"
keys v
sees '^>.* main '
keys v G
sees '^> '
keys q
ends 0
# siblings that would read the same: instances of a template by their arguments; functions of two modules, or files, by these
mkdir one other
for i in one other; do
	printf '#include <stdlib.h>\nstatic void *load(size_t n) { return malloc(n); }\nvoid *(*%s(void))(size_t) { return load; }\n' $i >$i/load.c
	printf '#include <stdlib.h>\nstatic void *plug(size_t n) { return malloc(n); }\nvoid *(*plug_%s(void))(size_t) { return plug; }\n' $i >plug.c
	gcc -g -O0 -shared -fPIC -o lib$i.so plug.c
	gcc -g -O0 -c -o $i.o $i/load.c
done
cat >alike.cc <<'END'
#include <cstdlib>
#include <string>
#include <vector>
namespace desk::market::pricing {
struct QuoteOfTheFirstVenue { char v[100]; };
struct QuoteOfTheOtherVenue { char v[200]; };
template <typename Key, typename Value> struct LastingTable {
	__attribute__((noinline)) void *insert_or_assign_with_expiry(size_t n) { return malloc(n * sizeof(Value)); }
};
}
using namespace desk::market::pricing;
extern "C" { void *(*one(void))(size_t); void *(*other(void))(size_t); void *(*plug_one(void))(size_t); void *(*plug_other(void))(size_t); }
void *kept[6];
int main()
{
	LastingTable<std::vector<std::string>, QuoteOfTheFirstVenue> a;
	LastingTable<std::vector<std::string>, QuoteOfTheOtherVenue> b;
	kept[0] = a.insert_or_assign_with_expiry(10), kept[1] = b.insert_or_assign_with_expiry(20);
	kept[2] = one()(10000), kept[3] = other()(20000), kept[4] = plug_one()(30000), kept[5] = plug_other()(40000);
}
END
g++ -g -O0 -o alike alike.cc one.o other.o libone.so libother.so -Wl,-rpath,. || fail 'g++'
"$BIN/ms-record" -q -o alike.trace ./alike || fail 'recording of names that are alike'
start 80 24 alike.trace
sees '^> '
keys 2 v
sees '^ +3\.91 K .* …Other…::insert_or_assign_with_expiry alike\.cc:8$'
sees '^ +1000 .* …First…::insert_or_assign_with_expiry alike\.cc:8$'
sees '^ +39\.1 K .* plug \[libother\.so\]$'
sees '^ +29\.3 K .* plug \[libone\.so\]$'
sees '^ +19\.5 K .* load [^ ]*other/load\.c:2$'
sees '^ +9\.77 K .* load [^ ]*one/load\.c:2$'
keys v
sees '^ +39\.1 K .* plug \[libother\.so\]$'
sees '^ +3\.91 K .* …Other…::insert_or_assign_with_expiry alike\.cc:8$'
keys q
ends 0
start 120 40 run.trace
sees '^> '

# ---- y ----
$S set -s set-clipboard on
# shellcheck disable=SC2317 # called by eval
buffer() { $S show-buffer 2>/dev/null; }
keys g y
sees "sent [0-9]+ lines to the terminal's clipboard \\(OSC 52\\)"
until_true eval 'buffer >copied; [ -s copied ]'
expect '^390\.6 KiB in 200 blocks, traced .*at [0-9.]+s$' copied
expect '^  0  leaf  .*traced\.c:[0-9]+$' copied
expect '^  1  twice  .*traced\.c:[0-9]+$' copied
expect '^  2  main  .*traced\.c:[0-9]+$' copied
frames=$(timeout 600 ms-report --csv --site 1 run.trace 2>/dev/null | wc -l)
[ "$(wc -l <copied)" -ge 5 ] || fail "copied ($frames in the report): $(cat copied)"
$S delete-buffer
keys 3 y
until_true eval 'buffer >copied; [ -s copied ]'
expect '^ +LIVE  BLOCKS ALLOC/S .* THREAD$' copied
expect '^> +.* traced$' copied
keys q
ends 0
"$BIN/ms-record" -q -o one.trace "$traced" < <(printf 'hoard 1\n') >said || fail "recording one: status $?"
start 120 40 one.trace
sees '^> '
$S set -s set-clipboard on
keys y
until_true eval 'buffer >copied; [ -s copied ]'
expect ' in 1 block, traced ' copied
$S delete-buffer
keys q
ends 0
made_system
process 1 init 4096 0 1
process 100 orderd 1048576 1 50
printf '/usr/bin/orderd\0%s\0' "--with-a-long-list-of=$(printf 'arguments,%.0s' {1..15})end" >proc/100/cmdline
start 60 24 --proc-root proc
sees '^> +100 '
$S set -s set-clipboard on
keys y
until_true eval 'buffer >copied; [ -s copied ]'
expect '^ +PID USER +RSSv +PSS .* COMMAND$' copied
expect '^> +100 root +1\.00 G +512 M .* orderd --with-a-long.*,end$' copied
keys q
ends 0
# these would show it
TERM_OF=linux start 60 24 --proc-root proc
sees '^> +100 '
keys y
sees 'this terminal has no clipboard that programs can write to'
keys q
until_true test -s after
[ $failures = 0 ] && echo ok
exit $((failures != 0))
