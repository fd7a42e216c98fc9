/* SPDX-License-Identifier: MIT
 * Reads the memory of a stopped process.
 *
 * Pages that were never touched are not read: reading would create them, and a reservation of a
 * terabyte would take far too long. Present pages of private memory are read at once; a read of any
 * other memory may block, and is made by a helper process (timed.h).
 */
#include "scan_memory.h"
#include "libcommon/base/path.h"
#include "libcommon/base/order.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "ms-record/base/clock.h"
#include "ms-record/base/timed.h"
#include "ms-record/guest/layout.h"
#include "ms-record/ptrace/attach_maps.h"
#include "libcommon/base/arena.h"
#include "ms-record/base/descriptor.h"
#include "libcommon/proc/proc.h"

#define PAGE 4096u
#define USER_END (MG_ADDRESS_END - PAGE) /* programs use no higher addresses by default */
#define EMPTY_MOST ((uint64_t)16 << 30)
#define PIECE ((size_t)1 << 20)
#define SMALL_PIECE ((size_t)64 << 10)
/* piece size for swapped pages: each page may have to be read from a disk */
#define SWAPPED_PIECE ((size_t)64 << 10)
#define FEW 4u /* at most this many pages are looked up singly */
#define REGIONS 512u
#define TRIAL_NS UINT64_C(200000000) /* reading speed is judged after this time */
#define TRIAL 8 /* reading speed is not judged before 1/TRIAL of the bytes are read */
#define MARGIN 1.5
#define OUR_MEMORY "/memfd:memscope" /* of a process that was recorded */
#define PRESENT (UINT64_C(1) << 63)
#define SWAPPED (UINT64_C(1) << 62)
#define OF_FILE (UINT64_C(1) << 61)

/* Declares the kernel's ioctl PAGEMAP_SCAN (Linux 6.7), which older headers lack. */
struct scan_region {
	uint64_t start, end, categories;
};
struct scan_call {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages, category_inverted,
		category_mask, category_anyof_mask, return_mask;
};
#define SCAN_IOCTL _IOWR('f', 16, struct scan_call)
enum { IS_FILE = 4, IS_PRESENT = 8, IS_SWAPPED = 16, IS_ZERO = 32 };

/* ---- maps ---- */

static bool starts(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static void take_path(struct memory_map *m, const char *path)
{
	const char *name = basename(path);
	m->heap = starts(path, "[heap]");
	m->stack = starts(path, "[stack]");
	m->libc = starts(name, "libc.so.") || starts(name, "libc-2.");
	m->volatile_file = starts(path, "/dev/zero") || starts(path, "/memfd:") ||
			   starts(path, "/dev/shm/") || starts(path, "/SYSV");
	m->special = starts(path, "[v") || (starts(path, "/dev/") && !m->volatile_file);
}

static void add_map(struct memory *m, const struct memory_map *p, const char *path)
{
	struct memory_map *map = MS_PUSH(&m->maps);
	*map = *p;
	take_path(map, path);
	if (map > m->maps.v)
		map->guard_below = map[-1].end == map->start && !map[-1].read && !map[-1].write;
}

/* Adds a mapping as /proc has it. */
static void add_proc_map(struct memory *m, const struct ms_proc_map *from)
{
	const struct memory_map map = {.start = from->start,
				       .end = from->end,
				       .offset = from->offset,
				       .inode = from->inode,
				       .read = from->perms[0] == 'r',
				       .write = from->perms[1] == 'w',
				       .shared = from->perms[3] == 's',
				       .anonymous = from->inode == 0};
	add_map(m, &map, from->path);
}

static int read_maps(struct memory *m, int folder)
{
	const struct ms_proc p = {.folder = folder};
	struct ms_regions r = {0};
	int rc = ms_regions_read(&p, false, &r);
	for (size_t i = 0; i < r.n; i++)
		add_proc_map(m, &r.v[i].map);
	ms_regions_free(&r);
	if (rc || m->maps.n)
		return rc;
	errno = ESRCH;
	return -1;
}

static int open_source(struct memory_source *f, int proc, pid_t tid, int *folder)
{
	char name[32];
	*f = (struct memory_source){.tid = tid, .mem = -1, .pagemap = -1};
	snprintf(name, sizeof name, "task/%d", (int)tid);
	*folder = openat(proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*folder < 0)
		return -1;
	f->mem = openat(*folder, "mem", O_RDONLY | O_CLOEXEC);
	int saved = errno;
	f->pagemap = openat(*folder, "pagemap", O_RDONLY | O_CLOEXEC);
	errno = saved;
	return f->mem < 0 ? -1 : 0;
}

static void close_source(const struct memory_source *f)
{
	descriptor_close(f->mem);
	descriptor_close(f->pagemap);
}

static int open_files(int proc)
{
	return openat(proc, "map_files", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int open_pages(struct memory *m, int proc, pid_t tid, uint64_t deadline_ns, int *folder)
{
	*m = (struct memory){
		.live = {.mem = -1, .pagemap = -1}, .files = -1, .deadline_ns = deadline_ns};
	m->regions = ms_xrealloc(NULL, REGIONS, sizeof *m->regions);
	return open_source(&m->from, proc, tid, folder);
}

int memory_open_pages(struct memory *m, int proc, pid_t tid, uint64_t deadline_ns)
{
	int folder, rc = open_pages(m, proc, tid, deadline_ns, &folder);
	descriptor_close(folder);
	return rc;
}

int memory_open(struct memory *m, int proc, pid_t tid, uint64_t deadline_ns)
{
	int folder, rc = open_pages(m, proc, tid, deadline_ns, &folder);
	m->files = open_files(proc);
	if (!rc)
		rc = read_maps(m, folder);
	descriptor_close(folder);
	return rc;
}

/* Nothing tells which mappings of an image are shared. Those with contents are searched whole. */
void memory_open_image(struct memory *m, const struct memory_image *image, uint64_t deadline_ns)
{
	*m = (struct memory)MEMORY_CLOSED;
	m->image = image;
	m->deadline_ns = deadline_ns;
	for (size_t i = 0; i < image->maps->n; i++) {
		const struct attach_map *p = &image->maps->v[i];
		add_map(m,
			&(struct memory_map){.start = p->start,
					     .end = p->end,
					     .offset = p->offset,
					     .read = p->read,
					     .write = p->write,
					     .anonymous = p->path[0] != '/'},
			p->path);
		struct memory_map *map = &m->maps.v[i];
		map->special |= !strncmp(p->path, OUR_MEMORY, sizeof OUR_MEMORY - 1);
	}
}

int memory_set_live(struct memory *m, int proc, pid_t tid)
{
	int folder;
	descriptor_close(m->files);
	m->files = open_files(proc);
	int rc = open_source(&m->live, proc, tid, &folder);
	descriptor_close(folder);
	return rc;
}

void memory_close(struct memory *m)
{
	close_source(&m->from);
	close_source(&m->live);
	descriptor_close(m->files);
	MS_FREE(m->maps.v, m->buffer, m->regions);
	*m = (struct memory)MEMORY_CLOSED;
}

void memory_set_apart(struct memory *m, const struct memory_part *v, size_t n)
{
	m->apart = v;
	m->apart_count = n;
	for (size_t i = 0; i < n; i++) {
		if (!v[i].left_out)
			continue;
		(void)MS_PUSH(&m->maps);
		size_t at = m->maps.n - 1;
		for (; at && m->maps.v[at - 1].start > v[i].start; at--)
			m->maps.v[at] = m->maps.v[at - 1];
		m->maps.v[at] = (struct memory_map){.start = v[i].start,
						    .end = v[i].end,
						    .read = true,
						    .write = true,
						    .anonymous = true};
	}
}

const struct memory_map *memory_at(const struct memory *m, uint64_t address)
{
	size_t i = MS_COUNT_UP_TO(m->maps.v, m->maps.n, end, address);
	return i < m->maps.n && m->maps.v[i].start <= address ? &m->maps.v[i] : NULL;
}

bool memory_waits(const struct memory *m)
{
	return timed_waits(m->from.tid);
}

/* ---- reading ---- */

/* Returns the first saved range that ends after the address, or NULL. */
static const struct memory_part *apart_after(const struct memory *m, uint64_t address)
{
	for (size_t i = 0; i < m->apart_count; i++)
		if (m->apart[i].end > address)
			return &m->apart[i];
	return NULL;
}

/* Reads pages that are in memory and stay there. */
static bool get_present(const struct memory *m, uint64_t address, void *to, size_t bytes)
{
	struct iovec local = {to, bytes}, remote = {(void *)(uintptr_t)address, bytes};
	if (process_vm_readv(m->from.tid, &local, 1, &remote, 1, 0) == (ssize_t)bytes)
		return true;
	return pread(m->from.mem, to, bytes, (off_t)address) == (ssize_t)bytes;
}

/* Returns the mapping of a range of private memory, or NULL. Its pages that belong to no file
 * cannot disappear while the process is stopped. */
static const struct memory_map *private_at(const struct memory *m, uint64_t address, size_t bytes)
{
	const struct memory_map *map = memory_at(m, address);
	bool is = map && !map->shared && !map->special && map->read && map->end - address >= bytes;
	return is ? map : NULL;
}

enum known { NOT_KNOWN, ALL_THERE, NOTHING_THERE };

static enum known look_up(const struct memory *m, uint64_t address, size_t bytes)
{
	uint64_t page[FEW], first = address / PAGE, n = (address + bytes - 1) / PAGE - first + 1;
	size_t size = n * sizeof *page, there = 0, elsewhere = 0;
	const struct memory_map *map = private_at(m, address, bytes);
	if (n > FEW || m->from.pagemap < 0 || !map ||
	    pread(m->from.pagemap, page, size, (off_t)(first * sizeof *page)) != (ssize_t)size)
		return NOT_KNOWN;
	for (size_t i = 0; i < n; i++) {
		there += page[i] & PRESENT && !(page[i] & OF_FILE) ? 1 : 0;
		elsewhere += page[i] & (SWAPPED | OF_FILE) ? 1 : 0;
	}
	return there == n                                           ? ALL_THERE
	       : m->zeros && map->anonymous && !there && !elsewhere ? NOTHING_THERE
								    : NOT_KNOWN;
}

bool memory_get(const struct memory *m, uint64_t address, void *to, size_t bytes)
{
	if (m->image)
		return m->image->get(m->image->arg, address, to, bytes);
	const struct memory_part *p = apart_after(m, address);
	if (p && p->start <= address && p->end - address >= bytes) {
		memcpy(to, p->bytes + (address - p->start), bytes);
		return true;
	}
	enum known known = look_up(m, address, bytes);
	if (known == ALL_THERE)
		return get_present(m, address, to, bytes);
	if (known == NOT_KNOWN)
		return timed_read(m->from.tid, m->from.mem, address, to, bytes);
	memset(to, 0, bytes);
	return true;
}

/* Finds the wanted pages in [*at, end); *at becomes the address to continue from. Returns the
 * number of regions, or -1 if the kernel lacks the ioctl. */
static long scan_pages(struct memory *m, uint64_t *at, uint64_t end, enum memory_pages which)
{
	uint64_t not_these = which == MEMORY_OWN ? IS_FILE | IS_ZERO : IS_ZERO;
	struct scan_call c = {.size = sizeof c,
			      .start = *at,
			      .end = (end + PAGE - 1) & ~(uint64_t)(PAGE - 1),
			      .vec = (uintptr_t)m->regions,
			      .vec_len = REGIONS,
			      .category_inverted = not_these,
			      .category_mask = not_these,
			      .category_anyof_mask = IS_PRESENT | IS_SWAPPED,
			      .return_mask = IS_PRESENT | IS_SWAPPED};
	long n = m->from.pagemap < 0 ? -1 : ioctl(m->from.pagemap, SCAN_IOCTL, &c);
	*at = n < 0 ? *at : c.walk_end;
	return n;
}

/* Finds the wanted pages in a part of [*at, end) by reading the page map, for a kernel without the
 * ioctl of scan_pages. */
static long read_pages(struct memory *m, uint64_t *at, uint64_t end, enum memory_pages which)
{
	uint64_t room[512];
	size_t pages = (size_t)((end - *at + PAGE - 1) / PAGE);
	pages = pages < 512 ? pages : 512;
	ssize_t got = m->from.pagemap < 0 ? -1
					  : pread(m->from.pagemap, room, pages * sizeof *room,
						  (off_t)(*at / PAGE * sizeof *room));
	long n = 0;
	for (size_t i = 0; i < pages; i++, *at += PAGE) {
		uint64_t p = (size_t)(got < 0 ? 0 : got) / sizeof *room > i ? room[i] : PRESENT;
		if (!(p & (PRESENT | SWAPPED)) || (which == MEMORY_OWN && p & OF_FILE))
			continue;
		uint64_t is = p & PRESENT ? IS_PRESENT : IS_SWAPPED;
		if (n && m->regions[n - 1].end == *at && m->regions[n - 1].categories == is)
			m->regions[n - 1].end += PAGE;
		else
			m->regions[n++] = (struct scan_region){*at, *at + PAGE, is};
	}
	return n;
}

/* Tells whether the program made the page inaccessible (MADV_GUARD_INSTALL), so that it is empty.
 * The page map shows that since Linux 6.15. */
static bool is_guard(const struct memory *m, uint64_t at)
{
	enum { GUARD = 58 };
	uint64_t page = 0;
	return m->from.pagemap >= 0 &&
	       pread(m->from.pagemap, &page, sizeof page, (off_t)(at / PAGE * sizeof page)) > 0 &&
	       page >> GUARD & 1;
}

/* Makes the buffer hold `bytes`; most pieces are small. */
static void make_room(struct memory *m, size_t bytes)
{
	if (bytes <= m->room)
		return;
	m->room = bytes <= SMALL_PIECE ? SMALL_PIECE : PIECE;
	m->buffer = ms_xrealloc(m->buffer, m->room, 1);
}

/* Reads a piece of memory into the buffer; `present`: all of it is in memory. */
static bool get_piece(struct memory *m, uint64_t start, uint64_t end, bool present)
{
	const struct memory_map *map = present ? private_at(m, start, (size_t)(end - start)) : NULL;
	make_room(m, (size_t)(end - start));
	if (map && (map->anonymous || m->own))
		return get_present(m, start, m->buffer, (size_t)(end - start));
	return memory_get(m, start, m->buffer, (size_t)(end - start));
}

/* Passes the words of [start, end) to `f`; reads page by page if the whole cannot be read. */
static void give(struct memory *m, uint64_t start, uint64_t end, bool present,
		 void (*f)(void *, uint64_t, const uint64_t *, size_t), void *arg)
{
	if (get_piece(m, start, end, present)) {
		m->bytes += end - start;
		f(arg, start, (const uint64_t *)(void *)m->buffer, (size_t)(end - start) / 8);
		return;
	}
	for (uint64_t at = start, next; at < end && !memory_waits(m); at = next) {
		next = (at | (PAGE - 1)) + 1;
		next = next < end ? next : end;
		if (!memory_get(m, at, m->buffer, (size_t)(next - at))) {
			m->unreadable |= !is_guard(m, at);
			continue;
		}
		m->bytes += next - at;
		f(arg, at, (const uint64_t *)(void *)m->buffer, (size_t)(next - at) / 8);
	}
}

/* Tells whether reading must stop: the deadline has passed or cannot be met, or *m->word has
 * reached its value. */
static bool enough(struct memory *m)
{
	if (m->told)
		__atomic_store_n(m->told, m->bytes, __ATOMIC_RELAXED);
	m->gave_up |= m->word && __atomic_load_n(m->word, __ATOMIC_ACQUIRE) >= m->value;
	uint64_t now = clock_mono();
	m->late |= m->gave_up || now > m->deadline_ns || memory_waits(m) ||
		   (m->until && now > __atomic_load_n(m->until, __ATOMIC_RELAXED));
	if (!m->begin_ns)
		m->begin_ns = now;
	if (!m->late && m->bytes > m->total / TRIAL && m->total && now - m->begin_ns > TRIAL_NS) {
		double took = (double)(now - m->begin_ns),
		       part = (double)m->bytes / (double)m->total;
		m->late = took > part * (double)(m->deadline_ns - m->begin_ns) * MARGIN;
	}
	return m->late;
}

static void give_region(struct memory *m, uint64_t start, uint64_t end, bool present,
			void (*f)(void *, uint64_t, const uint64_t *, size_t), void *arg)
{
	size_t piece = present ? PIECE : SWAPPED_PIECE;
	for (uint64_t next; start < end && !m->late; start = next) {
		next = end - start > piece ? start + piece : end;
		if (!enough(m))
			give(m, start, next, present, f, arg);
	}
}

/* Passes the words of [start, end) to `f`, read from the memory of the process itself. */
static void inside(struct memory *m, uint64_t start, uint64_t end, enum memory_pages which,
		   void (*f)(void *arg, uint64_t address, const uint64_t *words, size_t n),
		   void *arg)
{
	uint64_t at = start & ~(uint64_t)(PAGE - 1);
	m->own = which == MEMORY_OWN;
	if (which == MEMORY_ALL) {
		give_region(m, start, end, false, f, arg);
		return;
	}
	while (at < end && !m->late) {
		long n = m->old_kernel ? -1 : scan_pages(m, &at, end, which);
		m->old_kernel = n < 0;
		if (n < 0)
			n = read_pages(m, &at, end, which);
		for (long i = 0; i < n; i++) {
			uint64_t from = m->regions[i].start, to = m->regions[i].end;
			give_region(m, from < start ? start : from, to > end ? end : to,
				    m->from.pagemap >= 0 && m->regions[i].categories & IS_PRESENT,
				    f, arg);
		}
		enough(m);
	}
}

static uint64_t give_runs(const struct memory *m, long n,
			  void (*f)(void *arg, uint64_t start, uint64_t end, bool swapped),
			  void *arg)
{
	uint64_t found = 0;
	for (long i = 0; i < n; i++) {
		const struct scan_region *r = &m->regions[i];
		f(arg, r->start, r->end, !(r->categories & IS_PRESENT));
		found += r->end - r->start;
	}
	return found;
}

bool memory_all_runs(struct memory *m,
		     void (*f)(void *arg, uint64_t start, uint64_t end, bool swapped), void *arg)
{
	uint64_t at = 0;
	while (at < USER_END) {
		long n = scan_pages(m, &at, USER_END, MEMORY_TOUCHED);
		if (n < 0 || clock_mono() > m->deadline_ns)
			return false;
		give_runs(m, n, f, arg);
	}
	return true;
}

void memory_runs(struct memory *m, uint64_t start, uint64_t end, uint64_t most,
		 void (*f)(void *arg, uint64_t start, uint64_t end, bool swapped), void *arg)
{
	uint64_t at = start, found = 0, last = start;
	while (at < end && found < most && at - last < EMPTY_MOST &&
	       clock_mono() < m->deadline_ns) {
		long n = m->old_kernel ? -1 : scan_pages(m, &at, end, MEMORY_TOUCHED);
		m->old_kernel = n < 0;
		if (n < 0)
			n = read_pages(m, &at, end, MEMORY_TOUCHED);
		found += give_runs(m, n, f, arg);
		last = n || !m->old_kernel ? at : last;
	}
}

/* Passes the file's words in [at, end) to `f`; the file is mapped at `address` in the process. */
static void file_words(struct memory *m, int fd, off_t at, off_t end, uint64_t address,
		       void (*f)(void *, uint64_t, const uint64_t *, size_t), void *arg)
{
	off_t data, hole, first = at;
	make_room(m, PIECE);
	while (at < end && (data = lseek(fd, at, SEEK_DATA)) >= 0 && data < end) {
		hole = lseek(fd, data, SEEK_HOLE);
		hole = hole < 0 || hole > end ? end : hole;
		for (at = data; at < hole && !enough(m);) {
			size_t n = hole - at > (off_t)PIECE ? PIECE : (size_t)(hole - at);
			ssize_t got = pread(fd, m->buffer, n, at);
			if (got <= 0) {
				m->unreadable = true;
				return;
			}
			m->bytes += (uint64_t)got;
			f(arg, address + (uint64_t)(at - first),
			  (const uint64_t *)(void *)m->buffer, (size_t)got / 8);
			at += got;
		}
		if (m->late)
			return;
	}
}

/* Reads shared memory from its file if possible, because no process need have all its pages in
 * the page table, and a copy's page table has none of them. */
static void shared(struct memory *m, uint64_t start, uint64_t end,
		   void (*f)(void *arg, uint64_t address, const uint64_t *words, size_t n),
		   void *arg)
{
	char name[48];
	const struct memory_map *map = memory_at(m, start);
	if (!map)
		return;
	snprintf(name, sizeof name, "%" PRIx64 "-%" PRIx64, map->start, map->end);
	int fd = m->files < 0 || !map->volatile_file
			 ? -1
			 : openat(m->files, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0) {
		off_t at = (off_t)(start - map->start + map->offset);
		file_words(m, fd, at, at + (off_t)(end - start), start, f, arg);
		close(fd);
		return;
	}
	struct memory_source own = m->from;
	m->from = m->live.mem >= 0 ? m->live : own;
	inside(m, start, end, MEMORY_TOUCHED, f, arg);
	m->from = own;
}

void memory_words(struct memory *m, uint64_t start, uint64_t end, enum memory_pages which,
		  void (*f)(void *arg, uint64_t address, const uint64_t *words, size_t n),
		  void *arg)
{
	if (m->image) {
		uint64_t at = start, stop = end;
		for (; at < end && !m->late && m->image->part(m->image->arg, &at, &stop);
		     at = stop, stop = end)
			give_region(m, at, stop, false, f, arg);
		return;
	}
	if (which == MEMORY_SHARED) {
		shared(m, start, end, f, arg);
		return;
	}
	while (start < end) {
		const struct memory_part *p = apart_after(m, start);
		uint64_t stop = p && p->start < end ? p->start : end;
		if (start < stop)
			inside(m, start, stop, which, f, arg);
		if (!p || p->start >= end)
			return;
		uint64_t from = start > p->start ? start : p->start;
		uint64_t to = p->end < end ? p->end : end;
		m->bytes += to - from;
		f(arg, from, (const uint64_t *)(const void *)(p->bytes + (from - p->start)),
		  (size_t)(to - from) / 8);
		start = p->end;
	}
}
