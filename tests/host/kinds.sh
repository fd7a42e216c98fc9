#!/bin/bash
# SPDX-License-Identifier: MIT
# Kinds of programs that profilers were reported to get wrong, three inputs of each: signal stacks of which only the kernel knows, namespaces of
# the linker, memory kept out of children, pages without access, code without tables, other allocators, files that are replaced, wrappers.
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
cat >common.h <<'E'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#define N __attribute__((noinline))
N static void wipe(void)
{
	volatile char b[16384];
	for (size_t i = 0; i < sizeof b; i++)
		b[i] = 0;
}
static inline void forget(void *p, size_t n)
{
	memset(p, 0, n);
	__asm__ volatile("" ::"r"(p) : "memory");
}
E
cat >roots.c <<'E'
#include "common.h"
#include <stdint.h>
static void alt(void *at, size_t n, int flags)
{
	stack_t s = {.ss_sp = at, .ss_size = n, .ss_flags = flags};
	sigaltstack(&s, NULL);
	forget(&s, sizeof s);
}
N static void altstack(int how)
{
	char *b = malloc(70000);
	if (how == 1)
		alt(b + 4096, 60000, 0); /* inside of a block */
	if (how == 2)
		alt(b, 70000, (int)(1u << 31)); /* SS_AUTODISARM */
	if (how == 3) { /* set again, to another block */
		alt(b, 70000, 0);
		free(b);
		alt(malloc(80000), 80000, 0);
	}
	forget(&b, sizeof b);
}
static void *run(void *how)
{
	altstack((int)(intptr_t)how);
	wipe();
	pause();
	return NULL;
}
static char *volatile kept;
N static void page(int how)
{
	size_t n = how == 2 ? 3 * 4096 : 4096;
	char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	*(void **)(p + n - 8) = malloc(1000);
	if (how == 1)
		mprotect(p, n, PROT_NONE);
	if (how == 2) { /* one page of three */
		*(void **)p = malloc(1000);
		mprotect(p + 4096, 4096, PROT_NONE);
	}
	if (how == 3)
		mprotect(p, n, PROT_EXEC);
	kept = p;
}
static __thread void *volatile mine;
static pthread_key_t key;
static pthread_barrier_t ready;
static void *result(void *unused)
{
	(void)unused;
	void **p = malloc(64);
	*p = malloc(1000);
	return p; /* and nobody has joined it yet */
}
static void *by_exit(void *unused)
{
	(void)unused;
	pthread_exit(malloc(1000));
}
static void *lives(void *how)
{
	if (how)
		mine = malloc(1000);
	else
		pthread_setspecific(key, malloc(1000));
	wipe();
	pthread_barrier_wait(&ready);
	pause();
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t t;
	int how = argc > 2 ? atoi(argv[2]) : 0;
	if (!strcmp(argv[1], "alt")) {
		altstack(how);
		pthread_create(&t, NULL, run, (void *)(intptr_t)how);
		usleep(100000);
	}
	if (!strcmp(argv[1], "page"))
		page(how);
	if (!strcmp(argv[1], "thread")) {
		static pthread_t all[2];
		pthread_key_create(&key, NULL);
		pthread_barrier_init(&ready, NULL, 2);
		pthread_create(&all[0], NULL, how == 1 ? result : how == 2 ? by_exit : lives, how == 3 ? (void *)1 : NULL);
		if (how > 2)
			pthread_barrier_wait(&ready);
		if (how == 3) {
			pthread_create(&all[1], NULL, lives, NULL);
			pthread_barrier_wait(&ready);
		} else {
			usleep(200000);
		}
	}
	wipe();
	return 0;
}
E
gcc -g -O1 -fno-builtin -o roots roots.c -lpthread 2>gcc.err || exit 77
total() { # WHAT TRACE
	ms-report --only-first --json "$2" | grep -o "\"$1\":[0-9]*" | head -n 1 | grep -o '[0-9]*$'
}
record() {
	rm -rf t.trace t.trace.d
	ms-record --follow=all -o t.trace "$@" >got 2>err
}
for kind in alt page thread; do
	for how in 1 2 3; do
		record ./roots $kind $how
		is "$kind $how: unreachable" "$(total unreachable_blocks t.trace)" 0
	done
done

# ---- namespaces of the linker ----
cat >space.c <<'E'
#include "common.h"
void *volatile last;
void work(int n)
{
	for (int i = 0; i < n; i++)
		last = malloc(100);
	for (int i = 0; i < n; i++)
		free(calloc(1, 100));
	last = realloc(malloc(10), 1000);
	void *p;
	if (!posix_memalign(&p, 64, 100))
		last = p;
}
E
cat >opens.c <<'E'
#include "common.h"
static void open_one(int n)
{
	void *lib = dlmopen(LM_ID_NEWLM, "./space.so", RTLD_NOW);
	void (*work)(int) = lib ? (void (*)(int))dlsym(lib, "work") : NULL;
	if (!work)
		exit(9);
	work(n);
}
static void *run(void *n)
{
	open_one((int)(size_t)n);
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t t;
	int n = atoi(argv[2]);
	if (!strcmp(argv[1], "once"))
		open_one(n);
	if (!strcmp(argv[1], "twice")) {
		open_one(n);
		open_one(n);
	}
	if (!strcmp(argv[1], "thread")) {
		pthread_create(&t, NULL, run, (void *)(size_t)n);
		pthread_join(t, NULL);
	}
	return argc == 1;
}
E
gcc -g -O1 -fno-builtin -fPIC -shared -o space.so space.c && gcc -g -O1 -fno-builtin -o opens opens.c -ldl -lpthread || exit 77
for how in once twice thread; do
	record ./opens $how 0
	none=$(total allocations t.trace)
	record ./opens $how 500
	each=1000
	[ $how = twice ] && each=2000
	is "dlmopen, $how" $(($(total allocations t.trace) - none)) $each
done

# ---- memory kept out of children: they run as ever ----
cat >apart.c <<'E'
#include "common.h"
int main(int argc, char **argv)
{
	char line[600], perms[8];
	unsigned long from, to;
	int advice = !strcmp(argv[1], "wipe") ? MADV_WIPEONFORK : MADV_DONTFORK, status = 0;
	FILE *f = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof line, f))
		if (sscanf(line, "%lx-%lx %4s", &from, &to, perms) == 3 && (perms[3] == 's' || advice == MADV_WIPEONFORK) && !strstr(line, "stack") &&
		    (perms[3] == 's' || strstr(line, "memscope") || !strcmp(argv[1], "never")))
			madvise((void *)from, to - from, advice);
	fclose(f);
	pid_t pid = !strcmp(argv[1], "vfork") ? vfork() : fork();
	if (!pid) {
		void *p = malloc(100);
		__asm__ volatile("" ::"r"(p) : "memory");
		_exit(argc + 1);
	}
	waitpid(pid, &status, 0);
	printf("child %d\n", status);
	return 0;
}
E
gcc -g -O1 -fno-builtin -o apart apart.c || exit 77
for how in fork vfork wipe; do
	./apart $how >plain
	record ./apart $how
	is "kept apart, $how" "$? $(<got)" "0 $(<plain)"
done

# ---- frame pointers only ----
cat >frames.c <<'E'
#include "common.h"
#include <alloca.h>
static void *volatile kept[100];
static int at;
N void leaf(void) { kept[at++] = malloc(100); }
N void room(int n)
{
	volatile char *p = alloca((size_t)n * 16);
	p[0] = 0;
	leaf();
	p[0] = 1;
}
N int compare(const void *a, const void *b)
{
	if (at < 90)
		leaf();
	return *(const char *)a - *(const char *)b;
}
N int again(int n)
{
	if (!n)
		leaf();
	else
		return again(n - 1) + 1;
	return 0;
}
int main(int argc, char **argv)
{
	char text[] = "hgfedcba";
	if (!strcmp(argv[1], "alloca"))
		room(argc * 10);
	if (!strcmp(argv[1], "qsort"))
		qsort(text, 8, 1, compare);
	if (!strcmp(argv[1], "again"))
		return again(20) - 20;
	return 0;
}
E
gcc -g -O1 -fno-builtin -fno-omit-frame-pointer -fno-optimize-sibling-calls -fno-asynchronous-unwind-tables -fno-unwind-tables -o frames frames.c || exit 77
for how in 'alloca leaf;' 'qsort leaf;' 'again leaf;'; do
	record ./frames "${how% *}"
	ms-report --folded t.trace >folded
	case ${how% *} in
	alloca) want='main;room;leaf' ;;
	qsort) want='main;.*qsort.*;compare;leaf' ;;
	again) want='main;\(again;\)\{21\}leaf' ;;
	esac
	bad=$(grep 'leaf' folded | grep -vc "$want")
	is "frame pointers, ${how% *}: other stacks" "$bad" 0
	grep -q "$want" folded || fail "frame pointers, ${how% *}: $(head -n 3 folded)"
done

# ---- allocators with a name of their own, and second entries ----
cat >prefix.c <<'E'
#include "common.h"
#ifndef LINKAGE
#define LINKAGE
#endif
static char *pool;
static size_t used;
LINKAGE N void *P(malloc)(size_t n)
{
	if (!pool)
		pool = mmap(NULL, 1 << 26, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t at = used;
	used += (n + 31) & ~(size_t)15;
	*(size_t *)(void *)(pool + at) = n;
	return pool + at + 16;
}
LINKAGE N void P(free)(void *p)
{
	if (p)
		((size_t *)p)[-1] = 0;
}
LINKAGE N void *P(calloc)(size_t a, size_t b)
{
	return memset(P(malloc)(a * b), 0, a * b);
}
LINKAGE N void *P(realloc)(void *p, size_t n)
{
	void *q = P(malloc)(n);
	if (p)
		memcpy(q, p, n < 16 ? n : 16);
	P(free)(p);
	return q;
}
void use(void)
{
	for (int i = 0; i < 5000; i++) {
		void *volatile p = P(malloc)(100);
		if (i % 2)
			P(free)(p);
	}
}
#ifndef LIBRARY
int main(void)
{
	use();
	return 0;
}
#endif
E
cat >loads.c <<'E'
#include "common.h"
int main(void)
{
	void *lib = dlopen("./prefix.so", RTLD_NOW);
	void (*use)(void) = lib ? (void (*)(void))dlsym(lib, "use") : NULL;
	if (!use)
		return 9;
	use();
	return 0;
}
E
gcc -g -O1 -fno-builtin '-DP(x)=rocks_##x' -rdynamic -o exported prefix.c && gcc -g -O1 -fno-builtin '-DP(x)=zz_##x' -o plain_symbols prefix.c &&
	gcc -g -O1 -fno-builtin '-DP(x)=mi_##x' '-DLINKAGE=__attribute__((visibility("hidden")))' -DLIBRARY -fPIC -shared -o prefix.so prefix.c &&
	gcc -g -O1 -o loads loads.c -ldl || exit 77
for program in exported plain_symbols loads; do
	record ./$program
	seen=$(total allocations t.trace)
	[ "$seen" -ge 5000 ] || fail "prefix, $program: $seen allocations"
done

# ---- below wrappers: the program with the highest peak ----
cat >big.c <<'E'
#include "common.h"
int main(void)
{
	for (int i = 0; i < 50; i++)
		memset(malloc(1 << 20), 1, 1 << 20);
	return 5;
}
E
gcc -g -O1 -fno-builtin -o big big.c || exit 77
printf '#!/bin/sh\n./big\nexit $?\n' >wrap.sh && chmod +x wrap.sh
for how in './wrap.sh' 'env A=1 nice ./big' 'timeout 60 sh -c ./big;exit'; do
	# shellcheck disable=SC2086
	record $how
	ms-report t.trace | grep -q '^Heap .*peak 50\.0 MiB' || fail "wrapper $how: $(ms-report t.trace | head -n 8)"
done

# ---- replaced while it runs: its own names, or none ----
cat >first.c <<'E'
#include "common.h"
N void *own_name(void) { return malloc(1000); }
void *volatile kept;
int main(int argc, char **argv)
{
	char text[400];
	if (!strcmp(argv[1], "remove"))
		unlink("./first");
	if (!strcmp(argv[1], "move"))
		rename("./other", "./first");
	if (!strcmp(argv[1], "copy")) {
		snprintf(text, sizeof text, "rm -f first && cp other first");
		if (system(text))
			return 9;
	}
	kept = own_name();
	return argc == 1;
}
E
sed 's/own_name/another_name/g' first.c >other.c
for how in remove move copy; do
	gcc -g -O1 -fno-builtin -o first first.c && gcc -g -O1 -fno-builtin -o other other.c || exit 77
	record ./first $how
	ms-report --only-first --folded t.trace | grep -q 'main;own_name ' || fail "replaced, $how: $(ms-report --only-first --folded t.trace)"
done

# ---- pointers that only the kernel has ----
cat >kernel.c <<'E'
#include "common.h"
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
N static void watch(int n)
{
	int ep = epoll_create1(EPOLL_CLOEXEC);
	for (int i = 0; i < n; i++) {
		struct epoll_event e = {.events = EPOLLIN | (i % 2 ? EPOLLET : 0), .data.ptr = malloc(1000)};
		epoll_ctl(ep, EPOLL_CTL_ADD, eventfd(0, 0), &e);
		forget(&e, sizeof e);
	}
}
N static void change(void)
{
	int ep = epoll_create1(0), fd = eventfd(0, 0);
	struct epoll_event e = {.events = EPOLLIN, .data.ptr = malloc(1000)};
	epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
	free(e.data.ptr);
	e.data.ptr = malloc(2000); /* it is this one's now */
	epoll_ctl(ep, EPOLL_CTL_MOD, fd, &e);
	dup(ep);
	forget(&e, sizeof e);
}
N static void timers(int n)
{
	struct itimerspec at = {.it_value = {1000, 0}};
	for (int i = 0; i < n; i++) {
		timer_t t;
		struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1, .sigev_value = {.sival_ptr = malloc(1000)}};
		timer_create(i % 2 ? CLOCK_REALTIME : CLOCK_MONOTONIC, &e, &t);
		timer_settime(t, 0, &at, NULL);
		forget(&e, sizeof e);
	}
}
int main(int argc, char **argv)
{
	signal(SIGUSR1, SIG_IGN);
	if (!strcmp(argv[1], "epoll"))
		watch(20);
	if (!strcmp(argv[1], "changed"))
		change();
	if (!strcmp(argv[1], "timers"))
		timers(5);
	wipe();
	return argc == 1;
}
E
gcc -g -O1 -fno-builtin -o kernel kernel.c 2>gcc.err || exit 77
for how in epoll changed timers; do
	record ./kernel $how
	is "only the kernel, $how: unreachable" "$(total unreachable_blocks t.trace)" 0
done

# ---- pointers at odd places ----
cat >packed.c <<'E'
#include "common.h"
static struct __attribute__((packed)) {
	char a[5];
	void *p[20];
} all;
int main(int argc, char **argv)
{
	size_t at = (size_t)atoi(argv[1]);
	for (int i = 0; i < 20; i++) {
		void *p = malloc(100);
		memcpy(all.a + at + 8 * i, &p, sizeof p);
		forget(&p, sizeof p);
	}
	wipe();
	if (argc > 2)
		kill(getpid(), SIGKILL);
	return 0;
}
E
gcc -g -O1 -fno-builtin -o packed packed.c || exit 77
for at in 1 3 4; do
	record --leak-align=1 ./packed $at
	is "packed, $at: unreachable" "$(total unreachable_blocks t.trace)" 0
done

# ---- nothing is said of what was not scanned ----
for how in '--leak-check=no ./packed 3' '--sample=64 ./packed 3' './packed 3 killed'; do
	# shellcheck disable=SC2086
	record $how
	[ -e t.trace ] || fail "not scanned, $how: $(<err)"
	ms-report --leaks --csv t.trace | head -n 1 | grep -q verdict && fail "not scanned, $how: $(ms-report --leaks --csv t.trace | head -n 3)"
	ms-report t.trace | grep -qiE '(^| )(un)?reachable' && fail "not scanned, $how: $(ms-report t.trace)"
done

# ---- second entries into an allocator ----
cat >entry.c <<'E'
#include "common.h"
static char *pool;
static size_t used;
N static void *take(size_t n)
{
	if (!pool)
		pool = mmap(NULL, 1u << 28, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t at = used;
	used += (n + 31) & ~(size_t)15;
	*(size_t *)(void *)(pool + at) = n;
	return pool + at + 16;
}
N void *malloc(size_t n) { return take(n); }
N void *calloc(size_t a, size_t b) { return take(a * b); }
N void free(void *p)
{
	if (p)
		((size_t *)p)[-1] = 0;
}
N void *realloc(void *p, size_t n)
{
	void *q = take(n);
	free(p);
	return q;
}
N void *fast_take(int bin, size_t n) { return take(n + (size_t)bin); }
N int take_aligned(void **out, size_t align, size_t n)
{
	*out = take(n + (align & 0));
	return 0;
}
N void *take_zeroed(size_t n, unsigned flags) { return memset(take(n + flags), 0, n); }
int main(int argc, char **argv)
{
	void *p = NULL;
	for (int i = 0; i < 3000; i++) {
		if (!strcmp(argv[1], "bin"))
			p = fast_take(0, 100);
		if (!strcmp(argv[1], "aligned"))
			take_aligned(&p, 16, 100);
		if (!strcmp(argv[1], "zeroed"))
			p = take_zeroed(100, 0);
		free(p);
		free(malloc(50));
	}
	return argc == 1;
}
E
gcc -g -O1 -fno-builtin -rdynamic -o entry entry.c || exit 77
for how in bin aligned zeroed; do
	record ./entry $how
	[ "$(total allocations t.trace)" -ge 6000 ] || ms-report t.trace | grep -q 'came from elsewhere' || fail "second entry, $how: $(ms-report t.trace | head -n 4)"
	grep -q '; every event recorded' err && [ "$(total allocations t.trace)" -lt 6000 ] && fail "second entry, $how: $(head -n 1 err)"
done

# ---- programs with a malloc of their own below others ----
record ./entry none
own=$(total allocations t.trace)
printf 'all:\n\t@./entry none\n' >Makefile
for how in 'sh -c ./entry_none;exit' 'env -u A ./entry none' 'make -s'; do
	# shellcheck disable=SC2086
	set -- ${how//entry_none/entry none}
	[[ $how == sh* ]] && set -- sh -c './entry none; exit'
	record "$@"
	is "own malloc, $how" "$(awk -F '\t' '$11 ~ /entry$/ && $7 + 0 > 100 { print $7, $12 }' t.trace.d/index)" "$own -"
done

# ---- short children are scanned ----
cat >short.c <<'E'
#include "common.h"
static void *volatile kept;
static void *run(void *p)
{
	kept = malloc(300);
	return p;
}
int main(int argc, char **argv)
{
	pthread_t t;
	for (int i = 0; i < 5; i++)
		if (!fork()) {
			kept = malloc(100);
			if (!strcmp(argv[1], "thread")) {
				pthread_create(&t, NULL, run, NULL);
				pthread_join(t, NULL);
			}
			kept = NULL;
			wipe();
			if (!strcmp(argv[1], "_exit"))
				_exit(0);
			exit(0);
		}
	while (wait(NULL) > 0)
		continue;
	return argc == 1;
}
E
gcc -g -O1 -fno-builtin -o short short.c -lpthread || exit 77
for how in exit _exit thread; do
	record --leak-check=yes ./short $how
	for t in t.trace.d/*.trace; do
		total unreachable_blocks "$t"
	done | sort | uniq -c | tr -s ' ' >lost
	is "short children, $how" "$(<lost)" " 5 $([ $how = thread ] && echo 2 || echo 1)"
done

# ---- what goes on is recorded with --wait=all ----
cat >daemon.c <<'E'
#include "common.h"
int main(int argc, char **argv)
{
	if (fork())
		return 0;
	setsid();
	if (!strcmp(argv[1], "twice") && fork())
		_exit(0);
	if (!strcmp(argv[1], "closed"))
		for (int i = 0; i < 100; i++)
			close(i);
	usleep(400000);
	for (int i = 0; i < 500; i++)
		free(malloc(100));
	return argc == 1;
}
E
gcc -g -O1 -fno-builtin -o daemon daemon.c || exit 77
for how in once twice closed; do
	record --wait=all ./daemon $how
	is "daemon, $how" "$(awk -F '\t' '$7 + 0 > 400 { print $7, $6 }' t.trace.d/index)" '500 exit:0'
done

# ---- symbols inside of the file, compressed ----
if command -v xz >/dev/null; then
	for how in leaf two own_name; do
		sed "s/own_name/$how/g" first.c >mini.c
		gcc -O1 -fno-builtin -o mini mini.c || exit 77
		nm -D mini --format=posix --defined-only | awk '{ print $1 }' | sort >dynamic
		nm mini --format=posix --defined-only | awk '$2 ~ /[tT]/ { print $1 }' | sort >functions
		comm -13 dynamic functions >keep
		objcopy -S --remove-section .gdb_index --remove-section .comment --keep-symbols=keep mini mini.debug
		strip --strip-all mini
		xz -k mini.debug
		objcopy --add-section .gnu_debugdata=mini.debug.xz mini
		rm -f mini.debug mini.debug.xz
		record ./mini keep
		ms-report --only-first --folded t.trace | grep -q "main;$how " || fail "mini, $how: $(ms-report --only-first --folded t.trace)"
	done
fi
finish
