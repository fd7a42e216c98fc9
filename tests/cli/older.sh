#!/bin/bash
# SPDX-License-Identifier: MIT
# Older spellings do what stands beside them in --help=old, and values of an option are taken one by one.
set -u
failures=0
die() {
	echo "FAILED: $*"
	failures=$((failures + 1))
}
both() { # TOOL OLD -- NEW -- OPERAND...: the same output, words on standard error and status
	local tool=$1 old=() new=()
	shift
	while [ "$1" != -- ]; do old+=("$1") && shift; done
	shift
	while [ "$1" != -- ]; do new+=("$1") && shift; done
	shift
	"$BIN/$tool" "${old[@]}" "$@" >old.out 2>old.err
	echo $? >>old.err
	"$BIN/$tool" "${new[@]}" "$@" >new.out 2>new.err
	echo $? >>new.err
	cmp -s old.out new.out || die "$tool ${old[*]}: another output than ${new[*]}"
	cmp -s old.err new.err || die "$tool ${old[*]} is not ${new[*]}: $(head -n 1 old.err new.err)"
	[ -s old.out ] || [ "$(tail -n 1 old.err)" != 0 ] || die "$tool ${old[*]}: nothing comes out"
}

{ "$SRC/libcommon/snapshot/columns" schema && cat "$SRC/tests/cli/filter/fixture.sql"; } | sqlite3 run.db
trace=$SRC/tests/golden/v1/full.trace

# ---- every one of them: what its argument is, as a word that fits or does not ----
for tool in ms-record ms-snap ms-filter ms-diff ms-report ms-top; do
	while IFS=$'\t' read -r old new; do
		row=${new%%[:[]*} # --not=file of --not=file:REGEX
		case $new in
		*...) both $tool "$old=x" -- "${new%...}x" -- --nothing ;;
		*:* | --*=[A-Z]*) both $tool "$old=0" -- "$row:0" -- --nothing ;;
		*) both $tool "$old" -- "$new" -- --nothing ;;
		esac
	done < <("$BIN/$tool" --help=old)
	"$BIN/$tool" --help=all >all
	"$BIN/$tool" --help=old | cut -f 1 | while read -r old; do
		! grep -qE -- "^ +(-., )?$old( |=|\[|$)" all || echo "$old"
	done >shown
	[ ! -s shown ] || die "$tool --help=all shows $(cat shown)"
done

# ---- what comes out ----
for words in '--min-live 3000|--min live:3000' '--min-blocks 11|--min=blocks:11' '--max-lifetime 5ms|--max lifetime:5ms' '--first ..3ms|--when first:..3ms' \
	'--temporary|--only temporary' '--not-function ^main$|--not function:^main$' '--not-where id=3|--not=where:id=3' '--allow-partial --max-image 1G --min 1|--allow partial,image:1G --min 1' \
	'--min 2000 --min-live 3000|--min 2000,live:3000' '--not-runtime --not-file x,y --not-temporary|--not runtime,file:x,y,temporary'; do
	read -ra old <<<"${words%%|*}"
	read -ra new <<<"${words#*|}"
	both ms-filter "${old[@]}" -- "${new[@]}" -- run.db
done
for words in '--tree --entry --ascii --width 60|--tree=down,entry --style ascii,width:60' \
	'--tree=up --entry|--tree=up,entry' '--growth --reach 4k|--growth=reach:4k' '--md --code-url https://x/{file} --source-root /a|--md --source url:https://x/{file},root:/a' \
	'--json --pretty|--json --style=pretty' '--strict --fail-on frees<0 --no-pager|--fail-on strict --fail-on frees<0 --style no-pager'; do
	read -ra old <<<"${words%%|*}"
	read -ra new <<<"${words#*|}"
	both ms-report "${old[@]}" -- "${new[@]}" -- run.db
done
both ms-snap --no-symbols --no-cache -- --without symbols,cache -- "$trace"
both ms-snap --maps --all -- --maps -p all -- -o /dev/null/x
both ms-diff --allow-missing-old -- --allow=missing-old -- none.db run.db
both ms-record --mmap --seed 3 -s 1k --no-args -- --mmap -s 1k,seed:3 --without args -- --doctor true
both ms-record --leak-align 4 --leak-check-at mark:a,b -- --leak-check=align:4,mark:a,b -- --poll true
both ms-record --buffer 1M --overflow=drop -- --buffer 1M,drop -- --poll true

# ---- values: which are refused, and with what words ----
refused() { # WORDS COMMAND...
	local words=$1 tool=$2
	shift 2
	"$BIN/$tool" "$@" >out 2>err && die "$tool $*: taken"
	[ "$(cat err)" = "$tool: $words" ] || die "$tool $*: $(cat err)"
}
refused "bad --allow 'partial,none': expected partial|image:SIZE" ms-snap --allow=partial,none x.trace
refused "bad --allow 'partial:1': expected partial|image:SIZE" ms-snap --allow=partial:1 x.trace
refused "option '--allow=image' needs a value: --allow=image:SIZE" ms-snap --allow partial,image x.trace
refused "option '--allow' needs an argument" ms-snap --allow
refused "option '--allow=image': bad size '4x': unknown unit 'x' (k, M, G or T)" ms-snap --max-image 4x x.trace
refused "option '--max-image' needs an argument" ms-snap --max-image
refused "option '--no-cache' takes no argument" ms-snap --no-cache=x
refused "unknown option '--no-symbosl': did you mean --without=symbols? (ms-snap --help=all lists all options)" ms-snap --no-symbosl
refused "bad --batch 'xml': expected json" ms-top --batch=xml
exit $((failures > 0))
