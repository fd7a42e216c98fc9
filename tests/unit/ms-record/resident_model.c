/* SPDX-License-Identifier: MIT
 * What resident pages are for, of random processes, against a naive model that looks at every byte
 * of a page and at every block for each.
 */
#include "ms-record/scan/resident_solve.c" /* it belongs to a tool, of which there is no library */

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/held.h"
#include "tests/unit/is.h"
#include "tests/unit/stream.h"

#define BASE UINT64_C(0x10000000)
#define SPACE 400u /* pages */
#define BLOCKS 300u
#define REGIONS 60u
#define SITES 6u

static struct stream s;
static struct work w;
static struct session session;
static struct scan scan;
static struct pool pool;
static struct mg_session mem, head;
static struct scan_thread threads[3];
static struct graph_block blocks[BLOCKS];
static struct ms_region regions[REGIONS];
static uint64_t own_inode;
/* Holds the figures that are wanted. */
static struct resident want;
static struct resident_site sites[SITES];
static uint64_t region_bytes[REGIONS];
static struct naive {
	uint64_t address, end, from, to; /* its data; with what the allocator keeps for it */
	uint32_t stack;
} v[BLOCKS];
static size_t n;

static uint64_t any(uint64_t below)
{
	return stream_random(&s) % below;
}

/* ---- a random process ---- */

static void put_block(uint64_t address, uint64_t size, bool user)
{
	struct scan_live *l = &scan.live;
	if (l->count < BLOCKS)
		blocks[l->count++] = (struct graph_block){.address = address,
							  .size = size,
							  .stack = (uint32_t)any(SITES),
							  .user = user};
}

/* Fills a heap with blocks, glibc's or ones that touch; some have one of ms_alloc inside. */
static void fill_heap(uint64_t start, uint64_t end)
{
	for (uint64_t at = start + 16 * any(200);;) {
		uint64_t size = any(8) ? any(300) : any(4 * PAGE);
		at += any(5) ? 16 : 16 + 16 * any(any(20) ? 600 : 20000);
		if (at + size + 40 > end)
			return;
		if (any(10) == 0) /* over what the allocator keeps in front of the next one */
			put_block(at - 12, any(13), true);
		put_block(at, size, false);
		if (size > 64 && any(4) == 0) {
			put_block(at + 16, any(2) ? size - 16 : 8, true);
			put_block(at + size, any(9), true);
		}
		at += (size + 8 + 15) & ~UINT64_C(15);
	}
}

static void add_heap(uint64_t start, uint64_t end, bool arena)
{
	*MS_PUSH(&w.resident.heaps) = (struct resident_heap){
		start, end, arena ? (any(3) ? start : start - (UINT64_C(1) << 26)) + 48 : 0};
	fill_heap(start + (arena ? 2304 : 0), end);
}

static void fill_region(struct ms_region *m)
{
	uint64_t start = m->map.start, end = m->map.end;
	if (m->kind == MS_REGION_HEAP || (m->kind == MS_REGION_ANONYMOUS && any(3) == 0))
		add_heap(start, any(2) ? end : start + (end - start) / 2 / PAGE * PAGE,
			 m->kind == MS_REGION_ANONYMOUS);
	else if (any(3) == 0) /* its own mapping */
		put_block(start + 16, any(end - start - 16), false);
	else if (any(3) == 0)
		put_block(start + any(2) * 24, 100, true);
}

static void add_region(uint64_t *at)
{
	struct ms_region *m = &regions[w.resident.regions.n++];
	unsigned kind = (unsigned)any(16);
	uint64_t pages = 1 + any(any(6) ? 12 : 60);
	*m = (struct ms_region){.map = {.start = *at, .end = *at + pages * PAGE, .path = ""},
				.kind = MS_REGION_ANONYMOUS};
	strcpy(m->map.perms, any(5) ? "rw-p" : "r--p");
	if (kind < 4) {
		m->kind = MS_REGION_MAPPED_FILE;
		m->map.inode = any(4) ? 12 : own_inode;
		m->map.path = any(4) ? "/bin/prog" : "/memfd:memscope-1";
	} else if (kind == 4) {
		m->kind = MS_REGION_STACK;
		m->map.path = "[stack]";
	} else if (kind == 5) {
		m->kind = MS_REGION_HEAP;
		m->map.path = "[heap]";
	} else if (kind == 6) {
		m->kind = MS_REGION_MAPPED_FILE; /* without a file: the kernel's own */
		m->map.path = "[vdso]";
	}
	fill_region(m);
	*at = m->map.end + (any(3) ? 0 : any(5) * PAGE);
}

static void add_runs_of(const struct ms_region *m)
{
	for (uint64_t at = m->map.start; at < m->map.end;) {
		uint64_t end = at + (1 + any(9)) * PAGE;
		end = end < m->map.end ? end : m->map.end;
		if (any(3))
			*MS_PUSH(&w.resident.runs) = (struct resident_run){at, end, any(6) == 0};
		at = end;
	}
}

static void make_process(void)
{
	uint64_t at = BASE;
	w.resident.regions.v = regions;
	while (at < BASE + (SPACE - 64) * PAGE && w.resident.regions.n < REGIONS)
		add_region(&at);
	for (size_t i = 0; i < w.resident.regions.n; i++)
		add_runs_of(&regions[i]);
	for (size_t i = 0; i < 3; i++) {
		uint64_t sp = BASE + any(SPACE * PAGE);
		threads[i] = (struct scan_thread){
			.sp = sp, .tp = any(3) ? sp + any(4) * any(PAGE) : sp - any(3 * PAGE)};
	}
	head.own[0][0] = BASE + any(SPACE) * PAGE;
	head.own[0][1] = head.own[0][0] + any(4) * PAGE;
	mem.own[MG_OWN_MAX - 1][0] = BASE + any(SPACE) * PAGE;
	mem.own[MG_OWN_MAX - 1][1] = mem.own[MG_OWN_MAX - 1][0] + any(4) * PAGE;
}

/* ---- the naive model ---- */

static const struct resident_heap *heap_of(uint64_t address)
{
	for (size_t i = 0; i < w.resident.heaps.n; i++)
		if (address >= w.resident.heaps.v[i].start && address < w.resident.heaps.v[i].end)
			return &w.resident.heaps.v[i];
	return NULL;
}

static void extend(struct naive *b, bool user)
{
	b->from = b->address;
	b->to = b->end;
	if (user || !w.resident.glibc)
		return;
	b->from -= 8;
	while (b->to < b->from + 32 || b->to % 16 != 8)
		b->to++;
	if (heap_of(b->address))
		return;
	for (b->from = b->address - 1; b->from % PAGE;)
		b->from--;
	for (b->to = b->end; b->to % PAGE;)
		b->to++;
}

/* Places the blocks that lie in no other one, the earliest first. */
static void place_all(void)
{
	bool taken[BLOCKS] = {false};
	n = 0;
	for (uint32_t k = 0; k < scan.live.count; k++) {
		const struct graph_block *b = NULL;
		for (uint32_t i = 0; i < scan.live.count; i++)
			if (!taken[i] && (!b || blocks[i].address < b->address ||
					  (blocks[i].address == b->address && b->user)))
				b = &blocks[i];
		taken[b - blocks] = true;
		if (n && b->address < v[n - 1].end)
			continue;
		sites[b->stack].blocks++;
		sites[b->stack].bytes += b->size;
		v[n] = (struct naive){
			.address = b->address, .end = b->address + b->size, .stack = b->stack};
		extend(&v[n++], b->user);
	}
	for (size_t i = 1; i < n; i++)
		if (v[i - 1].to > v[i].from) { /* data first, then the one behind */
			v[i - 1].to = v[i].from > v[i - 1].end ? v[i].from : v[i - 1].end;
			v[i].from = v[i - 1].to;
		}
}

static uint64_t common(uint64_t from, uint64_t to, uint64_t page)
{
	uint64_t bytes = 0;
	for (uint64_t at = page; at < page + PAGE; at++)
		bytes += at >= from && at < to;
	return bytes;
}

static bool in_own(uint64_t page)
{
	return (page >= head.own[0][0] && page < head.own[0][1]) ||
	       (session.forked && page >= mem.own[MG_OWN_MAX - 1][0] &&
		page < mem.own[MG_OWN_MAX - 1][1]);
}

/* The last thread whose stack pointer is in the region says how far its stack goes. */
static bool in_stack(const struct ms_region *m, uint64_t page)
{
	uint64_t end = 0;
	for (size_t i = 0; i < 3; i++) {
		if (threads[i].sp < m->map.start || threads[i].sp >= m->map.end)
			continue;
		end = threads[i].tp + 2304;
		while (end % PAGE)
			end++;
		if (threads[i].tp <= threads[i].sp || end > m->map.end)
			end = m->map.end;
	}
	return page < end;
}

static uint64_t *whole_of(size_t i, uint64_t page)
{
	const struct ms_region *m = &regions[i];
	bool zeroed = i && !m->map.inode && !*m->map.path && regions[i - 1].map.inode &&
		      regions[i - 1].map.end == m->map.start && m->map.perms[1] == 'w' &&
		      regions[i - 1].map.perms[1] == 'w';
	if (m->map.inode == own_inode || !strcmp(m->map.path, "/memfd:memscope-1"))
		return &want.recorder;
	if (m->kind == MS_REGION_STACK)
		return &want.stacks;
	if (m->kind == MS_REGION_MAPPED_FILE || zeroed)
		return &want.files;
	return in_own(page) ? &want.recorder : in_stack(m, page) ? &want.stacks : NULL;
}

static void weigh(uint64_t page)
{
	const struct resident_heap *h = heap_of(page);
	uint64_t used = 0, next = 0;
	if (!h || !w.resident.glibc)
		return;
	used = h->start + (h->arena ? 2304 : 0);
	for (size_t i = 0; i < n; i++) {
		if (v[i].to <= page && v[i].to > used)
			used = v[i].to;
		if (v[i].to > page && v[i].from < h->end && !next)
			next = v[i].from;
	}
	want.arena_free += h->arena ? PAGE : 0;
	want.trim += page >= used + 48 && (next || !h->arena) ? PAGE : 0;
	want.gaps += next && next - used >= 128 * 1024 ? PAGE : 0;
}

static void pin_page(uint64_t page, uint64_t held)
{
	uint64_t left = PAGE - held, users = 0, first = 0, latest = 0;
	bool one = true;
	for (size_t i = 0; i < n; i++) {
		if (v[i].to <= page || v[i].from >= page + PAGE)
			continue;
		uint64_t data = common(v[i].address, v[i].end, page);
		uint64_t all = common(v[i].from, v[i].to, page);
		all = all > data ? all : data;
		first = users++ ? first : v[i].stack;
		latest = v[i].stack;
		one &= latest == first;
		sites[latest].pinned += (PAGE - held) * all / held;
		left -= (PAGE - held) * all / held;
	}
	sites[latest].pinned += left;
	sites[first].alone += one ? PAGE : 0;
	want.pinned += PAGE - held;
}

static void count_page(size_t region, uint64_t page, bool swapped)
{
	const struct ms_region *m = &regions[region];
	uint64_t *whole = whole_of(region, page), live = 0, held = 0;
	bool heap = heap_of(page) != NULL;
	for (size_t i = 0; i < n; i++) {
		bool there = v[i].address > m->map.start && v[i].address < m->map.end;
		heap |= (v[i].from < page + PAGE && v[i].to > page) || (!w.resident.glibc && there);
		if (v[i].to <= page || v[i].from >= page + PAGE)
			continue;
		uint64_t data = common(v[i].address, v[i].end, page);
		uint64_t all = common(v[i].from, v[i].to, page);
		live += data;
		held += all > data ? all : data;
		*(swapped || whole ? &sites[v[i].stack].elsewhere : &sites[v[i].stack].live) +=
			data;
	}
	if (swapped)
		return;
	region_bytes[region] += whole == &want.files ? PAGE : 0;
	if (whole || !heap) {
		*(whole ? whole : &want.other) += PAGE;
		return;
	}
	held = held < PAGE ? held : PAGE;
	want.slack += held - live;
	want.free += PAGE - held;
	if (held)
		pin_page(page, held);
	else
		weigh(page);
}

static void count_all(void)
{
	place_all();
	for (size_t i = 0; i < w.resident.runs.n; i++) {
		const struct resident_run *run = &w.resident.runs.v[i];
		size_t region = 0;
		while (regions[region].map.end <= run->start)
			region++;
		for (uint64_t page = run->start; page < run->end; page += PAGE)
			count_page(region, page, run->swapped);
	}
	for (size_t i = 0; i < w.resident.heaps.n; i++) {
		const struct resident_heap *h = &w.resident.heaps.v[i];
		want.arenas += h->arena && h->arena - 48 == h->start;
	}
	want.other += w.resident.missing;
}

/* ---- */

static void compare(void)
{
	const struct resident *r = &w.resident;
	is("files", r->files, want.files);
	is("recorder", r->recorder, want.recorder);
	is("stacks", r->stacks, want.stacks);
	is("slack", r->slack, want.slack);
	is("free", r->free, want.free);
	is("other", r->other, want.other);
	is("pinned", r->pinned, want.pinned);
	is("trim", r->trim, want.trim);
	is("arenas", r->arenas, want.arenas);
	is("free in arenas", r->arena_free, want.arena_free);
	is("gaps", r->gaps, want.gaps);
	for (size_t i = 0; i < r->site_count && i < SITES; i++) {
		is("blocks", r->sites[i].blocks, sites[i].blocks);
		is("bytes", r->sites[i].bytes, sites[i].bytes);
		is("live", r->sites[i].live, sites[i].live);
		is("elsewhere", r->sites[i].elsewhere, sites[i].elsewhere);
		is("pinned by it", r->sites[i].pinned, sites[i].pinned);
		is("alone", r->sites[i].alone, sites[i].alone);
	}
	for (size_t i = 0; i < r->regions.n; i++)
		is("of a file", r->region_bytes[i], region_bytes[i]);
}

static void test(uint64_t seed)
{
	s = (struct stream){.seed = seed};
	scan = (struct scan){.live = {.blocks = blocks}};
	session.forked = any(2);
	w = (struct work){.s = &session,
			  .q = &scan,
			  .threads = threads,
			  .thread_count = 3,
			  .resident = {.state = MS_SCAN_DONE,
				       .taken = true,
				       .glibc = any(4) != 0,
				       .missing = any(3) * PAGE}};
	want = (struct resident){.wanted = false};
	memset(sites, 0, sizeof sites);
	memset(region_bytes, 0, sizeof region_bytes);
	make_process();
	count_all();
	resident_solve(&w);
	int before = failures;
	compare();
	if (failures > before)
		printf("seed %lu\n", (long)seed);
	MS_FREE(w.resident.runs.v, w.resident.heaps.v, w.resident.sites, w.resident.region_bytes);
}

int main(void)
{
	struct stat st;
	pool = (struct pool){.memfd = memfd_create("own", MFD_CLOEXEC), .head = &head};
	own_inode = fstat(pool.memfd, &st) ? 0 : st.st_ino;
	session.pool = &pool;
	session.mem = &mem;
	for (uint64_t seed = 1; seed <= 60 && failures < 20; seed++)
		test(seed);
	is("all is given back", (uint64_t)held_blocks, 0);
	return failures != 0;
}
