/* SPDX-License-Identifier: MIT
 * Counts a test target's own allocations in static tables and writes the totals as JSON.
 *
 * Live blocks stand in an open-addressed table (address -> size, function, thread, number) whose
 * entries move back on removal, so that it never fills with dead ones.
 */
#include "truth.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BLOCKS (1u << 18)
#define SITES 64
#define THREADS 4096

struct block {
	const void *address;
	size_t size;
	uint64_t number;
	int site;
	uint32_t thread;
};
struct site {
	char name[40]; /* a copy: the module that has the name may go */
	uint64_t allocations, frees, reallocations, failed, bytes, temporary;
	uint64_t live_bytes, live_blocks, peak_bytes, peak_blocks;
};
struct thread {
	long tid;
	uint64_t allocations, bytes, last;
};

int tm_serial = 1;
int tm_pure = 0;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block blocks[BLOCKS];
static struct site sites[SITES], vias[SITES];
static struct thread threads[THREADS];
static unsigned site_count, via_count, thread_count;
static struct site total;
static uint64_t number;
static const char *file;
static pid_t owner;
static __thread int self = -1;

/* ---- tables --------------------------------------------------------------------------------- */

static unsigned slot_of(const void *address)
{
	return (unsigned)(((uintptr_t)address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 40) &
	       (BLOCKS - 1);
}

static void block_add(struct block b)
{
	unsigned i = slot_of(b.address);
	while (blocks[i].address)
		i = (i + 1) & (BLOCKS - 1);
	blocks[i] = b;
}

static struct block *block_find(const void *address)
{
	for (unsigned i = slot_of(address); blocks[i].address; i = (i + 1) & (BLOCKS - 1))
		if (blocks[i].address == address)
			return &blocks[i];
	return NULL;
}

static void block_remove(struct block *b)
{
	unsigned hole = (unsigned)(b - blocks);
	for (unsigned i = (hole + 1) & (BLOCKS - 1); blocks[i].address;
	     i = (i + 1) & (BLOCKS - 1)) {
		unsigned home = slot_of(blocks[i].address);
		if (((i - home) & (BLOCKS - 1)) < ((i - hole) & (BLOCKS - 1)))
			continue;
		blocks[hole] = blocks[i];
		hole = i;
	}
	blocks[hole].address = NULL;
}

static int named(struct site *table, unsigned *count, const char *name)
{
	for (unsigned i = 0; i < *count; i++)
		if (strcmp(table[i].name, name) == 0)
			return (int)i;
	if (*count == SITES)
		abort();
	strncpy(table[*count].name, name, sizeof table->name - 1);
	return (int)(*count)++;
}

static struct thread *me(void)
{
	if (self < 0) {
		if (thread_count == THREADS)
			abort();
		self = (int)thread_count++;
		threads[self].tid = syscall(SYS_gettid);
		threads[self].last = UINT64_MAX;
	}
	return &threads[self];
}

/* ---- counting ------------------------------------------------------------------------------- */

static void add(struct site *s, size_t size)
{
	s->allocations++;
	s->bytes += size;
	s->live_bytes += size;
	s->live_blocks++;
}

static void drop(struct site *s, size_t size, int temporary)
{
	s->frees++;
	s->temporary += (uint64_t)temporary;
	s->live_bytes -= size;
	s->live_blocks--;
}

static void look_for_peak(void)
{
	if (total.live_bytes <= total.peak_bytes)
		return;
	total.peak_bytes = total.live_bytes;
	total.peak_blocks = total.live_blocks;
	for (unsigned i = 0; i < site_count; i++) {
		sites[i].peak_bytes = sites[i].live_bytes;
		sites[i].peak_blocks = sites[i].live_blocks;
	}
}

static void made(int site, const void *address, size_t size)
{
	struct thread *t = me();
	t->allocations++;
	t->bytes += size;
	t->last = number;
	block_add((struct block){address, size, number++, site, (uint32_t)self});
	add(&sites[site], size);
	add(&total, size);
}

static void released(int site, size_t size, uint64_t which, uint32_t thread)
{
	int temporary = me()->last == which && (int)thread == self;
	drop(&sites[site], size, temporary);
	drop(&total, size, temporary);
}

static void failed(int site)
{
	sites[site].failed++;
	total.failed++;
}

static void begin(void)
{
	if (!tm_serial)
		pthread_mutex_lock(&lock);
}

static void end(void)
{
	if (!tm_serial)
		pthread_mutex_unlock(&lock);
}

void tm_enter(void)
{
	if (tm_serial)
		pthread_mutex_lock(&lock);
}

void tm_leave(void)
{
	if (tm_serial)
		pthread_mutex_unlock(&lock);
}

void tm_alloc(const char *function, const void *block, size_t size)
{
	begin();
	int site = named(sites, &site_count, function);
	if (block)
		made(site, block, size);
	else if (size)
		failed(site);
	look_for_peak();
	end();
}

void tm_free(const void *address)
{
	if (!address)
		return;
	begin();
	struct block *b = block_find(address);
	if (!b)
		abort();
	released(b->site, b->size, b->number, b->thread);
	block_remove(b);
	end();
}

struct tm_old tm_replace(const void *address)
{
	struct tm_old old = {0, 0, 0, 0, 0};
	if (!address)
		return old;
	begin();
	struct block *b = block_find(address);
	if (!b)
		abort();
	old = (struct tm_old){1, b->size, b->site, b->thread, b->number};
	block_remove(b);
	end();
	return old;
}

void tm_replaced(const char *function, struct tm_old old, const void *oldblock, const void *block,
		 size_t size)
{
	begin();
	int site = named(sites, &site_count, function);
	if (!block && size) {
		failed(site);
		if (old.held)
			block_add((struct block){oldblock, old.size, old.number, old.site,
						 old.thread});
	} else {
		if (old.held)
			released(old.site, old.size, old.number, old.thread);
		if (block)
			made(site, block, size);
		if (old.held && block) {
			sites[site].reallocations++;
			total.reallocations++;
		}
	}
	look_for_peak();
	end();
}

void tm_kept(struct tm_old old, const void *block)
{
	begin();
	block_add((struct block){block, old.size, old.number, old.site, old.thread});
	end();
}

void tm_passing(const char *function, size_t size)
{
	tm_alloc(function, &number, size);
	tm_free(&number);
}

void tm_via(const char *library_function, size_t size)
{
	tm_enter();
	begin();
	struct site *s = &vias[named(vias, &via_count, library_function)];
	s->allocations++;
	s->bytes += size;
	me()->last = UINT64_MAX; /* no block from before it is temporary any more */
	end();
	tm_leave();
}

uint64_t tm_random(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* ---- writing -------------------------------------------------------------------------------- */

static char text[1 << 17];
static size_t used;

static void put(const char *s)
{
	while (*s && used < sizeof text)
		text[used++] = *s++;
}

static void put_number(const char *key, uint64_t n)
{
	char digits[24], *d = digits + sizeof digits;
	*--d = '\0';
	do
		*--d = (char)('0' + n % 10);
	while (n /= 10);
	put("\"");
	put(key);
	put("\":");
	put(d);
	put(",");
}

static void put_end(const char *closing)
{
	if (text[used - 1] == ',')
		used--;
	put(closing);
}

static void put_counts(const struct site *s)
{
	put_number("allocations", s->allocations);
	put_number("frees", s->frees);
	put_number("reallocations", s->reallocations);
	put_number("failed", s->failed);
	put_number("allocated_bytes", s->bytes);
	put_number("temporary", s->temporary);
	put_number("live_bytes", s->live_bytes);
	put_number("live_blocks", s->live_blocks);
	put_number("peak_bytes", s->peak_bytes);
	put_number("peak_blocks", s->peak_blocks);
}

static void put_table(const char *name, const struct site *table, unsigned count)
{
	put("\"");
	put(name);
	put("\":[");
	for (unsigned i = 0; i < count; i++) {
		put("\n {\"function\":\"");
		put(table[i].name);
		put("\",");
		put_counts(&table[i]);
		put_end("},");
	}
	put_end("],\n");
}

static void put_threads(void)
{
	put("\"threads\":[");
	for (unsigned i = 0; i < thread_count && thread_count <= 128; i++) {
		put("\n {");
		put_number("tid", (uint64_t)threads[i].tid);
		put_number("allocations", threads[i].allocations);
		put_number("allocated_bytes", threads[i].bytes);
		put_end("},");
	}
	put_end("]}\n");
}

void tm_dump(void)
{
	if (!file || getpid() != owner)
		return;
	used = 0;
	put("{");
	put_number("pid", (uint64_t)owner);
	put_number("pure", (uint64_t)tm_pure);
	put_number("peak_known", (uint64_t)tm_serial);
	put_counts(&total);
	put("\n");
	put_table("sites", sites, site_count);
	put_table("vias", vias, via_count);
	put_threads();
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	for (size_t done = 0; fd >= 0 && done < used;) {
		ssize_t n = write(fd, text + done, used - done);
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	close(fd);
}

void tm_say(const char *s)
{
	size_t left = strlen(s);
	while (left) {
		ssize_t n = write(1, s, left);
		if (n <= 0)
			return;
		s += n;
		left -= (size_t)n;
	}
}

void tm_say_number(const char *what, long n)
{
	char digits[24], *d = digits + sizeof digits;
	unsigned long left = n < 0 ? -(unsigned long)n : (unsigned long)n;
	*--d = '\0';
	*--d = '\n';
	do
		*--d = (char)('0' + left % 10);
	while (left /= 10);
	if (n < 0)
		*--d = '-';
	tm_say(what);
	tm_say(" ");
	tm_say(d);
}

__attribute__((constructor(101))) static void start(void)
{
	file = getenv("TRUTH_FILE");
	owner = getpid();
}

__attribute__((destructor(101))) static void finish(void)
{
	tm_dump();
}
