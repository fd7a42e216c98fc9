/* SPDX-License-Identifier: MIT
 * What the leak scan reads of a process, which is this one: pages that were touched, by either way
 * of asking the kernel, parts that are kept apart, files, and when it is to end.
 */
#include "ms-record/scan/scan_memory.c" /* it belongs to a tool, of which there is no library */

#include <sys/mman.h>
#include <sys/stat.h>

#include "ms-record/scan/scan_work.h"
#include "ms-record/session/session.h"
#include "tests/unit/held.h"
#include "tests/unit/is.h"

#define PAGES 16u

static struct memory m;
static char given[400];
static uint64_t base, wrong; /* words that are not as fill() left them */

/* A page's words say where they are. */
static void fill(uint8_t *at, unsigned page)
{
	for (unsigned i = 0; i < PAGE / 8; i++)
		((uint64_t *)(void *)(at + page * PAGE))[i] = page * PAGE + i * 8 + 1;
}

/* Adds "page+bytes-page+bytes", or more to what it follows at once. */
static void add(uint64_t from, uint64_t to)
{
	static uint64_t last;
	char *at = given + strlen(given);
	char *dash = strrchr(given, '-');
	if (*given && from == last)
		at = dash;
	else
		at += sprintf(at, "%s%lu+%lu", *given ? " " : "", (long)((from - base) / PAGE),
			      (long)((from - base) % PAGE));
	sprintf(at, "-%lu+%lu", (long)((to - base) / PAGE), (long)((to - base) % PAGE));
	last = to;
}

static void take(void *arg, uint64_t address, const uint64_t *words, size_t n)
{
	(void)arg;
	for (size_t i = 0; i < n; i++)
		wrong += words[i] != address - base + i * 8 + 1;
	add(address, address + n * 8);
}

static void take_run(void *arg, uint64_t start, uint64_t end, bool swapped)
{
	(void)arg;
	wrong += swapped;
	if (start >= base && end <= base + PAGES * PAGE)
		add(start, end);
}

static void want(const char *what, const char *text)
{
	CHECK(!strcmp(given, text), "%s: '%s', not '%s'", what, given, text);
	is(what, wrong, 0);
	given[0] = '\0';
	wrong = 0;
}

static void reopen(bool old)
{
	int proc = open("/proc/self", O_RDONLY | O_DIRECTORY);
	memory_close(&m);
	is("open", (uint64_t)memory_open(&m, proc, getpid(), UINT64_MAX), 0);
	m.old_kernel = old;
	close(proc);
}

static uint8_t *map(int flags, int fd)
{
	uint8_t *at = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, flags, fd, 0);
	base = (uintptr_t)at;
	return at;
}

/* ---- pages ---- */

static void check_touched(bool old)
{
	uint8_t *at = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
	static const uint8_t pages[] = {1, 2, 5, 15};
	for (size_t i = 0; i < 4; i++)
		fill(at, pages[i]);
	reopen(old);
	memory_words(&m, base, base + PAGES * PAGE, MEMORY_TOUCHED, take, NULL);
	want("touched", "1+0-3+0 5+0-6+0 15+0-16+0");
	is("bytes", m.bytes, 4 * PAGE);
	memory_words(&m, base + PAGE + 16, base + 5 * PAGE + 8, MEMORY_TOUCHED, take, NULL);
	want("from and to the middle of a page", "1+16-3+0 5+0-5+8");
	memory_words(&m, base + 3 * PAGE, base + 5 * PAGE, MEMORY_TOUCHED, take, NULL);
	want("nothing", "");
	memory_runs(&m, base, base + PAGES * PAGE, UINT64_MAX, take_run, NULL);
	want("runs", "1+0-3+0 5+0-6+0 15+0-16+0");
	memory_runs(&m, base, base + PAGES * PAGE, 0, take_run, NULL);
	want("none are wanted", "");
	m.deadline_ns = 1;
	memory_runs(&m, base, base + PAGES * PAGE, UINT64_MAX, take_run, NULL);
	want("late", "");
	is("late", memory_all_runs(&m, take_run, NULL), false);
	given[0] = '\0';
	m.deadline_ns = UINT64_MAX;
	uint64_t end = base;
	bool asked = scan_pages(&m, &end, base + PAGE, MEMORY_TOUCHED) >= 0; /* the kernel can be */
	is("all", memory_all_runs(&m, take_run, NULL), asked);
	memory_runs(&m, base + 3 * PAGE, base + 5 * PAGE, UINT64_MAX, take_run, NULL);
	is("the kernel could before, and can", m.old_kernel, old || !asked);
	if (asked) /* neighbours may be joined with it */
		CHECK(strstr(given, "1+0-3+0 5+0-6+0"), "%s", given);
	given[0] = '\0';
}

/* A part of those pages that is kept apart, and one that is not even mapped. */
static void check_apart(void)
{
	static uint64_t words[PAGE / 8 * 2], far[2];
	for (size_t i = 0; i < sizeof words / 8; i++)
		words[i] = 2 * PAGE + 64 + i * 8 + 1;
	const struct memory_part apart[] = {
		{base + 2 * PAGE + 64, base + 4 * PAGE, (uint8_t *)words, false},
		{USER_END, USER_END + 16, (uint8_t *)far, true}};
	size_t maps = m.maps.n;
	memory_set_apart(&m, apart, 2);
	is("what is left out is a map", m.maps.n, maps + 1);
	m.bytes = 0;
	memory_words(&m, base, base + PAGES * PAGE, MEMORY_TOUCHED, take, NULL);
	want("apart", "1+0-4+0 5+0-6+0 15+0-16+0");
	is("bytes", m.bytes, 5 * PAGE);
	memory_words(&m, base + 2 * PAGE + 128, base + 3 * PAGE, MEMORY_TOUCHED, take, NULL);
	want("a part of that", "2+128-3+0");
	memory_words(&m, base, base + 2 * PAGE + 64, MEMORY_TOUCHED, take, NULL);
	want("up to it", "1+0-2+64");
	memory_words(&m, base + 4 * PAGE, base + 6 * PAGE, MEMORY_TOUCHED, take, NULL);
	want("behind it", "5+0-6+0");
	words[1] = 77;
	uint64_t got[2] = {0};
	is("from there", memory_get(&m, base + 2 * PAGE + 72, got, 8) && got[0] == 77, true);
	is("its end", memory_get(&m, base + 4 * PAGE - 8, got, 8), true);
	is("its last word", got[0], 4 * PAGE - 7);
	is("over its end", memory_get(&m, base + 4 * PAGE - 8, got, 16) && got[1] == 0, true);
	is("in front of it", memory_get(&m, base + 2 * PAGE + 56, got, 8), true);
	is("what is there", got[0], 2 * PAGE + 57);
	is("of another's number",
	   memory_at(&m, USER_END) == &m.maps.v[m.maps.n - 1] ||
		   memory_at(&m, USER_END) == &m.maps.v[m.maps.n - 2],
	   true);
	is("its end", memory_at(&m, USER_END)->end, USER_END + 16);
	is("nothing is there",
	   memory_at(&m, USER_END + 16) == NULL || memory_at(&m, USER_END + 16)->special, true);
	const struct memory_map *here = memory_at(&m, base);
	is("its map", here && here->start <= base && here->end > base, true);
	munmap((void *)base, PAGES * PAGE);
	is("not there", memory_get(&m, base, got, 8), false);
}

static void check_files(bool old)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	uint8_t page[PAGE];
	is("file", (uint64_t)ftruncate(fd, PAGES * PAGE), 0);
	uint8_t *at = map(MAP_PRIVATE, fd);
	memset(page, 1, sizeof page);
	is("file", (uint64_t)pwrite(fd, page, PAGE, 6 * PAGE), PAGE);
	(void)*(volatile uint8_t *)(at + 6 * PAGE);
	fill(at, 3);
	reopen(old);
	memory_words(&m, base, base + PAGES * PAGE, MEMORY_OWN, take, NULL);
	want("changed", "3+0-4+0");
	munmap(at, PAGES * PAGE);

	at = map(MAP_SHARED, fd);
	is("file", (uint64_t)ftruncate(fd, 0), 0);
	is("file", (uint64_t)ftruncate(fd, PAGES * PAGE), 0);
	fill(at, 0);
	fill(at, 4);
	reopen(old);
	descriptor_close(m.files);
	m.files = -1;
	memory_words(&m, base, base + 5 * PAGE, MEMORY_SHARED, take, NULL);
	want("shared", "0+0-1+0 4+0-5+0");
	memory_words(&m, base + 8, base + 4 * PAGE + 8, MEMORY_SHARED, take, NULL);
	want("a part of it", "0+8-1+0 4+0-4+8");
	uint8_t *other = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	for (unsigned i = 0; i < PAGE / 8; i++)
		((uint64_t *)(void *)page)[i] = 9 * PAGE + i * 8 + 1;
	is("file", (uint64_t)pwrite(fd, page, PAGE, 9 * PAGE), PAGE);
	reopen(old);
	char name[64];
	snprintf(name, sizeof name, "%lx-%lx", (long)base, (long)(base + PAGES * PAGE));
	int file = openat(m.files, name, O_RDONLY); /* not everybody may */
	m.bytes = 0;
	memory_words(&m, base + 8, base + PAGES * PAGE - 8, MEMORY_SHARED, take, NULL);
	want("of its file", file < 0 ? "0+8-1+0 4+0-5+0" : "0+8-1+0 4+0-5+0 9+0-10+0");
	is("bytes", m.bytes, (file < 0 ? 2 : 3) * PAGE - 8);
	close(file);
	munmap(other, PAGES * PAGE);
	munmap(at, PAGES * PAGE);
	memory_words(&m, USER_END, USER_END + PAGE, MEMORY_SHARED, take, NULL);
	want("no map", "");
	close(fd);
}

/* A file itself: what was written of it, from and to the middle of a page. */
static void check_file_words(void)
{
	static const uint8_t written[] = {0, 1, 4, 15};
	int fd = memfd_create("test", MFD_CLOEXEC);
	is("file", (uint64_t)ftruncate(fd, PAGES * PAGE), 0);
	uint8_t *at = map(MAP_SHARED, fd);
	for (size_t i = 0; i < 4; i++)
		fill(at, written[i]);
	reopen(false);
	file_words(&m, fd, 0, PAGES * PAGE, base, take, NULL);
	want("all", "0+0-2+0 4+0-5+0 15+0-16+0");
	is("bytes", m.bytes, 4 * PAGE);
	file_words(&m, fd, PAGE + 8, 4 * PAGE + 16, base + PAGE + 8, take, NULL);
	want("to the middle", "1+8-2+0 4+0-4+16");
	file_words(&m, fd, 2 * PAGE, 4 * PAGE, base + 2 * PAGE, take, NULL);
	want("nothing", "");
	file_words(&m, fd, 15 * PAGE + 8, 16 * PAGE, base + 15 * PAGE + 8, take, NULL);
	want("the last", "15+8-16+0");
	is("read", m.unreadable, false);
	m.deadline_ns = 1;
	file_words(&m, fd, 0, PAGES * PAGE, base, take, NULL);
	want("late", "");
	munmap(at, PAGES * PAGE);

	/* Mapped from its third page on, and read in another process's stead. */
	at = mmap(NULL, (PAGES - 2) * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 2 * PAGE);
	base = (uintptr_t)at;
	fill(at, 2);
	fill(at, 13);
	reopen(false);
	memory_words(&m, base, base + 14 * PAGE, MEMORY_SHARED, take, NULL);
	want("mapped further on", "2+0-3+0 13+0-14+0");
	int proc = open("/proc/self", O_RDONLY | O_DIRECTORY), mem = m.from.mem;
	is("another one", (uint64_t)memory_set_live(&m, proc, getpid()), 0);
	descriptor_close(m.files);
	m.files = -1;
	memory_words(&m, base, base + 14 * PAGE, MEMORY_SHARED, take, NULL);
	want("by the other one", "2+0-3+0 13+0-14+0");
	is("back again", m.from.mem == mem && m.live.mem != mem, true);
	munmap(at, (PAGES - 2) * PAGE);
	close(proc);
	close(fd);
}

static void count_run(void *arg, uint64_t start, uint64_t end, bool swapped)
{
	(void)swapped;
	*(uint64_t *)arg += (end - start) / PAGE;
}

/* Checks that the page map, read 512 pages at a time, is read no further once enough was found. */
static void check_enough(void)
{
	const size_t pages = 2000;
	uint64_t found = 0;
	uint8_t *at = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	madvise(at, pages * PAGE, MADV_NOHUGEPAGE);
	at[100 * PAGE] = at[700 * PAGE] = at[1100 * PAGE] = at[1999 * PAGE] = 1;
	base = (uintptr_t)at;
	reopen(true);
	memory_runs(&m, base, base + pages * PAGE, 2 * PAGE, count_run, &found);
	is("found", found, 2);
	memory_runs(&m, base, base + pages * PAGE, UINT64_MAX, count_run, &found);
	is("all", found, 2 + 4);
	munmap(at, pages * PAGE);
}

/* A page that was never touched is not made, if it is known to be zero. */
static void check_zeros(void)
{
	uint8_t *at = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
	uint64_t got[PAGE / 8], page = 0;
	int map = open("/proc/self/pagemap", O_RDONLY);
	fill(at, 1);
	reopen(false);
	m.zeros = true;
	got[7] = 7;
	is("zero", memory_get(&m, base, got, 64) && got[7] == 0, true);
	pread(map, &page, sizeof page, (off_t)(base / PAGE * sizeof page));
	is("still not there", page & (PRESENT | SWAPPED), 0);
	is("in part", memory_get(&m, base + PAGE - 8, got, 16) && got[0] == 0, true);
	is("what is there", got[1], PAGE + 1);
	is("all there", memory_get(&m, base + PAGE + 8, got, 16) && got[0] == PAGE + 9, true);
	close(map);
	munmap(at, PAGES * PAGE);
}

/* One page of three is not there. */
static void check_gap(void)
{
	uint8_t *at = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
	fill(at, 0);
	fill(at, 2);
	munmap(at + PAGE, PAGE);
	reopen(false);
	give(&m, base, base + PAGE, true, take, NULL);
	want("all of it", "0+0-1+0");
	is("unreadable", m.unreadable, false);
	give(&m, base + 16, base + 2 * PAGE + 24, false, take, NULL);
	want("a gap", "0+16-1+0 2+0-2+24");
	is("unreadable", m.unreadable, true);
	is("bytes", m.bytes, 2 * PAGE - 16 + 24);
	munmap(at, PAGE);
	munmap(at + 2 * PAGE, (PAGES - 2) * PAGE);
}

/* ---- when it is to end ---- */

static void check_end(void)
{
	uint64_t told = 0, now = clock_mono();
	uint32_t state = 1;
	static const struct {
		uint64_t total, bytes, began_ms, left_ms;
		bool late;
	} cases[] = {{0, 500, 1000, 1, false},     {1000, 125, 1000, 1, false},
		     {1000, 126, 1000, 1, true},   {1000, 500, 1000, 400, false},
		     {1000, 500, 1000, 300, true}, {1000, 500, 199, 1, false},
		     {1000, 1000, 1000, 1, false}, {1000, 999, 1000, 1, false}};
	reopen(false);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		m.total = cases[i].total;
		m.bytes = cases[i].bytes;
		m.late = false;
		now = clock_mono();
		m.begin_ns = now - cases[i].began_ms * 1000000;
		m.deadline_ns = now + cases[i].left_ms * 1000000;
		CHECK(enough(&m) == cases[i].late, "case %zu", i);
	}
	m.total = 0;
	m.late = false;
	m.deadline_ns = UINT64_MAX;
	m.word = &state;
	m.value = 2;
	m.told = &told;
	m.bytes = 7;
	is("not yet", enough(&m), false);
	is("told", told, 7);
	state = 2;
	is("given up", enough(&m) && m.gave_up, true);
	memory_words(&m, (uintptr_t)&state & ~UINT64_C(7), ((uintptr_t)&state & ~UINT64_C(7)) + 8,
		     MEMORY_TOUCHED, take, NULL);
	want("then nothing is read", "");
	m.word = NULL;
	m.late = m.gave_up = false;
	m.begin_ns = 0;
	m.deadline_ns = 1;
	is("the deadline", enough(&m) && m.late && !m.gave_up, true);
	is("begun", m.begin_ns != 0, true);
}

/* ---- what the guest says of an allocator's own memory ---- */

static void check_arenas(void)
{
	static struct mg_session mem;
	static struct session s = {.mem = &mem};
	static struct mg_arenas there, got;
	static const struct {
		uint32_t busy, unsure, count, want;
	} cases[] = {{0, 0, 3, 3},
		     {1, 0, 3, 0},
		     {0, 1, 3, 0},
		     {0, 0, MG_ARENAS, MG_ARENAS},
		     {0, 0, MG_ARENAS + 1, 0}};
	reopen(false);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		mem.arenas = (uintptr_t)&there;
		there = (struct mg_arenas){
			cases[i].busy, cases[i].unsure, cases[i].count, 0, {{0}}};
		there.span[2][1] = 77;
		got.count = 99;
		scan_read_arenas(&m, &s, &got);
		CHECK(got.count == cases[i].want, "arenas %zu: %u", i, got.count);
		CHECK(!got.count || got.span[2][1] == 77, "arenas %zu", i);
		mem.arenas = 0;
		got.count = 99;
		scan_read_arenas(&m, &s, &got);
		is("none", got.count, 0);
		mem.arenas = 8; /* nothing is there */
		got = (struct mg_arenas){.count = 1};
		scan_read_arenas(&m, &s, &got);
		is("not there", got.count, 0);
	}
}

/* ---- what is mapped ---- */

static const struct {
	uint64_t start, end, inode;
	const char *perms, *path;
	const char *want; /* letters of the flags that it has */
} map_cases[] = {
	{1, 2, 0, "---p", "", "a"},
	{2, 3, 0, "rw-p", "", "rwag"},
	{3, 4, 0, "rw-p", "[heap]", "rwah"},
	{4, 5, 0, "r--p", "", "ra"},
	{5, 6, 0, "rw-p", "[stack]", "rwak"},
	{6, 7, 0, "-w-p", "", "wa"},
	{7, 8, 0, "rw-p", "", "rwa"},
	{8, 9, 0, "---p", "", "a"},
	{10, 11, 0, "rw-p", "", "rwa"}, /* not right below */
	{11, 12, 0, "r--p", "[vvar]", "rax"},
	{12, 13, 0, "r-xp", "[vdso]", "rax"},
	{13, 14, 0, "--xp", "[vsyscall]", "ax"},
	{14, 15, 5, "r-xp", "[v", "rxg"},
	{15, 16, 5, "r-xp", "v[v", "r"},
	{16, 17, 5, "rw-p", "/lib/libc.so.6", "rwl"},
	{17, 18, 5, "rw-p", "/lib/libc-2.31.so", "rwl"},
	{18, 19, 5, "rw-p", "/libc.so./libm.so.6", "rw"},
	{19, 20, 5, "rw-s", "/dev/zero (deleted)", "rwsv"},
	{20, 21, 5, "rw-s", "/memfd:x (deleted)", "rwsv"},
	{21, 22, 5, "rw-s", "/dev/shm/x", "rwsv"},
	{22, 23, 5, "rw-s", "/SYSV00000000 (deleted)", "rwsv"},
	{23, 24, 5, "rw-s", "/tmp/x", "rws"},
};

static void check_maps(void)
{
	memory_close(&m);
	for (size_t i = 0; i < sizeof map_cases / sizeof *map_cases; i++) {
		struct ms_proc_map p = {.start = map_cases[i].start,
					.end = map_cases[i].end,
					.offset = 9,
					.inode = map_cases[i].inode,
					.path = map_cases[i].path};
		strcpy(p.perms, map_cases[i].perms);
		add_proc_map(&m, &p);
		const struct memory_map *is = &m.maps.v[i];
		const bool flags[] = {is->read,        is->write,        is->shared, is->anonymous,
				      is->heap,        is->stack,        is->libc,   is->special,
				      is->guard_below, is->volatile_file};
		char got[16] = "";
		for (size_t k = 0, n = 0; k < sizeof flags; k++)
			if (flags[k])
				got[n++] = "rwsahklxgv"[k];
		CHECK(!strcmp(got, map_cases[i].want), "%s %s: %s", p.perms, p.path, got);
		CHECK(is->start == i + 1 + (i > 7) && is->offset == 9 &&
			      is->inode == map_cases[i].inode,
		      "map %zu", i);
	}
	is("in one", memory_at(&m, 10) - m.maps.v, 8);
	is("its last byte", memory_at(&m, 8) - m.maps.v, 7);
	is("between", memory_at(&m, 9) == NULL, true);
	is("behind", memory_at(&m, 24) == NULL, true);
	const struct memory_part out = {.start = 9, .end = 10, .left_out = true};
	memory_set_apart(&m, &out, 1);
	is("put in between", memory_at(&m, 9) - m.maps.v, 8);
	is("what is behind", memory_at(&m, 10) - m.maps.v, 9);
	memory_close(&m);
	is("a folder without a text", (uint64_t)read_maps(&m, -1), UINT64_MAX);
}

int main(void)
{
	unsigned files = held_files();
	m = (struct memory)MEMORY_CLOSED;
	for (int old = 0; old < 2; old++) {
		check_touched(old);
		check_apart();
		check_files(old);
	}
	check_file_words();
	check_enough();
	check_zeros();
	check_gap();
	check_end();
	check_arenas();
	check_maps();
	memory_close(&m);
	timed_end();
	is("all is given back", (uint64_t)held_blocks, 0);
	is("all is unmapped", (uint64_t)held_bytes, 0);
	is("all is closed", held_files(), files);
	return failures != 0;
}
