#!/bin/bash
# SPDX-License-Identifier: MIT
# Limits of the system: of file sizes, of memory, of names; and one file that two recorders want. Nothing is left behind, and what was there stays.
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
same() { cmp -s "$1" "$2" || fail "$3: '$1' is not what it was"; }
nothing_else() { # WHAT FILE...: only these are there
	local what=$1 have want
	shift
	have=$(cd d && echo *) want=$*
	[ "$have" = "$want" ] || fail "$what: there is '$have', not '$want'"
}

# ---- a limit of file sizes: an error like a full disk, and no signal ----
"$BIN/ms-record" -q -o good.trace sh -c 'ls / | cat; ls /usr' >/dev/null || fail 'the recording'
"$BIN/ms-snap" -q -o good.db good.trace || fail 'the snapshot'
mkdir d
while read -r words; do
	cp good.db d/out
	read -r -a words <<<"$words"
	(ulimit -f 8 && exec timeout 600 "$BIN/${words[0]}" "${words[@]:1}") >stdout 2>err
	rc=$?
	[ $rc = 2 ] || fail "${words[*]} above the limit: status $rc"
	[[ $(<err) =~ ^${words[0]}:\ cannot\ write\ .*:\ File\ too\ large$ ]] || fail "${words[*]} above the limit: $(<err)"
	same d/out good.db "${words[*]}"
	nothing_else "${words[*]}" out
done <<-'END'
	ms-snap -o d/out good.trace
	ms-filter -o d/out good.db
	ms-diff -o d/out good.db good.db
	ms-report --html=d/out good.db
END
rm d/out

# ---- a recording that does not come about: the command runs, and an earlier trace has its name and folder ----
cp good.trace d/t
mkdir d/t.d
printf "#image\t\n" >d/t.d/index
: >d/t.d/ls.7.1.trace
if [ "$MODE" = release ]; then # others write beside the recorder, or need more memory
	(ulimit -f 8 && exec timeout 600 "$BIN/ms-record" -o d/t sh -c 'echo said; exit 7') >stdout 2>err
	rc=$?
	[ $rc = 7 ] || fail "a recording above the limit: status $rc"
	[ "$(<stdout)" = said ] || fail "a recording above the limit: '$(<stdout)'"
	[[ $(<err) =~ ^ms-record:.*nothing\ was\ recorded:.*File\ too\ large$ ]] || fail "a recording above the limit: $(<err)"
	same d/t good.trace 'a recording above the limit'
	nothing_else 'a recording above the limit' t t.d
fi
"$BIN/ms-record" -q -o d/t no-such-command-anywhere 2>err
"$BIN/ms-record" -q -o d/t --poll no-such-command-anywhere 2>err
same d/t good.trace 'no such command'
nothing_else 'no such command' t t.d
[ -e d/t.d/ls.7.1.trace ] || fail 'no such command: the folder of the earlier recording went'
"$BIN/ms-record" -q -o d/t true || fail 'the next recording'
same d/t~ good.trace 'the next recording'
[ ! -e d/t.d/ls.7.1.trace ] || fail 'the next recording: the folder of the earlier one is there'
rm -r d/*

# ---- a symbolic link stays one; what it led to is kept as any old file ----
cp good.trace d/real
ln -s real d/link
"$BIN/ms-record" -q -o d/link true || fail 'a link'
[ -L d/link ] || fail 'a link: it is none any more'
same d/real~ good.trace 'a link'
"$BIN/ms-report" d/link >/dev/null 2>err || fail "a link: $(<err)"
rm d/*

# ---- two recorders want one file: one gets it, or both, one after the other; never is a trace of two ----
for i in 1 2 3 4 5 6; do
	[ $((i % 2)) = 0 ] || cp good.trace d/t
	"$BIN/ms-record" -q -o d/t true 2>err1 &
	"$BIN/ms-record" -q -o d/t true 2>err2
	second=$?
	wait $!
	first=$?
	case $first-$second in
	0-0) ;;
	0-125 | 125-0) [[ $(cat err1 err2) =~ "another ms-record is writing it" ]] || fail "both at once: $(cat err1 err2)" ;;
	*) fail "both at once: $first and $second, $(cat err1 err2)" ;;
	esac
	for t in d/t d/t~; do
		[ ! -e $t ] || "$BIN/ms-report" "$t" >/dev/null 2>err || fail "both at once: $(<err)"
	done
	rm -f d/t d/t~
done

# ---- names that are longer than a message: the reason is there all the same ----
long=$(printf 'n%.0s' {1..5000})
while read -r words; do
	read -r -a words <<<"$words"
	"$BIN/${words[0]}" "${words[@]:1}" >stdout 2>err
	[[ $(<err) =~ ^${words[0]}:\ cannot\ .*:\ File\ name\ too\ long$ ]] || fail "${words[0]} and a long name: $(head -c 100 err)...$(tail -c 100 err)"
	[[ $(wc -l <err) = 1 && $(wc -c <err) -lt 1100 ]] || fail "${words[0]} and a long name: $(wc <err) on standard error"
done <<-END
	ms-record -o $long true
	ms-snap -o out.db $long
	ms-filter -o $long good.db
	ms-report $long
	ms-top -b -n 1 $long
END

# ---- memory: one line, and the status of its own failures ----
if [ "$MODE" = release ]; then
	(ulimit -v 60000 && exec "$BIN/ms-record" -q -o d/m true) 2>err
	rc=$?
	[ $rc = 0 ] || { [ $rc = 125 ] && [[ $(<err) =~ ^ms-record:\ [^$'\n']*$ ]]; } || fail "little memory: status $rc, $(<err)"
fi
echo "$failures failures"
finish
