/* SPDX-License-Identifier: MIT
 * What is resident of a made process: 32 pages of it, what each is for by hand, and the records that
 * come of it.
 */
#include "ms-record/scan/resident_take.c" /* they belong to a tool, of which there is no library */
#include "ms-record/scan/resident_solve.c"
#include "ms-record/scan/resident_records.c"
#include "ms-record/write/batch.c"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tests/unit/held.h"
#include "tests/unit/is.h"

/* ---- the process ---- */

#define ARENA UINT64_C(0x7f0000000000)   /* of glibc, not the main one */
#define FURTHER UINT64_C(0x7f0004000000) /* its second heap */
#define OTHER UINT64_C(0x7f1000000000)   /* a thread's stack, and more */
#define OWN UINT64_C(0x7f2000000000)     /* a block's own mapping */

/* Lists its mappings, with what smaps says is resident and swapped out of each, kB. */
static const struct {
	const char *line;
	unsigned rss, swap;
} maps[] = {
	{"00400000-00402000 r-xp 00000000 08:01 11 /bin/prog", 8, 0},
	{"00402000-00404000 rw-p 00002000 08:01 11 /bin/prog", 4, 0},
	{"00404000-00405000 rw-p 00000000 00:00 0", 4, 0},
	{"01000000-01030000 rw-p 00000000 00:00 0 [heap]", 44, 4},
	{"7f0000000000-7f0000021000 rw-p 00000000 00:00 0", 12, 0},
	{"7f0004000000-7f0004001000 rw-p 00000000 00:00 0", 4, 0},
	{"7f1000000000-7f1000010000 rw-p 00000000 00:00 0", 24, 0},
	{"7f2000000000-7f2000003000 rw-p 00000000 00:00 0", 8, 0},
	{"7f3000000000-7f3000001000 r-xp 00000000 08:01 13 /lib/b.so", 4, 0},
	{"7f4000000000-7f4000001000 r-xp 00000000 08:01 12 /lib/a.so", 4, 0},
	{"7f5000000000-7f5000002000 rw-s 00000000 00:01 14 /memfd:memscope-x (deleted)", 4, 0},
	{"7ffc00000000-7ffc00004000 rw-p 00000000 00:00 0 [stack]", 8, 0},
	{"7ffd00000000-7ffd00001000 r--p 00000000 00:00 0 [vvar]", 0, 0},
};

/* Neighbours are joined, as the kernel does. */
static const struct resident_run runs[] = {
	{0x400000, 0x403000, false},
	{0x404000, 0x405000, false},
	{0x1000000, 0x100a000, false},
	{0x1028000, 0x1029000, true},
	{0x1029000, 0x102a000, false},
	{ARENA, ARENA + 0x3000, false},
	{FURTHER, FURTHER + 0x1000, false},
	{OTHER + 0x1000, OTHER + 0x2000, false},
	{OTHER + 0x4000, OTHER + 0x9000, false},
	{OWN, OWN + 0x2000, false},
	{UINT64_C(0x7f3000000000), UINT64_C(0x7f3000001000), false},
	{UINT64_C(0x7f4000000000), UINT64_C(0x7f4000001000), false},
	{UINT64_C(0x7f5000001000), UINT64_C(0x7f5000002000), false},
	{UINT64_C(0x7ffc00002000), UINT64_C(0x7ffc00004000), false},
	{UINT64_C(0x7ffd00000000), UINT64_C(0x7ffd00001000), false},
};

static struct graph_block blocks[] = {
	{.address = 0x1000010, .size = 100, .stack = 1},
	{.address = 0x1000080, .size = 0x1000, .stack = 2},
	{.address = 0x1000100, .size = 64, .stack = 1, .user = true}, /* in the one before */
	{.address = 0x1001ff0, .size = 16, .stack = 2},
	{.address = 0x1007010, .size = 8, .stack = 1},
	{.address = 0x1028010, .size = 64, .stack = 3}, /* swapped out */
	{.address = ARENA + 0xa10, .size = 24, .stack = 3},
	{.address = OWN + 16, .size = 0x2800, .stack = 4},
};

/* The heads of heaps: arena, the heap before, size. */
static struct head {
	uint64_t at, info[3];
} heads[2];

static bool at_once, late, heads_all_over; /* a first heap's at each such address */
static uint64_t said_rss, said_swap;
static struct mg_arenas mapped;

bool memory_get(const struct memory *m, uint64_t address, void *to, size_t bytes)
{
	(void)m;
	if (heads_all_over)
		memcpy(to, (uint64_t[]){address + 0x30, 0, 0x1000}, bytes);
	for (size_t i = 0; i < 2; i++)
		if (heads[i].at == address) {
			memcpy(to, heads[i].info, bytes);
			return true;
		}
	return heads_all_over;
}

void memory_runs(struct memory *m, uint64_t start, uint64_t end, uint64_t most,
		 void (*f)(void *arg, uint64_t start, uint64_t end, bool swapped), void *arg)
{
	(void)m;
	(void)most;
	for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
		uint64_t from = runs[i].start > start ? runs[i].start : start;
		uint64_t to = runs[i].end < end ? runs[i].end : end;
		if (from < to)
			f(arg, from, to, runs[i].swapped);
	}
}

bool memory_all_runs(struct memory *m,
		     void (*f)(void *arg, uint64_t start, uint64_t end, bool swapped), void *arg)
{
	if (at_once)
		memory_runs(m, 0, UINT64_MAX, 0, f, arg);
	return at_once;
}

int memory_open_pages(struct memory *m, int proc, pid_t tid, uint64_t deadline_ns)
{
	(void)m;
	(void)deadline_ns;
	return proc < 0 || tid != 7;
}

void memory_close(struct memory *m)
{
	(void)m;
}

uint64_t hijack_status(int proc, pid_t tid, const char *label, int base)
{
	(void)proc;
	return tid != 7 || base != 10 ? 0 : strstr(label, "VmRSS") ? said_rss : said_swap;
}

void scan_read_arenas(const struct memory *m, const struct session *s, struct mg_arenas *a)
{
	(void)m;
	(void)s;
	*a = mapped;
}

void descriptor_close(int fd)
{
	close(fd);
}

uint64_t clock_mono(void)
{
	return late ? 200 : 50;
}

/* ---- a look at it ---- */

static struct work w;
static struct session session;
static struct scan scan;
static struct pool pool;
static struct mg_session mem, head;
static struct scan_thread thread;

static void begin(bool quick)
{
	at_once = quick;
	late = false;
	said_rss = said_swap = 0;
	mapped = (struct mg_arenas){0};
	heads[0] = (struct head){ARENA, {ARENA + 0x30, 0, 0x21000}};
	heads[1] = (struct head){FURTHER, {ARENA + 0x30, ARENA, 0x1000}};
	memset(&head, 0, sizeof head);
	head.own[3][0] = OTHER + 0x1000;
	head.own[3][1] = OTHER + 0x2000;
	strcpy(mem.allocator, "glibc 2.36");
	thread = (struct scan_thread){.sp = OTHER + 0x5000, .tp = OTHER + 0x7000};
	pool = (struct pool){.memfd = -1, .head = &head};
	scan = (struct scan){.live = {.blocks = blocks, .count = sizeof blocks / sizeof *blocks}};
	session.pool = &pool;
	session.mem = &mem;
	session.queued.resident.size = 0;
	w = (struct work){.s = &session,
			  .q = &scan,
			  .deadline_ns = 100,
			  .threads = &thread,
			  .thread_count = 1,
			  .resident = {.state = MS_SCAN_DONE, .wanted = true}};
}

/* All records, a line each: field=value. */
static const char *records(void)
{
	static char text[4096];
	struct ms_record_reader r = {session.queued.resident.data,
				     session.queued.resident.data + session.queued.resident.size};
	struct ms_record record;
	struct ms_field f;
	size_t n = 0;
	text[0] = '\0';
	while (ms_record_next(&r, &record) == MS_FMT_OK) {
		for (; ms_record_field(&record, &f) == MS_FMT_OK; n += strlen(text + n))
			if (f.is_bytes)
				snprintf(text + n, sizeof text - n, "%u=%.*s ", f.id, (int)f.size,
					 (const char *)f.data);
			else
				snprintf(text + n, sizeof text - n, "%u=%lu ", f.id, (long)f.value);
		text[n - 1] = '\n';
	}
	return text;
}

static void look(const char *what, const char *want)
{
	resident_take(&w, 7);
	resident_solve(&w);
	resident_put(&w, "now", 5, 6);
	CHECK(!strcmp(records(), want), "%s:\n%s\nnot\n%s", what, records(), want);
	resident_free(&w);
}

/* /proc's texts of it; `more`: kB that are resident besides in the region of that index. */
static void write_texts(size_t which, int more)
{
	FILE *all = fopen("task/7/maps", "w"), *each = fopen("task/7/smaps", "w");
	for (size_t i = 0; i < sizeof maps / sizeof *maps && all && each; i++) {
		fprintf(all, "%s\n", maps[i].line);
		fprintf(each, "%s\nRss: %d kB\nSwap: %u kB\n", maps[i].line,
			(int)maps[i].rss + (i == which ? more : 0), maps[i].swap);
	}
	fclose(all);
	fclose(each);
}

/* ---- what it is for ---- */

#define HEAD "1=1 2=now 14=5 15=6 16=1 17=0 "
#define SITES                                                                                      \
	"1=1 4=1 5=2 6=108 7=108 8=0 9=4064 10=4096\n"                                             \
	"1=1 4=2 5=2 6=4112 7=4112 8=0 9=8032 10=8192\n"                                           \
	"1=1 4=3 5=2 6=88 7=24 8=0 9=4064 10=4096\n"                                               \
	"1=1 4=4 5=1 6=10240 7=8176 8=2064 9=0 10=8192\n"
#define FILES                                                                                      \
	"1=1 3=/bin/prog 6=16384\n"                                                                \
	"1=1 3=/lib/a.so 6=4096\n"                                                                 \
	"1=1 3=/lib/b.so 6=4096\n"
#define BLOCKS_ARE "5=7 6=14548 7=12420 8=2064 9=16160 "
#define GLIBC_HAS "23=92 27=28672 28=1 29=12288 30=8192\n"
#define ALL                                                                                        \
	HEAD BLOCKS_ARE "18=131072 19=4096 20=24576 11=0 12=0 21=8192 22=24576 24=57120 25=4096 "  \
			"26=0 " GLIBC_HAS SITES FILES

static void check_parts(void)
{
	begin(true);
	look("at once", ALL);
	begin(false);
	look("slowly", ALL);
	write_texts(6, -8); /* the last pages found there are the kernel's page of zeros */
	begin(false);
	look("pages in excess", HEAD BLOCKS_ARE
	     "18=122880 19=4096 20=24576 11=0 12=0 21=8192 22=20480 24=57120 25=0 26=0 " GLIBC_HAS
		     SITES FILES);
	write_texts(6, -20); /* a run and no more */
	begin(false);
	look("a run in excess", HEAD BLOCKS_ARE
	     "18=110592 19=4096 20=24576 11=0 12=0 21=8192 22=8192 24=57120 25=0 26=0 " GLIBC_HAS
		     SITES FILES);
	write_texts(3, -8); /* the page behind one that is swapped out, and one before it */
	begin(false);
	look("runs in excess", HEAD "5=7 6=14548 7=12420 8=2128 9=16160 18=122880 19=4096 20=24576 "
				    "11=0 12=0 21=8192 22=24576 "
				    "24=48928 25=4096 26=0 23=92 27=20480 28=1 29=12288 30=4096\n"
				    "1=1 4=1 5=2 6=108 7=108 8=0 9=4064 10=4096\n"
				    "1=1 4=2 5=2 6=4112 7=4112 8=0 9=8032 10=8192\n"
				    "1=1 4=3 5=2 6=88 7=24 8=64 9=4064 10=4096\n"
				    "1=1 4=4 5=1 6=10240 7=8176 8=2064 9=0 10=8192\n" FILES);
	write_texts(8, 8); /* and these were not found in time */
	begin(false);
	scan.live.wide = true;
	look("missing pages",
	     HEAD BLOCKS_ARE "18=139264 19=4096 20=24576 11=0 12=0 21=8192 22=24576 24=57120 "
			     "25=12288 26=1 " GLIBC_HAS SITES FILES);
	write_texts(0, 0);

	begin(true);
	session.forked = true;
	head.own[3][1] = 0;
	mem.own[MG_OWN_MAX - 1][0] = OTHER + 0x1000;
	mem.own[MG_OWN_MAX - 1][1] = OTHER + 0x2000;
	look("a forked one", ALL);
	begin(true);
	session.forked = false;
	head.own[3][1] = 0; /* a forked one's are nothing to it */
	look("not forked", HEAD BLOCKS_ARE "18=131072 19=4096 20=24576 11=0 12=0 21=4096 22=28672 "
					   "24=57120 25=4096 26=0 " GLIBC_HAS SITES FILES);
}

/* Checks another allocator: what it mapped for itself is known, and where its blocks are. */
static void check_other_allocator(void)
{
	static const char *const names[] = {"jemalloc", "glibc 2.36, jemalloc", "glibcish"};
	for (size_t i = 0; i < 3; i++) {
		begin(true);
		strcpy(mem.allocator, names[i]);
		mapped = (struct mg_arenas){
			.count = 2, .span = {{FURTHER, FURTHER + 0x1000}, {OWN, OWN + 0x1000}}};
		look(names[i], HEAD
		     "5=7 6=14548 7=12420 8=2064 9=12156 "
		     "18=131072 19=4096 20=24576 11=0 12=0 21=8192 22=24576 24=57212 25=4096 26=0\n"
		     "1=1 4=1 5=2 6=108 7=108 8=0 9=4088 10=4096\n"
		     "1=1 4=2 5=2 6=4112 7=4112 8=0 9=3980 10=4096\n"
		     "1=1 4=3 5=2 6=88 7=24 8=0 9=4072 10=4096\n"
		     "1=1 4=4 5=1 6=10240 7=8176 8=2064 9=16 10=8192\n" FILES);
	}
}

/* Checks what is taken for true against what the kernel says of all of it, kB. */
static void check_rss_said(void)
{
	static const struct {
		uint64_t said_rss, said_swap, rss, swap;
	} cases[] = {{0, 0, 131072, 4096},        {128, 4, 131072, 4096}, {128, 5, 131072, 4096},
		     {128, 3, 131072, 3072},      {0, 3, 131072, 4096},   {1154, 4, 131072, 4096},
		     {1155, 4, 1155 * 1024, 4096}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		begin(true);
		said_rss = cases[i].said_rss;
		said_swap = cases[i].said_swap;
		resident_take(&w, 7);
		is("RSS", w.resident.rss, cases[i].rss);
		is("swapped out", w.resident.swap, cases[i].swap);
		resident_free(&w);
	}
	/* An RSS of 100 MiB may be off by a fiftieth and a MiB. */
	for (int less = 0; less < 2; less++)
		for (int more = 0; more < 2; more++) {
			struct resident r = {.rss = 100 << 20};
			said_rss = less ? 97 * 1024 - (uint64_t)more : 103 * 1024 + (uint64_t)more;
			check_rss(&r, &w, 7);
			is("RSS", r.rss, more ? said_rss * 1024 : 100 << 20);
		}
}

/* To the byte; and where all that is mapped is one region. */
static void check_edges(void)
{
	static struct ms_region v[] = {{.map = {.start = 0x3000, .end = 0x5000, .path = ""}},
				       {.map = {.start = 0x6000, .end = 0x9000, .path = ""}}};
	static struct resident_site sites[] = {{.blocks = 1, .bytes = 8},
					       {.blocks = 2, .bytes = 9}};
	const struct resident_run run = {0x1000, 0x9800, false};
	struct resident r = {.rss = 104858603, .sites = sites, .site_count = 2};
	size_t region = 0;
	begin(true);
	said_rss = (r.rss + r.rss / 50 + (1 << 20) + 1) / 1024;
	check_rss(&r, &w, 7);
	is("RSS", r.rss, said_rss * 1024);
	r.regions = (struct ms_regions){.v = v, .n = 2};
	add_pieces(&r, &run, &region);
	region = 1;
	add_pieces(&r, &(struct resident_run){0x5800, 0x6000, false}, &region);
	is("pieces", r.runs.n, 2);
	is("one", r.runs.v[0].start * 0x10000 + r.runs.v[0].end, 0x30005000);
	is("behind a gap", r.runs.v[1].start * 0x10000 + r.runs.v[1].end, 0x60009000);
	put_sites(&session, &r, 1);
	CHECK(!strcmp(records(), "1=1 4=0 5=1 6=8 7=0 8=8 9=0 10=0\n"
				 "1=1 4=1 5=2 6=9 7=0 8=9 9=0 10=0\n"),
	      "%s", records());
	uint64_t never;
	const struct resident_site sum = sum_sites(&r, &never);
	is("blocks", sum.blocks, 3);
	is("bytes", sum.bytes + never, 17 + 17);
	free(r.runs.v);
	FILE *one = fopen("smaps", "w");
	fprintf(one, "%s\nRss: 8 kB\n", maps[0].line);
	fclose(one);
	r = (struct resident){.wanted = true};
	is("one region", take_slowly(&r, NULL, &(struct ms_proc){.folder = session.process.folder}),
	   true);
	ms_regions_free(&r.regions);
	free(r.runs.v);
	unlink("smaps");
}

/* Heads of heaps: one, or nothing of the kind. */
static void check_heads(void)
{
	static const struct {
		uint64_t info[3];
		bool good;
	} cases[] = {{{ARENA + 0x30, 0, 0x21000}, true},
		     {{ARENA + 0x18, 0, 0x21000}, true},
		     {{ARENA + 0x10, 0, 0x21000}, false},
		     {{ARENA + 0x100, 0, 0x21000}, true},
		     {{ARENA + 0x108, 0, 0x21000}, false},
		     {{ARENA + 0x34, 0, 0x21000}, false},
		     {{ARENA + 0x30, 0, 0x22000}, false}, /* more than is mapped */
		     {{ARENA + 0x30, 0, 0x20008}, false},
		     {{ARENA + 0x30, 0, 0}, false},
		     {{ARENA + 0x30, FURTHER, 0x21000}, false},
		     {{FURTHER + 0x30, 0, 0x21000}, false},
		     {{FURTHER + 0x30, FURTHER, 0x21000}, true},
		     {{FURTHER + 0x30, FURTHER + 0x1000, 0x21000}, false}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		begin(true);
		memcpy(heads[0].info, cases[i].info, sizeof cases[i].info);
		heads[1].at = 0;
		resident_take(&w, 7);
		CHECK(w.resident.heaps.n == 1u + cases[i].good, "head %zu: %zu heaps", i,
		      w.resident.heaps.n);
		const struct resident_heap *h = &w.resident.heaps.v[w.resident.heaps.n - 1];
		CHECK(!cases[i].good || (h->start == ARENA && h->end == ARENA + 0x21000 &&
					 h->arena == cases[i].info[0]),
		      "head %zu", i);
		resident_free(&w);
	}
	struct resident r = {0};
	struct memory m = MEMORY_CLOSED;
	heads[0] = (struct head){ARENA, {ARENA + 0x30, 0, HEAP_MOST}};
	look_for_heap(&r, &m, ARENA, UINT64_MAX);
	is("a whole heap", r.heaps.n, 1);
	heads[0].info[2] += 0x1000;
	look_for_heap(&r, &m, ARENA, UINT64_MAX);
	is("more than one", r.heaps.n, 1);
	free(r.heaps.v);
}

/* Checks where heaps are looked for: at multiples of 64 MiB in pages of private memory. */
static void check_places(void)
{
	static const struct {
		uint64_t start, end, run_end; /* from the multiple of that number */
		const char *perms;
		uint64_t inode;
		enum ms_region_kind kind;
		bool swapped;
	} places[] = {{0, 0x2000, 0x2000, "rw-p", 0, MS_REGION_ANONYMOUS, false},
		      {-UINT64_C(0x1000), 0, 0, "r--p", 9, MS_REGION_MAPPED_FILE, false},
		      {0, 0x1000, 0x1000, "rw-p", 0, MS_REGION_ANONYMOUS, false},
		      {0, 0x1000, 0x1000, "rw-p", 9, MS_REGION_MAPPED_FILE, false},
		      {0, 0x1000, 0x1000, "r--p", 0, MS_REGION_ANONYMOUS, false},
		      {0, 0x1000, 0x1000, "rw-s", 0, MS_REGION_ANONYMOUS, false},
		      {0, 0x1000, 0x1000, "rw-p", 0, MS_REGION_ANONYMOUS, true},
		      {-UINT64_C(0x1000), 0x1000, 0x1000, "rw-p", 0, MS_REGION_ANONYMOUS, false},
		      {-UINT64_C(0x1000), 0x1000, 0, "rw-p", 0, MS_REGION_ANONYMOUS, false},
		      {-UINT64_C(0x1000), 0x1000, 0x1000, "rw-p", 0, MS_REGION_HEAP, false}};
	/* One of a file lies right below one of memory. */
	static const uint64_t at[] = {1, 2, 2, 4, 5, 6, 7, 8, 9, 10};
	static struct ms_region regions[10];
	for (int glibc = 0; glibc < 2; glibc++) {
		char got[400] = "";
		begin(true);
		heads_all_over = true;
		mapped = (struct mg_arenas){.count = 1, .span = {{0x5000, 0x6000}}};
		struct resident *r = &w.resident;
		struct memory m = MEMORY_CLOSED;
		r->glibc = glibc;
		for (size_t i = 0; i < 10; i++) {
			uint64_t base = at[i] * HEAP_MOST;
			regions[i].map = (struct ms_proc_map){.start = base + places[i].start,
							      .end = base + places[i].end,
							      .inode = places[i].inode};
			strcpy(regions[i].map.perms, places[i].perms);
			regions[i].kind = places[i].kind;
			*MS_PUSH(&r->runs) =
				(struct resident_run){base + places[i].start,
						      base + places[i].run_end, places[i].swapped};
		}
		r->regions = (struct ms_regions){.v = regions, .n = 10};
		find_heaps(&w, &m);
		for (size_t i = 0; i < r->heaps.n; i++)
			sprintf(got + strlen(got), "%lx-%lx %lx, ", (long)r->heaps.v[i].start,
				(long)r->heaps.v[i].end, (long)r->heaps.v[i].arena);
		CHECK(!strcmp(got, glibc ? "5000-6000 0, 4000000-4001000 4000030, "
					   "8000000-8001000 8000030, 20000000-20001000 20000030, "
					   "27fff000-28001000 0, "
					 : "5000-6000 0, 27fff000-28001000 0, "),
		      "%s", got);
		heads_all_over = false;
		MS_FREE(r->runs.v, r->heaps.v);
	}
}

/* ---- what is said of it ---- */

static void check_unknown(void)
{
	begin(true);
	late = true;
	look("late", "1=1 2=now 14=5 15=6 16=3 17=0\n");
	begin(true);
	w.deadline_ns = 50;
	look("just late", "1=1 2=now 14=5 15=6 16=3 17=0\n");
	begin(true);
	session.process.folder = -1;
	look("unreadable", "1=1 2=now 14=5 15=6 16=4 17=0\n");
	session.process.folder = open(".", O_RDONLY | O_DIRECTORY);
	begin(true);
	w.resident.state = MS_SCAN_LOST;
	look("another reason", "1=1 2=now 14=5 15=6 16=6 17=0\n");
	begin(true);
	scan.moments = MS_RESIDENT_MOMENTS_MAX;
	look("one too many", "");
	begin(true);
	scan.moments = MS_RESIDENT_MOMENTS_MAX - 1;
	w.resident.state = MS_SCAN_LOST;
	look("the last one", "1=4096 2=now 14=5 15=6 16=6 17=0\n");
}

static void check_words(void)
{
	char text[200] = "";
	begin(true);
	CHECK(!resident_say(&w, text, sizeof text), "%s", text);
	resident_take(&w, 7);
	resident_solve(&w);
	CHECK(resident_say(&w, text, sizeof text) &&
		      !strcmp(text, "RSS 128.0 KiB: 12.1 KiB live data, 55.9 KiB free or slack, "
				    "60.0 KiB not heap"),
	      "%s", text);
	resident_free(&w);
}

/* 64 files are named, those of most bytes; of one without a name it is the one before. */
static void check_files(void)
{
	static struct ms_region regions[68];
	static char names[68][8];
	static uint64_t bytes[68];
	static char want[8192];
	uint64_t tmpfs[] = {makedev(0, 25)};
	char *to = want;
	for (unsigned i = 0; i < 68; i++) {
		snprintf(names[i], sizeof names[i], i == 67 ? "" : "f%u", i);
		regions[i].map.path = names[i];
		bytes[i] = i == 3 ? 0 : 100 + i; /* nothing is resident of f3 */
	}
	/* two of a file system in memory, of which one is not named */
	regions[1].map.dev_minor = regions[64].map.dev_minor = 25;
	begin(true);
	w.resident = (struct resident){.regions = {.v = regions, .n = 68},
				       .region_bytes = bytes,
				       .tmpfs = {.v = tmpfs, .n = 1}};
	to += sprintf(to, "1=9 3=f66 6=333\n");
	for (unsigned i = 65; i > 2; i--)
		to += i > 3 ? sprintf(to, "1=9 3=f%u 6=%u%s\n", i, 100 + i, i == 64 ? " 13=1" : "")
			    : 0;
	sprintf(to, "1=9 3=f2 6=102\n1=9 3= 6=100\n1=9 3= 6=101 13=1\n");
	put_files(&w, 9);
	CHECK(!strcmp(records(), want), "%s", records());
}

int main(void)
{
	char folder[] = "/tmp/resident-XXXXXX";
	if (!mkdtemp(folder) || chdir(folder) || mkdir("task", 0700) || mkdir("task/7", 0700))
		return 1;
	session.process.folder = open(".", O_RDONLY | O_DIRECTORY);
	close(STDIN_FILENO); /* 0 is a descriptor like any other */
	write_texts(0, 0);
	check_parts();
	check_other_allocator();
	check_rss_said();
	check_edges();
	check_heads();
	check_places();
	check_unknown();
	check_words();
	check_files();
	(void)!(unlink("task/7/maps") || unlink("task/7/smaps") || rmdir("task/7") ||
		rmdir("task") || rmdir(folder));
	free(session.queued.resident.data);
	is("all is given back", (uint64_t)held_blocks, 0);
	is("all is unmapped", (uint64_t)held_bytes, 0);
	return failures != 0;
}
