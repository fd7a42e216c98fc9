/* SPDX-License-Identifier: MIT
 * Takes and gives back address space in every way, in an order made from a seed, and counts it page
 * by page, independent of MemScope.
 *
 * usage: mapped SEED [THREADS [BLOCKS]]. One lock is held around each call and its counting, so
 * that the peak is known. With each step goes the making and freeing of so many small blocks. What
 * it expects goes to the file named by BESIDE_FILE.
 *
 * Where a part of a range is given back, the kernel may put there what another thread, the C library
 * or the recorder maps next, and that is not ours to unmap with the rest of the range. So the hole is
 * filled again at once, by a system call that no hook sees; where somebody was faster, the rest of the
 * range is given back, too.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "include/memscope.h"

#define SITE __attribute__((noinline))
#define PAGE 4096u
#define TABLE (1u << 20)
#define KEPT 64

enum function { MAP, MAP64, CALL, OVER, SHARED, REMAP, TWICE, BRK, SBRK, FUNCTIONS };
static const char *const names[FUNCTIONS] = {"take_map",   "take_map64",  "take_call",
					     "take_over",  "take_shared", "take_remap",
					     "take_twice", "take_brk",    "take_sbrk"};

static struct count {
	uint64_t maps, taken, now, at_mark;
} count[FUNCTIONS], total;
static uint64_t unmaps, peak;
static struct {
	uintptr_t page;
	int owner; /* + 1 */
} table[TABLE];
static struct {
	unsigned char *address;
	size_t pages;
} kept[KEPT];
static struct {
	uintptr_t end;
	int owner;
} steps[4096]; /* of the heap's end, from the bottom up */
static unsigned step_count;
static uintptr_t heap_start;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t seed;
static int file, blocks;

static uint64_t below(uint64_t n)
{
	uint64_t z = (seed += UINT64_C(0x9e3779b97f4a7c15));
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (z ^ (z >> 31)) % n;
}

/* ---- counting ---- */

static int *owner_of(uintptr_t page)
{
	unsigned i = (unsigned)(page * UINT64_C(0x9e3779b97f4a7c15) >> 40) & (TABLE - 1);
	while (table[i].page && table[i].page != page)
		i = (i + 1) & (TABLE - 1);
	table[i].page = page;
	return &table[i].owner;
}

static int cut(const void *address, size_t pages)
{
	int known = 0;
	for (size_t i = 0; i < pages; i++) {
		int *owner = owner_of((uintptr_t)address / PAGE + i);
		if (*owner) {
			count[*owner - 1].now -= PAGE;
			total.now -= PAGE;
			known = 1;
		}
		*owner = 0;
	}
	return known;
}

static void took(enum function f, uint64_t bytes)
{
	count[f].maps++;
	count[f].taken += bytes;
	count[f].now += bytes;
	total.maps++;
	total.taken += bytes;
	total.now += bytes;
	if (total.now > peak)
		peak = total.now;
}

static void add(enum function f, const void *address, size_t pages)
{
	cut(address, pages);
	for (size_t i = 0; i < pages; i++)
		*owner_of((uintptr_t)address / PAGE + i) = (int)f + 1;
	took(f, (uint64_t)pages * PAGE);
}

/* ---- calls ---- */

static void must(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	_exit(9);
}

static void keep(unsigned i, void *address, size_t pages)
{
	must(address != MAP_FAILED, "mmap");
	kept[i].address = address;
	kept[i].pages = pages;
}

static SITE void take_map(unsigned i, size_t pages)
{
	/* the last page need not be whole */
	void *p = mmap(NULL, pages * PAGE - below(PAGE), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	keep(i, p, pages);
	add(MAP, p, pages);
}

static SITE void take_map64(unsigned i, size_t pages)
{
	void *p = mmap64(NULL, pages * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			 -1, 0);
	keep(i, p, pages);
	add(MAP64, p, pages);
}

static SITE void take_call(unsigned i, size_t pages)
{
	void *p = (void *)syscall(SYS_mmap, NULL, pages * PAGE, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
	keep(i, p, pages);
	add(CALL, p, pages);
}

static SITE void take_shared(unsigned i, size_t pages)
{
	void *p = mmap(NULL, pages * PAGE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	keep(i, p, pages);
	add(SHARED, p, pages);
}

/* Over a part of one that is there. */
static SITE void take_over(unsigned i, size_t from, size_t pages)
{
	unsigned char *at = kept[i].address + from * PAGE;
	void *p = mmap(at, pages * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	must(p == at, "mmap over");
	add(OVER, p, pages);
}

static SITE void file_over(unsigned i, size_t from, size_t pages)
{
	unsigned char *at = kept[i].address + from * PAGE;
	void *p = mmap(at, pages * PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0);
	must(p == at, "mmap of a file");
	unmaps += (uint64_t)cut(p, pages);
}

static void unmap(unsigned char *at, size_t pages)
{
	if (!pages)
		return;
	size_t bytes = pages * PAGE - below(PAGE);
	must((below(2) ? munmap(at, bytes) : syscall(SYS_munmap, at, bytes)) == 0, "munmap");
	unmaps += (uint64_t)cut(at, pages);
}

/* A system call that no hook sees. */
static long direct(long number, const void *a, size_t b, long c, long d, long e)
{
	long r = number;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = 0;
	__asm__ volatile("syscall"
			 : "+a"(r)
			 : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return r;
}

/* Puts memory that is not counted where some was; false = somebody else's is there. */
static int fill_hole(unsigned char *at, size_t pages)
{
	long p = direct(SYS_mmap, at, pages * PAGE, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1);
	if (p > 0 && p != (long)at) /* a kernel that does not know the flag */
		direct(SYS_munmap, (void *)p, pages * PAGE, 0, 0, 0);
	return p == (long)at;
}

static SITE void give(unsigned i, size_t from, size_t pages)
{
	unsigned char *start = kept[i].address, *end = start + (from + pages) * PAGE;
	size_t n = kept[i].pages;
	unmap(start + from * PAGE, pages);
	if (pages < n && fill_hole(start + from * PAGE, pages))
		return;
	if (pages < n) {
		unmap(start, from);
		unmap(end, n - from - pages);
	}
	kept[i].address = NULL;
}

static SITE void take_remap(unsigned i, size_t pages)
{
	void *old = kept[i].address;
	size_t old_pages = kept[i].pages;
	void *p = below(2) ? mremap(old, old_pages * PAGE, pages * PAGE, MREMAP_MAYMOVE)
			   : (void *)syscall(SYS_mremap, old, old_pages * PAGE, pages * PAGE,
					     MREMAP_MAYMOVE);
	keep(i, p, pages);
	int known = cut(old, old_pages);
	unmaps += (uint64_t)known;
	if (known)
		add(REMAP, p, pages);
}

/* Moves a file's mapping, and maps it a second time: none of it counts. */
static SITE void move_file(void)
{
	void *p = mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, file, 0);
	void *moved = mremap(p, 2 * PAGE, 5 * PAGE, MREMAP_MAYMOVE);
	void *twice = mremap(moved, 0, PAGE, MREMAP_MAYMOVE);
	must(p != MAP_FAILED && moved != MAP_FAILED && twice != MAP_FAILED, "a moved file");
	must(munmap(moved, 5 * PAGE) == 0 && munmap(twice, PAGE) == 0, "munmap of it");
}

/* A second mapping of shared memory; a file's is none of ours. */
static SITE void take_twice(unsigned i, unsigned other)
{
	void *p = mremap(kept[other].address, 0, PAGE, MREMAP_MAYMOVE);
	keep(i, p, 1);
	if (*owner_of((uintptr_t)kept[other].address / PAGE))
		add(TWICE, p, 1);
}

static void shrink_to(uintptr_t end)
{
	int known = 0;
	while (step_count && steps[step_count - 1].end > end) {
		uintptr_t low = step_count > 1 ? steps[step_count - 2].end : heap_start;
		uintptr_t to = low > end ? low : end;
		uint64_t gone = steps[step_count - 1].end - to;
		count[steps[step_count - 1].owner].now -= gone;
		total.now -= gone;
		known |= gone != 0;
		steps[step_count - 1].end = to;
		if (to == low)
			step_count--;
	}
	unmaps += (uint64_t)known;
}

static void grew(enum function f, uintptr_t end, uint64_t bytes)
{
	steps[step_count].end = end;
	steps[step_count++].owner = f;
	took(f, bytes);
}

static SITE void take_brk(int64_t more)
{
	uintptr_t old = (uintptr_t)sbrk(0), end = old + (uintptr_t)more;
	must(brk((void *)end) == 0, "brk");
	if (more > 0)
		grew(BRK, end, (uint64_t)more);
	else
		shrink_to(end);
}

static SITE void take_sbrk(int64_t more)
{
	uintptr_t old = (uintptr_t)sbrk(more);
	must(old != (uintptr_t)-1, "sbrk");
	if (more > 0)
		grew(SBRK, old + (uintptr_t)more, (uint64_t)more);
	else if (more < 0)
		shrink_to(old + (uintptr_t)more);
}

/* None of these changes anything. */
static SITE void fail(void)
{
	void *p = mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(p == MAP_FAILED && munmap((void *)1, PAGE) == -1 &&
		     syscall(SYS_mmap, NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L) ==
			     -1 &&
		     mremap((void *)(uintptr_t)PAGE, PAGE, 2 * PAGE, 0) == MAP_FAILED &&
		     sbrk(INT64_MAX / 2) == (void *)-1 && brk((void *)-1) == -1,
	     "what should fail");
	/* nothing is mapped there: it succeeds, and is no unmapping */
	must(munmap((void *)(uintptr_t)(16 * PAGE), PAGE) == 0, "munmap of nothing");
}

/* ---- in a random order ---- */

static void move_heap_end(void)
{
	uintptr_t now = (uintptr_t)sbrk(0);
	int64_t room = (int64_t)(now - heap_start);
	int64_t more = (int64_t)below(60000) - (room > 200000 ? 40000 : 20000);
	if (more < -room)
		more = -room;
	if (more > 0 && step_count == sizeof steps / sizeof *steps)
		return;
	if (below(2))
		take_brk(more);
	else
		take_sbrk(more);
}

static void fresh(unsigned i)
{
	switch (below(5)) {
	case 0:
		take_map64(i, 1 + below(64));
		break;
	case 4:
		take_call(i, 1 + below(20));
		break;
	case 1:
		take_shared(i, 1 + below(8));
		break;
	case 2:
		if (kept[(i + 1) % KEPT].address) { /* of private memory it fails */
			unsigned other = (i + 1) % KEPT;
			if (*owner_of((uintptr_t)kept[other].address / PAGE) == SHARED + 1) {
				take_twice(i, other);
				break;
			}
		}
		/* fall through */
	default:
		take_map(i, 1 + below(20));
	}
}

static void one_step(void)
{
	unsigned i = (unsigned)below(KEPT);
	if (below(16) == 0)
		move_file();
	if (below(8) == 0) {
		move_heap_end();
		return;
	}
	if (!kept[i].address) {
		fresh(i);
		return;
	}
	size_t n = kept[i].pages, from = below(n), pages = 1 + below(n - from);
	int whole = 1;
	for (size_t k = 0; k < n; k++) { /* mremap wants one mapping of one kind */
		int owner = *owner_of((uintptr_t)kept[i].address / PAGE + k);
		whole &= owner && owner == *owner_of((uintptr_t)kept[i].address / PAGE);
	}
	switch (below(6)) {
	case 0:
		take_over(i, from, pages);
		break;
	case 1:
		file_over(i, from, pages);
		break;
	case 2:
		give(i, from, pages);
		break;
	case 3:
		if (whole && *owner_of((uintptr_t)kept[i].address / PAGE) != SHARED + 1 &&
		    *owner_of((uintptr_t)kept[i].address / PAGE) != TWICE + 1)
			take_remap(i, 1 + below(2 * n + 4));
		break;
	default:
		give(i, 0, n);
	}
}

static SITE void churn(void)
{
	for (int i = 0; i < blocks; i++)
		free(malloc(16));
}

static void *run(void *arg)
{
	for (int i = 0; i < *(int *)arg; i++) {
		churn();
		pthread_mutex_lock(&lock);
		one_step();
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void write_truth(void)
{
	FILE *f = fopen(getenv("BESIDE_FILE") ? getenv("BESIDE_FILE") : "/dev/null", "w");
	must(f != NULL, "truth");
	fprintf(f,
		"{\"maps\":%ju,\"unmaps\":%ju,\"mapped_bytes\":%ju,\"mapped_peak_bytes\":%ju,"
		"\"mapped_end_bytes\":%ju,\"mark_bytes\":%ju,\"functions\":{",
		(uintmax_t)total.maps, (uintmax_t)unmaps, (uintmax_t)total.taken, (uintmax_t)peak,
		(uintmax_t)total.now, (uintmax_t)total.at_mark);
	for (int i = 0; i < FUNCTIONS; i++)
		fprintf(f, "%s\"%s\":[%ju,%ju,%ju,%ju]", i ? "," : "", names[i],
			(uintmax_t)count[i].maps, (uintmax_t)count[i].taken,
			(uintmax_t)count[i].now, (uintmax_t)count[i].at_mark);
	fputs("}}\n", f);
	fclose(f);
}

int main(int argc, char **argv)
{
	pthread_t t[16];
	int threads = argc > 2 ? atoi(argv[2]) : 1, rounds = 4000 / threads;
	blocks = argc > 3 ? atoi(argv[3]) : 0;
	seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	free(malloc(1)); /* the C library's heap begins before ours */
	file = open("/proc/self/exe", O_RDONLY);
	heap_start = (uintptr_t)sbrk(0);
	fail();
	for (int i = 0; i < threads; i++)
		must(pthread_create(&t[i], NULL, run, &rounds) == 0, "thread");
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < FUNCTIONS; i++)
		count[i].at_mark = count[i].now;
	total.at_mark = total.now;
	ms_mark("middle");
	rounds = 1000;
	run(&rounds);
	write_truth();
	printf("ends with %s\n", total.now ? "some" : "none");
	return 0;
}
