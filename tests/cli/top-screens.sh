#!/bin/bash
# SPDX-License-Identifier: MIT
# What ms-top's screens say on small and large terminals: groups that are opened, titles, keys and figures that are whole, what a screen without
# its header must say, ends of long names.
set -u
# shellcheck source-path=SCRIPTDIR source=top/lib.sh
. "$SRC/tests/cli/top/lib.sh"
made_system
process 1 init 4096 0 1
process 100 orderd 1048576 1 50
process 201 worker 131072 100 70
process 202 worker 65536 100 71
process 400 g++ 40000 1 80
process 401 g 30000 1 81
process 500 long 20000 1 90
python3 -c "print('/opt/long\0' + '\0'.join('--argument=%d' % i for i in range(60)), end='')" >proc/500/cmdline
printf '5500-5600 rw-p 00000000 00:00 0 [heap]\nRss: 100 kB\n7f0000000000-7f0000080000 r--s 00001000 00:01 7 /a/folder/whose/name/needs/quite/some/room/on/the/screen/libthe-end.so\nRss: 28 kB\n' >proc/500/smaps
echo '24414 32 7 1 0 1 0' >proc/500/statm
nothing() { ! grep -qE -- "$1" screen || fail "'$1' on the screen${2+ ($2)}: $(cat screen)"; }
whole() { nothing '…' "$@"; }

# ---- a group is opened, and closed, where it stands ----
mv proc/202/smaps_rollup rollup
start 120 30 --proc-root proc -d 200ms
sees '^\[1 Processes\]'
keys 2 j
# a sum of some members is none: until each was read, there is a -
sees '^> +x2 root +192 M +- +- +- +- .* \+ worker$'
mv rollup proc/202/smaps_rollup
sees '^> +x2 root +192 M +96\.0 M +48\.0 M +8\.00 K +144 M .* \+ worker$'
keys Enter
sees '^> +x2 root +192 M .* - worker$' 'opened'
sees '^  +201 root +128 M .*   worker --port 201$'
sees '^  +202 root +64\.0 M .*   worker --port 202$'
# members are in the order of all, and stay when other figures come
keys F v
sees '^> +x2 ' 'reversed'
screen
[ "$(awk '$1 ~ /^20[12]$/ { print $1 }' screen | tr '\n' ' ')" = '202 201 ' ] || fail "members reversed: $(cat screen)"
keys v
sees 'sort RSS '
keys j
sees '^> +201 '
process 201 worker 1024 100 70
sees '^> +201 root +1\.00 M' 'a member that shrank'
sees '^── 201 worker '
keys Enter
sees '^201 /usr/bin/worker --port 201'
keys q
sees '^> +201 '
keys 1
sees '^> +201 ' 'chosen in a group, and there in the list'
keys 2
sees '^> +201 '
keys k k
sees '^> +x2 '
keys Enter
sees '^> +x2 .* \+ worker$' 'closed'
nothing '^. +20[12] '
# what a group is called is no pattern
keys / 'g\+\+' Enter Enter
sees '^> +x1 .* - g\+\+$'
sees '^  +400 root .*   g\+\+ --port 400$'
nothing '^. +401 '
keys Enter u u
sees 'by cgroup'
keys g Enter
sees '^> +x1 .* - orderd\.service$' 'by cgroup'
sees '^  +100 root .*   orderd --port 100$'
keys q
ends 0

# ---- titles of what rows are sorted by ----
for column in pid user rss pss uss swap rss+swap shared heap vsz /min start history verdict s thr cpu% read/s write/s fault/s from cgroup command; do
	COLUMNS=80 timeout 600 "$T" --proc-root proc -b -n 1 --columns "pid,$column,rss" --sort "$column" >frame || fail "--sort $column: status $?"
	title=${column^^}
	expect "(^| )${title/+/[+]}v( |\$)"
done

# a process of 2 MiB, a quarter of it its own, and 4 KiB swapped out
process 600 shares 2048 1 60
COLUMNS=80 timeout 60 "$T" --proc-root proc -b -n 1 --columns rss,rss+swap,shared,command --filter '^shares' >frame
expect '^ +2\.00 M +2\.00 M +1\.50 M shares'
rm -r proc/600

# ---- at 80 columns ----
COLUMNS=80 timeout 600 "$T" --proc-root proc -b -n 1 >frame
expect '^ +PID +RSSv +PSS +USS +HEAP +/MIN VERDICT COMMAND'
COLUMNS=64 timeout 600 "$T" --proc-root proc -b -n 1 >frame
expect '^ +PID +RSSv +HEAP +/MIN VERDICT COMMAND'
COLUMNS=90 timeout 600 "$T" --proc-root proc -b -n 1 >frame
expect '^ +PID +RSSv +PSS +USS +HEAP +/MIN +START VERDICT'
expect '^Mem 8\.00 G  used █{6}·{6} 4\.00 G '
# the filter has all arguments, also those that no row can show
[ "$(timeout 600 "$T" --proc-root proc -b -n 1 --filter 'argument=59' | awk '$1 ~ /^[0-9]+$/ { print $1 }')" = 500 ] || fail 'the last one of many arguments'
[ -z "$(timeout 600 "$T" --proc-root proc -b -n 1 --filter 'argument=60' | awk '$1 ~ /^[0-9]+$/ { print $1 }')" ] || fail 'one that nobody has'

# ---- long arguments leave room for the rest ----
start 80 24 --proc-root proc --filter "'^long'"
sees '^── 500 long --argument=0.*…  root  cgroup long\.service  3 threads ─'
sees 'Swap 512 M / 1\.00 G$'
keys Enter
sees '^> 5500 '
sees '^  7f0000000000 .* shared_lib +…[a-z/]*/screen/libthe-end\.so$'
$S resize-window -x 40 -y 10
sees '^  7f0000000000 +28\.0 K ….*the-end\.so$'
sees '^  2 REGIONS +RSS FILE$'
keys q f
sees '^filter: '
keys -l 'abcdefghijklmnopqrstuvwxyz0123456789'
sees '^filter: …[a-z]+0123456789$' 'the end of what is typed'
keys Enter q
ends 0
timeout 600 "$T" --proc-root proc -b -n 1 --filter "$(printf 'x%.0s' {1..128})" 2>err >frame
[ $? = 2 ] || fail 'a filter of 128 bytes'
grep -q "bad --filter 'xxx.*at most 127 bytes" err || fail "$(cat err)"
rm -f status before after
TERM_OF=dumb start 80 24 --proc-root proc
sees "^ms-top: terminal 'dumb' cannot move its cursor: use -b for plain text output"
until_true test -s after
[ "$(cat status)" = 2 ] || fail "TERM=dumb: status $(cat status)"
unset TERM_OF

# ---- a trace ----
"$BIN/ms-record" -q -o run.trace "$TB/cli/top/traced" < <(echo hoard 100 && echo churn 500 && echo thread 40) >said || fail "recorder: status $?"
for column in live /min blocks alloc/s total temp verdict; do
	COLUMNS=110 timeout 600 "$T" -b -n 1 --sort "$column" run.trace >frame || fail "--sort $column: status $?"
	expect " ${column^^}v "
done
COLUMNS=110 timeout 600 "$T" -b -n 1 --sort allocd run.trace >frame || fail "--sort allocd: status $?"
expect ' TOTALv '
# on a screen without a header
start 40 10 run.trace
sees '^> +97\.7 K .*hoard traced\.c:[0-9]+'
keys Space
sees '^\[1 Sites\] .* FROZEN +[0-9]+ sites$'
keys Space '['
sees '^\[1 Sites\] .* PAST [0-9.]+ m?s +[0-9]+ sites?$'
keys Enter
sees '^── PAST [0-9.]+ m?s  '
keys q End
sees '^\[1 Sites\] .* sort LIVE '
# each view names the keys that do something there, whole
help_of() { # VIEW PRESENT ABSENT
	keys "$1"
	sees "\\[$1 "
	nothing "f filter" "$1"
	keys '?'
	sees '^\? +this help'
	cp screen help
	for _ in 1 2 3 4 5; do
		whole "help of $1"
		grep -q '^any key: back' screen && break
		keys x
		sees 'any key: (back|next page)'
		cat screen >>help
	done
	keys x
	sees "\\[$1 "
	grep -qE -- "$2" help || fail "no '$2' in the help of $1: $(cat help)"
	! grep -qE -- "$3" help || fail "'$3' in the help of $1: $(cat help)"
}
$S resize-window -x 80 -y 24
sees '^traced '
whole 'sites at 80x24'
keys Enter
sees '^ live 97\.7 K in 100 blocks   allocated 97\.7 K in 100 calls, 0 % temporary'
whole 'a site at 80x24'
keys q
help_of 2 'Enter +open or close' '(^|  )(s >|f .) '
help_of 3 ' copy the row' '(^|  )(s >|f .|Enter|v) '
help_of 4 ' back to the latest moment' '(^|  )(s >|f .|Enter|v|Up k|y|G) '
help_of 5 ' copy the row' '(^|  )(s >|f .|Enter|v) '
keys 1 '?'
sees 'Enter +the whole site'
sees '^s > +sort by the next column'
whole 'help of the sites'
keys x
sees '^(.*  )?VERDICT +trend, or result of leak scan'
keys x
# more of the stack, and of the history, where there is room
$S resize-window -x 200 -y 60
sees ' HISTORY {18}VERDICT '
screen
{ grep -qE '^ +0  hoard +.*traced\.c:[0-9]+$' screen && grep -qE '^ +1  main ' screen && grep -qE '^ +2  [_a-z]+ +and 2 more runtime frames$' screen; } || fail "of the stack at 200x60: $(cat screen)"
# tmux does not give back a screen that was larger
$S resize-window -x 40 -y 10
sees '^\[1 Sites\] '
keys q
ends 0

[ $failures = 0 ] && echo ok
exit $((failures != 0))
