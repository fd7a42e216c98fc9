# SPDX-License-Identifier: MIT
# What the tests of the matrix of builds share: sourced, not run.
# shellcheck shell=sh
lookup=$TB/cli/symbols-lookup
cp "$SRC/tests/cli/symbols-sample.cpp" sample.cpp

fail() {
	echo "FAILED: $cc $flags: $*"
	exit 1
}
cc=none flags=

# need TOOL...: or the test is skipped
need() {
	for tool; do
		command -v "$tool" >/dev/null || {
			echo "no $tool"
			exit 77
		}
	done
}

# Every instruction that calls: what a call stack can hold.
calls() {
	objdump -d --no-show-raw-insn "$1" | sed -n 's/^ *\([0-9a-f]*\):.*\<call\>.*/0x\1/p'
}

# build COMPILER FLAGS: `whole`, the addresses of its calls, and what we say about these, in `want`
build() {
	cc=$1 flags=$2
	rm -rf -- *.dwo *.dwp *.debug dbg try
	# shellcheck disable=SC2086
	$cc $flags -o whole sample.cpp
	calls whole >addresses
	[ "$(wc -l <addresses)" -gt 80 ] || fail "few calls: $(wc -l <addresses)"
	"$lookup" "$PWD/whole" <addresses >want
}

# addr2line says "(discriminator N)", leaves "." and ".." in paths, and names a file from the symbol table where there is no line.
normal() {
	sed -e 's/ (discriminator [0-9]*)$//' -e 's/^\([^/]*\.[A-Za-z]*\|??\):[0?]$/??:0/' -e ':a' -e 's,/\./,/,' -e 'ta' \
		-e ':b' -e 's,/[^/.][^/]*/\.\./,/,' -e 'tb'
}

# judge: the same chains, files and lines as addr2line on every address; and functions, but for at most 6 where it falls back on a
# symbol that is not the inlined function. It leaves out scopes, so ours may say more.
judge() {
	addr2line -afiC -e whole <addresses | normal >theirs
	normal <want >ours
	[ "$(wc -l <ours)" = "$(wc -l <theirs)" ] || fail "chains differ: $(diff theirs ours | head -n 20)"
	paste theirs ours | awk -F '\t' '
		$1 == $2 { next }
		sub(/.*(<artificial>|sample\.cpp)/, "", $1) && substr($2, length($2) - length($1) + 1) == $1 { next }
		$1 !~ /:[0-9]+$/ && index($2, $1) { next }
		{ print "want " $1; print "have " $2 }
		$1 ~ /:[0-9]+$/ || ++n > 6 { bad = 1 }
		END { exit bad }' >differ || fail "$(head -n 20 differ)"
}

# same WHAT OPTION...: all answers about `program` are those about `whole`
same() {
	what=$1
	shift
	calls program | cmp -s - addresses || cp addresses tmp # stripped ones have no table to find their calls by
	"$lookup" "$@" "$PWD/program" <addresses | sed "s,$PWD/program,$PWD/whole," >have
	cmp -s want have || fail "$what: $(diff want have | head -n 20)"
	state=$("$lookup" -S "$@" "$PWD/program" <addresses)
	[ "${state%% *}" = 2 ] || fail "$what: state $state"
}

# Debug information that the linker never sees.
split_file() {
	# shellcheck disable=SC2086
	$cc $flags -gsplit-dwarf -c sample.cpp -o sample.o
	# shellcheck disable=SC2086
	$cc $flags -o program sample.o
	[ -f sample.dwo ] || fail "no .dwo"
	same ".dwo"
	mkdir dbg
	mv sample.dwo dbg
	same ".dwo in a debug folder" -d dbg
	mv dbg/sample.dwo .
	rmdir dbg
}

# pack TOOL: in a package
pack() {
	timeout -s KILL 60 "$1" -e program -o program.dwp || fail "$1 failed"
	mv sample.dwo away
	same ".dwp of $1"
	mv program.dwp program.away
	[ "$("$lookup" -S "$PWD/program" <addresses)" = "6 $PWD/program" ] || fail "without .dwp"
	mkdir dbg
	mv program.away dbg/program.dwp
	same ".dwp in a debug folder" -d dbg
	rm -r dbg
	mv away sample.dwo
}

# A separate debug file beside, by .gnu_debuglink and its checksum.
stripped() {
	objcopy --only-keep-debug whole program.debug
	objcopy --strip-all --remove-section=.note.gnu.build-id --add-gnu-debuglink=program.debug whole program
	same "debuglink"
	printf x >>program.debug
	case $("$lookup" -s "$PWD/program") in 7*) ;; *) fail "a wrong checksum is believed, or not told" ;; esac
	rm program.debug
}

# The same by build-id, under a sysroot and a folder of debug information.
build_id_folder() {
	id=$(readelf -n whole | sed -n 's/.*Build ID: //p')
	mkdir -p "dbg/.build-id/$(echo "$id" | cut -c1-2)"
	objcopy --only-keep-debug whole "dbg/.build-id/$(echo "$id" | cut -c1-2)/$(echo "$id" | cut -c3-).debug"
	objcopy --strip-all whole program
	same "build-id folder" -d dbg
	mkdir -p "root$PWD" root/usr/lib/debug
	mv program "root$PWD"
	mv dbg/.build-id root/usr/lib/debug
	"$lookup" -r root -b "$id" "$PWD/program" <addresses >have
	cmp -s want have || fail "sysroot: $(diff want have | head -n 20)"
	"$lookup" -r root "$PWD/program" <addresses >have
	cmp -s want have || fail "sysroot without build-id: $(diff want have | head -n 20)"
	rm -r root dbg
}

# packed_sections HOW: sections of debug information compressed
packed_sections() {
	objcopy --compress-debug-sections="$1" whole program
	same "compressed by $1"
}
