#!/bin/sh
# SPDX-License-Identifier: MIT
# Symbols on another machine: a trace read in an empty root, a sysroot, files that were replaced, and code made at run time.
set -eu
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
cat >lib.cpp <<'C'
#include <stdlib.h>
#include <vector>
namespace lib {
static inline __attribute__((always_inline)) void *inner(size_t n) { return malloc(n); }
__attribute__((noinline)) void *from_library(size_t n) { return inner(n); }
}
C
cat >app.cpp <<'C'
#include <stdlib.h>
#include <string>
#include <vector>
namespace lib { void *from_library(size_t n); }
void *kept[3];
std::vector<std::string> strings;
static inline __attribute__((always_inline)) void *inlined(size_t n) { return lib::from_library(n); }
__attribute__((noinline)) void work() { kept[0] = inlined(1000); kept[1] = malloc(2000); strings.push_back(std::string(500, 'x')); }
int main() { work(); return 0; }
C
make_app() { # make_app OPTION
	g++ -O1 -g "$1" -fPIC -shared -o libpart.so "$PWD/lib.cpp"
	# shellcheck disable=SC2016
	g++ -O1 -g "$1" -o app "$PWD/app.cpp" -L. -lpart '-Wl,-rpath,$ORIGIN'
}
make_app -Wl,--build-id
stacks='[.sites[] | [.live_bytes, [.stack[] | [.function, .file, .line, .inlined]]]] | sort'
here() { # here FILE OPTION...: stacks as ms-snap with these options sees them
	ms-snap "$@" | ms-report --json | jq -c "$stacks"
}
ms-record -q -o run.trace ./app
ms-record -q --no-symbols -o bare.trace ./app
here run.trace >want
for word in '"lib::inner","[^"]*/lib.cpp",4,true' '"inlined","[^"]*/app.cpp",7,true' '"work()","[^"]*/app.cpp",8,false'; do
	grep -q "$word" want || die "the stacks are poor: no $word"
done
here bare.trace | cmp -s - want || die "symbols from the files differ from those in the trace"

# ---- an empty root: nothing but the tools and what they are linked with ----

as_root=
[ "$(id -u)" = 0 ] || as_root="unshare -r"
if [ "$MODE" = release ] && $as_root chroot / true 2>/dev/null; then
	mkdir -p root/tmp
	for tool in ms-snap ms-report; do
		cp "$BIN/$tool" root/
		ldd "$BIN/$tool" | grep -o '/[^ ]*' | while read -r lib; do
			mkdir -p "root${lib%/*}"
			cp -L "$lib" "root$lib"
		done
	done
	cp run.trace root/
	# of what was recorded, only the C and C++ libraries are there; they are others for all that the tools know
	$as_root chroot root /ms-report --json=/out.json /run.trace || die "the report in an empty root"
	jq -c "$stacks" root/out.json | cmp -s - want || die "the stacks in an empty root differ"
	$as_root chroot root /ms-snap --no-symbols -o /snap.db /run.trace || die "the snapshot in an empty root"
	ms-report --json root/snap.db | jq -c "$stacks" | cmp -s - want || die "the snapshot of an empty root differs"
else
	echo "note: no chroot here"
fi

# ---- a sysroot ----

mkdir there
ms-snap -o run.db run.trace
sqlite3 run.db "SELECT DISTINCT path FROM module WHERE kind = 'file'" | while read -r file; do
	cp --parents "$file" there
done
rm app libpart.so
[ "$(here bare.trace | grep -c work)" = 0 ] || die "symbols come from nowhere"
ms-snap -o bare.db bare.trace
[ "$(sqlite3 bare.db "SELECT symbols FROM module WHERE path LIKE '%/app'")" = missing ] || die "the state of a file that is gone"
here --sysroot there bare.trace | cmp -s - want || die "--sysroot"
here --debug-dir there bare.trace | cmp -s - want || die "--debug-dir with the programs themselves"
here --sysroot nowhere run.trace | cmp -s - want || die "a sysroot without the files takes the trace's own symbols away"
cp bare.trace embed.trace
ms-snap --symbols=embed --sysroot there embed.trace
here embed.trace | cmp -s - want || die "--symbols=embed --sysroot"
cp "there$PWD/app" "there$PWD/libpart.so" .

# ---- replaced files ----

state() { # state FILE: of app
	ms-snap "$1" -o state.db
	sqlite3 state.db "SELECT symbols FROM module WHERE path LIKE '%/app'"
}
[ "$(state bare.trace)" = dwarf ] || die "the file that is back: $(state bare.trace)"
sed -i 's/2000/3000/' app.cpp
make_app -Wl,--build-id
[ "$(state bare.trace)" = mismatch ] || die "another build: $(state bare.trace)"
ms-report --modules --ascii --width 200 state.db >modules
grep -q '^NONE: another build  *[1-9][0-9]*  *\([1-9][0-9]*\)  *0  *.*/app' modules || die "the frames of another build: $(cat modules)"
# without a build-id, size and time tell
make_app -Wl,--build-id=none
ms-record -q --no-symbols -o noid.trace ./app
[ "$(state noid.trace)" = dwarf ] || die "without build-id: $(state noid.trace)"
cp -p app app.same
cp app app.copy # another time
mv app.copy app
[ "$(state noid.trace)" = mismatch ] || die "a file of another time: $(state noid.trace)"
mkdir -p "other$PWD"
cp app "other$PWD/"
ms-snap --sysroot other -o state.db noid.trace # times of copies differ
[ "$(sqlite3 state.db "SELECT symbols FROM module WHERE path LIKE '%/app'")" = dwarf ] || die "a copy in a sysroot"
printf x >>"other$PWD/app"
ms-snap --sysroot other -o state.db noid.trace
[ "$(sqlite3 state.db "SELECT symbols FROM module WHERE path LIKE '%/app'")" = mismatch ] || die "a file of another size in a sysroot"
cp -p app.same app
[ "$(state noid.trace)" = dwarf ] || die "the very file: $(state noid.trace)"
# in a sysroot, the debug file of a link in its own folder of debug files, however the sysroot is written
mkdir -p "linked$PWD" "linked/usr/lib/debug$PWD"
objcopy --only-keep-debug app "linked/usr/lib/debug$PWD/app.debug"
objcopy --strip-all --add-gnu-debuglink="linked/usr/lib/debug$PWD/app.debug" app stripped
mv app app.whole && mv stripped app
ms-record -q --no-symbols -o stripped.trace ./app
mv app "linked$PWD/app"
ln -s linked link
for sysroot in linked ./linked/ "$PWD/linked" link; do
	ms-snap --no-cache --sysroot "$sysroot" -o state.db stripped.trace
	[ "$(sqlite3 state.db "SELECT symbols FROM module WHERE path LIKE '%/app'")" = dwarf ] || die "a debug file in the sysroot '$sysroot'"
done
cp -p app.same app
head -c 3000 app >app.cut && touch -r app app.cut && mv app.cut app
[ "$(state noid.trace)" = mismatch ] || die "a file cut short: $(state noid.trace)"
# a debug file whose checksum is not that of the link: said, not used, and the first screen says where
make_app -Wl,--build-id=none
objcopy --only-keep-debug app app.debug
objcopy --strip-all --add-gnu-debuglink=app.debug app
ms-record -q --no-symbols -o crc.trace ./app
[ "$(state crc.trace)" = dwarf ] || die "a debug file beside: $(state crc.trace)"
printf x >>app.debug
[ "$(state crc.trace)" = refused ] || die "a debug file with a wrong checksum: $(state crc.trace)"
ms-report --modules --ascii --width 200 state.db >modules
grep -q '^REFUSED: debug file of another build  *[1-9][0-9]*  *[1-9][0-9]*  *1  *.*/app' modules || die "the frames of a module without its debug file: $(cat modules)"
ms-report --width 200 state.db >first
grep -q '^Quality .*, no symbols for [1-9][0-9]* frames in [1-9] of [1-9] modules: ms-report --modules' first || die "what has no name: $(head -n 5 first)"
grep -q '1 module with unusable or partly usable debug information: ms-report --modules' first || die "what was not used: $(head -n 5 first)"

# ---- a program that replaces itself while it runs ----

cat >self.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
void *kept;
__attribute__((noinline)) void before(void) { kept = malloc(100); }
__attribute__((noinline)) void after(void) { kept = malloc(200); }
int main(int argc, char **argv)
{
	before();
	if (argc > 1 && (unlink(argv[0]) != 0 || rename(argv[1], argv[0]) != 0))
		return 1;
	after();
	return 0;
}
C
gcc -g -O1 -Wl,--build-id=none -o self self.c
{
	sed 's/^__attr.*before.*/&\nvoid wrong(void) { }/' self.c
	echo 'void filler(void) { }'
} >next.c
gcc -g -O0 -Wl,--build-id=none -o next next.c
ms-record -q -o self.trace ./self next || die "recording what replaces itself"
ms-report --json self.trace | jq -r '.sites[].stack[] | select(.module != null and (.module | endswith("/self"))) | .function' | sort -u >functions
[ "$(cat functions)" = null ] || grep -qx before functions || die "names of another file: $(cat functions)"
grep -qx 'wrong\|filler' functions && die "names of another file: $(cat functions)"

# ---- code of the kernel's ----

cat >vdso.c <<'C'
#include <elf.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <time.h>
static sigjmp_buf back;
void *kept;
static void handler(int sig) { (void)sig; kept = malloc(12345); siglongjmp(back, 1); }
__attribute__((noinline)) int asks(struct timespec *t) { return clock_gettime(CLOCK_MONOTONIC, t); }
int main(void)
{
	struct sigaction a = {.sa_handler = handler};
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	sigaction(SIGSEGV, &a, NULL);
	if (!h || (!sigsetjmp(back, 1) && asks((struct timespec *)8))) /* the kernel's code writes where nothing is */
		return 1;
	fwrite(h, h->e_shoff + h->e_shnum * sizeof(Elf64_Shdr), 1, stdout);
	fprintf(stderr, "%p\n", (void *)h);
	return 0;
}
C
gcc -g -O1 -fno-optimize-sibling-calls -o vdso vdso.c
if ./vdso >vdso.so 2>base; then
	for options in "" --no-symbols; do # names in the trace, and looked up afterwards
		# shellcheck disable=SC2086
		ms-record -q $options -o vdso.trace ./vdso >vdso.so 2>base
		ms-report --json vdso.trace | jq -c '.sites[] | select(.live_bytes == 12345) | .stack' >stack
		at=$(jq -r '.[] | select(.module == "[vdso]") | .address' stack)
		[ -n "$at" ] || die "no frame of the kernel's code: $(cat stack)"
		# the frame was interrupted, not left by a call: its address is that of an instruction
		want=$(addr2line -f -e vdso.so "$(printf '%x' $((at - $(cat base))))" | head -n 1)
		have=$(jq -r '[.[] | select(.module == "[vdso]") | .function // "??"] | join(" ")' stack)
		start=$(nm -D vdso.so | sed -n "s/^\([0-9a-f]*\) . $want\(@.*\)*$/\1/p") # where it has two names, either will do
		[ "$have" = "$want" ] || nm -D vdso.so | grep -q "^$start . $have\(@.*\)*$" || die "a frame of the kernel's code, not $want: $(cat stack)"
		[ "$(jq -r 'map(.function) | [.[0], .[index("asks"):index("main") + 1][]] | join(" ")' stack)" = 'handler asks main' ] || die "around the kernel's code: $(cat stack)"
	done
	ms-report --modules --ascii --width 200 vdso.trace | grep -q '^functions only  *1  *[01]  .*\[vdso\]' || die "the kernel's code among modules"
else
	echo "note: the kernel answers clock_gettime itself here"
fi

# ---- code made at run time ----

[ "$(uname -m)" = x86_64 ] || exit 0
cat >jit.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
void *kept[100];
int main(void)
{
	/* push rbp; mov rbp, rsp; mov rax, rdi; mov edi, 500; call rax; pop rbp; ret */
	static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0xbf, 0xf4, 0x01, 0, 0, 0xff, 0xd0, 0x5d, 0xc3};
	unsigned char *made = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(made + 64, code, sizeof code);
	void *(*f)(void *) = (void *(*)(void *))(made + 64);
	for (int i = 0; i < 100; i++)
		kept[i] = f((void *)malloc);
	char path[64];
	snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
	FILE *m = fopen(path, "w");
	fprintf(m, "%lx 40 jit::before\n%lx %zx jit::make(int) [tier 2]\n", (long)made, (long)made + 64, sizeof code);
	fclose(m);
	puts(path);
	return 0;
}
C
gcc -g -O1 -o jit jit.c
name() {
	ms-report --json "$1" | jq -r '[.sites[] | select(.allocated_bytes == .allocations * 500) | .stack[0].function][0]'
}
map=$(ms-record -q -o jit.trace ./jit)
[ "$(name jit.trace)" = 'jit::make(int) [tier 2]' ] || die "code made at run time: $(name jit.trace)"
rm "$map"
[ "$(name jit.trace)" = 'jit::make(int) [tier 2]' ] || die "it is not in the trace: $(name jit.trace)"
map=$(ms-record -q --no-symbols -o jit.trace ./jit)
[ "$(name jit.trace)" = 'jit::make(int) [tier 2]' ] || die "from the map: $(name jit.trace)"
touch -d '1 hour' "$map" # of a later process of that number
[ "$(name jit.trace)" = null ] || die "a map of another time is believed"
rm "$map"
