#!/bin/bash
# SPDX-License-Identifier: MIT
# Every key of ms-top's lists, over 5,000 processes; terminals without colours, with 8 and 256, without UTF-8; the help, from 40x10 on.
set -u
# shellcheck source-path=SCRIPTDIR source=top/lib.sh
. "$SRC/tests/cli/top/lib.sh"
made_system
many_processes 5000
process 1 init 4096 0 1
process 100 orderd 1048576 1 50
process 2 kthreadd 0 0 2 2097152

start 120 30 --proc-root proc
sees '^> +100 '
sees '^ +4984 more$'
sees '5002 processes'
# each key, and where the selection is then; 18 rows are in view
while read -r key want; do
	keys "$key"
	sees "^> +$want " "$key"
done <<'END'
j 5999
Down 5998
k 5999
Up 100
NPage 5983
C-f 5966
PPage 5983
C-b 100
End 1000
Home 100
G 1000
g 100
END
# the mouse's wheel, as terminals tell it
wheel() { $S send-keys -l "$(printf '\033[M%b!!' "$1")"; }
wheel a
sees '^> +5997 ' 'wheel down'
wheel '`'
sees '^> +100 ' 'wheel up'
# clicks: a row, and that again; a view; a title, and that again
click() { $S send-keys -l $'\033'"[<0;$2;${1}M"$'\033'"[<0;$2;${1}m"; }
click 8 60
sees '^> +5998 ' 'a click on a row'
click 4 20
sees '^\[?1 Processes\]? \[2 Groups\]' 'a click on a view'
click 4 3
sees '^\[1 Processes\]'
sees '^> +5998 '
click 5 7
sees 'sort PID ' 'a click on a title'
click 5 7
sees 'sort -PID ' 'and another one'
click 5 21
sees 'sort RSS '
click 30 3
click 2 3
sees '^> +100 ' 'sorted by a click: the first row; clicks on nothing'
keys k k
sees '^> +100 '
# sequences: those that mean a key, from any terminal and with modifiers; no part of the others is one; also cut into several reads
sequences() { # WANT SEQUENCE..: where the selection is after each; Space tells that it was read
	local want=$1
	shift
	for sequence; do
		for part in "" $'\033[1;' $'\033'; do
			[[ $sequence = "$part"?* && ($part != $'\033' || $sequence = *[FHQ]) ]] || continue
			if [ "$part" ]; then # by tmux itself: for more than 100 ms after Esc the rest is not waited for
				$S send-keys -l "$part" \; run-shell -d 0.03 \; send-keys -l "${sequence#"$part"}"
			else
				$S send-keys -l "$sequence"
			fi
			keys Space
			sees 'FROZEN' "$(cat -v <<<"$sequence")"
			sees "^> +$want " "$(cat -v <<<"$sequence")"
			keys Space
			sees '^\[1 Processes\] 2 Groups 3 Tree  +sort RSS'
		done
	done
}
sequences 1000 $'\033[4~' $'\033[1;5F'
sequences 100 $'\033[1~' $'\033OH'
sequences 100 $'\033x' $'\033q' $'\033r' $'\033[1;2D' $'\033OQ' $'\033[15;5~' $'\033ä'
# a search moves with each character, and back when it is given up
keys / p12.4
sees '^> +1294 ' '/'
sees '^search: p12\.4 *$'
keys x
sees '^no match: p12\.4x *$'
sees '^> +100 ' 'no match'
keys BSpace
sees '^> +1294 ' 'again one'
keys Escape
sees '^> +100 ' 'given up'
keys F3 p12.4 Enter
sees '^> +1294 ' 'F3'
keys n
sees '^> +1284 ' 'n'
keys N
sees '^> +1294 ' 'N'
keys N
sees '^> +1204 ' 'N, round about'
keys n n
sees '^> +1284 '
keys / 'nobody' Enter
sees "no process matches 'nobody'"
sees '^> +1284 '
for key in f "'\\'" F4; do
	eval "keys $key"
	keys 'p500.|1284' Enter
	sees 'filter: p500\.\|1284 \(4991 hidden\).* sort RSS  11$' "$key"
	keys Escape
	sees 'sort RSS  5002$' 'no filter'
done
sees '^> +1284 ' 'filtered, and again all'
# F: the row is kept when the order changes; else the first one is shown
keys F
sees '^the selection now follows its row'
keys F6
sees 'sort PSS'
sees '^> +1284 '
keys '<' '<'
sees 'sort USER'
keys s v
sees 'sort -RSS'
sees '^> +1284 '
keys F
sees '^the selection now returns to the first row'
keys v
sees '^> +100 ' 'sorted'
keys / '^p1284$' Enter
sees '^> +1284 '
keys Tab
sees '\[2 Groups\]by executable|\[2 Groups\] .*by executable'
keys u u u 3
sees '\[3 Tree\]'
sees '^> +1284 ' 'tree'
keys 1 b
sees 'START now shows the change in RSS since this moment'
keys Space
sees 'FROZEN'
keys Space C-l
sees '^> +1284 ' 'redrawn'
# everything, and back to what was
keys f 'p500.' Enter
sees 'filter: p500\. \(4992 hidden\)'
keys a
sees 'sort RSS  5003$' 'all'
keys a
sees 'filter: p500\. \(4992 hidden\)' 'not all'
keys f C-u Enter / '^p1284$' Enter
sees '^> +1284 '
# sorted by a column that is not shown
keys F c
sees '^>\[x\] PID'
keys j j j j j j j j j s
sees '^>\[ \] VSZ .*; sorted by'
keys Enter
sees 'sort VSZ'
sees '^> +1284 '
for key in '?' h F1; do
	keys "$key"
	sees '^PgUp \^B +a page up' "$key"
	keys x
	sees 'Processes\]'
done
# all keys of the help can be read on the smallest screen too
$S resize-window -x 40 -y 10
sees '^\[1 Processes\]'
keys '?'
for page in 1 2 3; do
	sees "^page $page of [0-9]; any key: next page" "page $page"
	cat screen >>help
	keys x
done
sees '^any key: back'
cat screen >>help
keys x
sees 'Processes\]'
grep -qE '^\? +this help$' help || fail "help: $(cat help)"
grep -qE '^Down j +one row down$' help || fail "help: $(cat help)"
keys q
ends 0
rm -r proc/[1-9]???

# ---- one process ----
printf '5500-5600 rw-p 00000000 00:00 0 [heap]\nRss: 100 kB\n7f00-7f80 r--s 00001000 00:01 7 /lib/libx.so\nRss: 28 kB\n8f00-8f80 r--s 00001000 00:01 7 /data\nRss: 12 kB\n' >proc/1/smaps
echo '24414 32 7 1 0 1 0' >proc/1/statm
start 80 24 --proc-root proc -p 1
sees '^> 5500 '
keys / data Enter
sees '^> 8f00 ' '/'
keys / anon Enter
sees "no region matches 'anon'"
keys k
sees '^> 7f00 '
keys Escape
sees '^q: quit' 'Esc does not quit'
keys F10
ends 0

# ---- what was chosen is remembered ----
STATE_OF=$PWD/kept
start 100 24 --proc-root proc
sees 'sort RSS '
keys c j Space Enter s v
sees 'sort -PSS '
keys q
ends 0
[ "$(stat -c %a kept kept/memscope kept/memscope/ms-top | tr '\n' ' ')" = '700 700 600 ' ] || fail "modes: $(ls -lR kept)"
[ "$(cat kept/memscope/ms-top)" = 'sort -PSS
columns PID,RSS,PSS,USS,SWAP,HEAP,/MIN,START,HISTORY,VERDICT,COMMAND' ] || fail "kept: $(cat kept/memscope/ms-top)"
cp kept/memscope/ms-top before.state
start 100 24 --proc-root proc
sees '^ +PID +RSS +PSS\^ '
sees 'sort -PSS '
keys q
ends 0
cmp before.state kept/memscope/ms-top || fail 'nothing was chosen, and yet it is kept anew'
# what is said on the command line goes first, and is not kept; plain frames are the same for everybody
start 100 24 --proc-root proc --sort user --columns pid,user
sees '^ +PID USERv +$|^ +PID USERv$'
keys q
ends 0
cmp before.state kept/memscope/ms-top || fail 'an option is kept'
XDG_STATE_HOME=$STATE_OF timeout 600 "$T" --proc-root proc -b -n 1 >frame
expect ' PID USER +RSSv '
# nobody else may have written it; what means nothing is left out; where it cannot be kept nothing is said
printf 'sort nothing\ncolumns a,b\nwhat\n\xff\n' >kept/memscope/ms-top
start 100 24 --proc-root proc
sees 'sort RSS '
keys q
ends 0
cp before.state kept/memscope/ms-top
chmod 777 kept/memscope
start 100 24 --proc-root proc
sees 'sort RSS '
keys s q
ends 0
cmp before.state kept/memscope/ms-top || fail 'it was written where anybody could'
STATE_OF=/proc/1
start 100 24 --proc-root proc
sees 'sort RSS '
keys s
sees 'sort PSS '
keys q
ends 0
# the order of a trace is its own
STATE_OF=$PWD/kept
ms-record -q --no-symbols -o one.trace true
for _ in 1 2; do
	start 100 24 one.trace
	sees ' sort LIVE '
	keys s
	sees ' sort PEAK '
	keys q
	ends 0
done
unset STATE_OF

# ---- terminals ----
# of one that grows while it is used nothing stays behind
start 80 24 --proc-root proc
sees '^> +100 '
$S resize-window -x 120 -y 40
sees 'y copy  Space freeze  q quit'
keys q
ends 0
screen
[ "$(grep -c . screen)" = 1 ] || fail "left behind: $(cat screen)"
# one that is not known here is taken for the commonest
TERM_OF=xterm-nobody start 80 24 --proc-root proc
sees '^> +100 '
keys q
ends 0
colours() { # LEAST MOST: how many other than the terminal's own stand on the screen
	local n
	start 100 24 --proc-root proc
	sees 'Processes\]'
	n=$($S capture-pane -p -e | grep -aoE $'\033\\[[0-9;]*3[0-7]m' | sort -u | wc -l)
	((n >= $1 && n <= $2)) || fail "NO_COLOR=${NO_COLOR-} TERM=${TERM_OF-}: $n colours: $($S capture-pane -p -e)"
	keys q
}
NO_COLOR=1 colours 0 0
ends 0
for TERM_OF in xterm-256color xterm; do
	colours 1 4
	ends 0
done
# these have no other screen to come back from
for TERM_OF in linux:1 vt100:0; do
	least=${TERM_OF#*:}
	TERM_OF=${TERM_OF%:*}
	colours "$least" $((least * 2))
	until_true test -s after
done
unset TERM_OF
LC_OF=C start 100 24 --proc-root proc
sees 'Processes\]'
LC_ALL=C grep -q '[^ -~]' screen && fail "LC_ALL=C: $(cat screen)"
sees 'used #+\.+ +4\.00 G'
keys q
ends 0
[ $failures = 0 ] && echo ok
exit $((failures != 0))
