#!/bin/bash
# SPDX-License-Identifier: MIT
# What the first screen says first: leaks, else the peak; what is live by its bytes, known blocks of the runtime by their names; files by their path from
# where the program's sources lie.
set -eu
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
mkdir -p project/src project/lib run
cp "$SRC/tests/cli/report/screen.cc" project/src/screen.cc
cp "$SRC/tests/cli/report/screen_names.cc" project/lib/names.cc
g++ -g -O1 -o project/screen "$PWD/project/src/screen.cc" "$PWD/project/lib/names.cc"
cd run
for what in keep lose; do
	"$BIN/ms-record" -q -o $what.trace ../project/screen $what >/dev/null
	"$BIN/ms-report" $what.trace >$what
	"$BIN/ms-report" --md $what.trace >$what.md
done
order() { sed -nE 's/^(#### )?(UNREACHABLE|PEAK|LIVE)( AT THE END)?[ ,].*/\2/p' "$1" | tr '\n' ' '; }
[ "$(order keep)$(order keep.md)" = 'PEAK LIVE PEAK LIVE ' ] || die "without leaks: $(order keep)$(order keep.md)"
[ "$(order lose)$(order lose.md)" = 'UNREACHABLE LIVE PEAK UNREACHABLE LIVE PEAK ' ] || die "with leaks: $(order lose)$(order lose.md)"
site=$(sed -nE 's/^ *[0-9.]+ % .* ([0-9]+)  make_names .*$/\1/p' keep | head -1)
grep -q "^Next     ms-report --site $site " keep || die "what to type: $(grep -A3 Next keep)"
# the emergency pool is the largest block at the end
pool=$(emergency_pool | awk '{ printf "%.1f KiB", $1 / 1024 }')
live() { sed '1,/^[#]* *LIVE/d' "$1" | grep -E '^(\| )? *[0-9.]+ (Ki)?B' ; }
live keep | sed -n 2p | grep -Eq '4\.9 KiB +1 +[0-9]+  make_names ' || die "second of what is live: $(live keep)"
live keep | head -1 | grep -Eq "${pool/./\\.} +1 +1  "'\[libstdc\+\+ emergency pool\]  \[libstdc\+\+\.so\.[0-9.]+\]$' || die "the pool: $(live keep)"
live keep | tail -1 | grep -Eq ' main +src/screen.cc:[0-9]+ +\[stdio buffer\]$' || die "the buffer: $(live keep)"
# shellcheck disable=SC2016
live keep.md | grep -q '`main` src/screen.cc:[0-9]*, stdio buffer of the runtime' || die "Markdown: $(live keep.md)"
"$BIN/ms-report" --limit 1 --leaks keep.trace | grep -qF " $pool " || die 'one row'
# at the peak they count as any other
"$BIN/ms-report" --peak keep.trace | sed -n 3p | grep -q '\[libstdc++ emergency pool\]' || die "--peak: $("$BIN/ms-report" --peak keep.trace)"

# ---- files ----
grep -Eq ' make_names +lib/names.cc:[0-9]+' keep || die "a file: $(cat keep)"
"$BIN/ms-report" --width 400 --source-root /nowhere keep.trace | grep -q "$(dirname "$PWD")/project/lib/names.cc:" || die '--source-root'
(cd ../project && "$BIN/ms-record" -q -o here.trace ./screen keep >/dev/null && "$BIN/ms-report" here.trace) >here
grep -Eq ' make_names +lib/names.cc:[0-9]+' here || die "below the folder where it ran: $(cat here)"

# ---- what allocates most ----
cp "$SRC/tests/cli/report/rounds.cc" .
g++ -g -O1 -o rounds rounds.cc
"$BIN/ms-record" -q -o rounds.trace ./rounds >/dev/null
"$BIN/ms-report" rounds.trace >rounds.txt
"$BIN/ms-snap" -q -o rounds.db rounds.trace
"$BIN/ms-report" rounds.db | diff - rounds.txt >difference || true
! grep -q 'Calls\|CHURN\|MOST\|freed within' difference || die "the snapshot says $(cat difference)"
grep -Eq '^ +[0-9.]+ % temporary, (9[0-9]|100) % freed within 10 allocations, ' rounds.txt || die "freed soon: $(grep -A1 '^Calls' rounds.txt)"
[ "$(sqlite3 rounds.db "SELECT freed_soon = (SELECT sum(frees) FROM site_lifetime WHERE unit = 'allocations' AND high < 10) AND freed_soon > 3900
	AND temporary_allocations < 2020 FROM process")" = 1 ] || die "freed soon: $(sqlite3 rounds.db 'SELECT freed_soon, temporary_allocations FROM process')"
grep -q '^CHURN    100 % of all calls: many rounds.cc:11, 4,000 blocks, 100 % freed within 10 allocations$' rounds.txt || die "CHURN: $(cat rounds.txt)"
grep -Eq '^MOST     ALLOCATED 9[0-9] % of all bytes, in 10 calls: large rounds.cc:[0-9]+  #[0-9]+, called by main$' rounds.txt || die "MOST: $(cat rounds.txt)"
# of a sampled one it is not known, and where it is little more than temporary it is not said
"$BIN/ms-record" -q --sample 1k -o sampled.trace ./rounds >/dev/null
"$BIN/ms-report" sampled.trace >sampled.txt
! grep -q 'freed within' sampled.txt || die "sampled: $(cat sampled.txt)"
! grep -q 'freed within' keep || die "little: $(cat keep)"
