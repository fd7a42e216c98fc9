/* SPDX-License-Identifier: MIT
 * What a scan reads of a process, with a kernel that is made up here, old or new: random pages
 * against a model that looks at each, and every limit to the byte and the nanosecond.
 */
#include "ms-record/scan/scan_memory.c" /* it belongs to a tool, of which there is no library */

#include "tests/unit/held.h"
#include "noted.h"
#include "tests/unit/stream.h"

#define BASE UINT64_C(0x10000000)
#define PAGES 1300u
#define MB UINT64_C(0x100000)
#define SECOND UINT64_C(1000000000)

enum { NONE, SMALL, ZERO, OWN, OWN_SWAPPED, OF_A_FILE, FILE_SWAPPED, KINDS };
static uint8_t pages[PAGES]; /* from BASE on: kind, or of the file that is mapped: any = data */
static bool broken[PAGES];   /* cannot be read */
static uint64_t far;         /* a page far away that is there; 0 = none */
static struct memory m;
static struct stream s;
/* Says what the kernel's calls do, and counts them. */
static struct {
	bool waits, old, no_vm, no_mem, no_hole, not_mapped;
	uint64_t clock, step;
	size_t map_bytes, file_bytes; /* most that is read of these at once */
	int fds[4], why;              /* of task, mem, pagemap, map_files */
	int file;
	unsigned reads;
} will;
/* Notes the words that were given. */
static uint8_t got[PAGES * PAGE / 8]; /* how often each word */
static uint64_t pieces, largest, last, wrong, stop_after;
static uint32_t state; /* of the guest */
static pid_t read_of;  /* a thread of whose process was read last */

/* ---- the kernel ---- */

static unsigned kind_at(uint64_t address)
{
	uint64_t page = (address - BASE) / PAGE;
	return address / PAGE == far / PAGE && far ? OWN
	       : address >= BASE && page < PAGES   ? pages[page]
						   : NONE;
}

static uint64_t categories(uint64_t address)
{
	static const uint64_t of[KINDS] = {[SMALL] = 1, /* none that is asked for */
					   [ZERO] = IS_PRESENT | IS_ZERO,
					   [OWN] = IS_PRESENT,
					   [OWN_SWAPPED] = IS_SWAPPED,
					   [OF_A_FILE] = IS_PRESENT | IS_FILE,
					   [FILE_SWAPPED] = IS_SWAPPED | IS_FILE};
	return of[kind_at(address)];
}

static int scan_call(struct scan_call *c)
{
	struct scan_region *v = (struct scan_region *)(uintptr_t)c->vec;
	size_t n = 0;
	if (c->size != sizeof *c || c->start % PAGE || c->end % PAGE || c->start >= c->end)
		note("scan?");
	for (c->walk_end = c->start; c->walk_end < c->end; c->walk_end += PAGE) {
		uint64_t is = categories(c->walk_end);
		if (((is ^ c->category_inverted) & c->category_mask) != c->category_mask ||
		    !(is & c->category_anyof_mask)) {
			bool beyond = c->walk_end >= BASE + PAGES * PAGE || c->walk_end < BASE;
			if (beyond && !far)
				c->walk_end = c->walk_end < BASE && c->end > BASE ? BASE - PAGE
										  : c->end - PAGE;
			continue;
		}
		is &= c->return_mask;
		if (n && v[n - 1].end == c->walk_end && v[n - 1].categories == is) {
			v[n - 1].end += PAGE;
			continue;
		}
		if (n == c->vec_len)
			break;
		v[n++] = (struct scan_region){c->walk_end, c->walk_end + PAGE, is};
	}
	return (int)n;
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	va_start(ap, request);
	struct scan_call *c = va_arg(ap, struct scan_call *);
	va_end(ap);
	if (will.old || request != SCAN_IOCTL || fd != m.from.pagemap)
		return -1;
	return scan_call(c);
}

static uint64_t word_at(uint64_t address)
{
	return kind_at(address) == NONE || kind_at(address) == ZERO ? 0 : address + 1;
}

/* Reads words up to the first page that is broken. */
static ssize_t read_words(uint64_t address, void *to, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 8) {
		uint64_t word = word_at(address + i);
		if (address + i >= BASE && address + i < BASE + PAGES * PAGE &&
		    broken[(address + i - BASE) / PAGE])
			return i ? (ssize_t)i : -1;
		memcpy((char *)to + i, &word, 8);
	}
	return (ssize_t)bytes;
}

static ssize_t read_map(uint64_t *to, size_t bytes, uint64_t page)
{
	memset(to, 0, bytes); /* what is behind the end says nothing */
	bytes = bytes < will.map_bytes ? bytes : will.map_bytes;
	for (size_t i = 0; i < bytes / 8; i++) {
		uint64_t is = categories((page + i) * PAGE);
		to[i] = (is & IS_PRESENT ? PRESENT : 0) | (is & IS_SWAPPED ? SWAPPED : 0) |
			(is & IS_FILE ? OF_FILE : 0) | 5;
	}
	return bytes ? (ssize_t)bytes : -1;
}

ssize_t pread(int fd, void *to, size_t bytes, off_t at)
{
	will.reads++;
	if (fd == m.from.pagemap)
		return read_map(to, bytes, (uint64_t)at / 8);
	if (fd == will.file && fd != m.from.mem) {
		bytes = bytes < will.file_bytes ? bytes : will.file_bytes;
		return read_words(BASE + (uint64_t)at, to, bytes);
	}
	return fd == m.from.mem && !will.no_mem ? read_words((uint64_t)at, to, bytes) : -1;
}

ssize_t process_vm_readv(pid_t tid, const struct iovec *to, unsigned long n,
			 const struct iovec *from, unsigned long froms, unsigned long flags)
{
	if (will.no_vm || tid != m.from.tid || n != 1 || froms != 1 || flags)
		return -1;
	read_of = tid;
	return read_words((uintptr_t)from->iov_base, to->iov_base, to->iov_len);
}

/* Reads as the thread does that may wait for memory. */
static unsigned timed;
bool timed_read(pid_t tid, int mem, uint64_t address, void *to, size_t bytes)
{
	timed++;
	const struct iovec local = {to, bytes}, remote = {(void *)(uintptr_t)address, bytes};
	return process_vm_readv(tid, &local, 1, &remote, 1, 0) == (ssize_t)bytes ||
	       pread(mem, to, bytes, (off_t)address) == (ssize_t)bytes;
}

bool timed_waits(pid_t pid)
{
	(void)pid;
	return will.waits;
}

/* Finds data and holes of the one file that is open. */
off_t lseek(int fd, off_t at, int how)
{
	if (fd != will.file || at < 0 || (how == SEEK_HOLE && will.no_hole))
		return -1;
	for (; at < (off_t)(PAGES * PAGE); at = (at / PAGE + 1) * PAGE)
		if ((pages[at / PAGE] != NONE) == (how == SEEK_DATA))
			return at;
	return how == SEEK_DATA ? -1 : at;
}

int openat(int folder, const char *name, int flags, ...)
{
	static const char *const names[] = {"task/5", "mem", "pagemap", "map_files"};
	note("%d/%s%s", folder, name, flags & O_DIRECTORY ? "/" : "");
	for (int i = 0; i < 4; i++)
		if (!strcmp(name, names[i])) {
			errno = will.why + i;
			return will.fds[i];
		}
	return will.file;
}

int close(int fd)
{
	note("close %d", fd);
	return 0;
}

void descriptor_close(int fd)
{
	if (fd >= 0)
		note("close %d", fd);
}

int ms_regions_read(const struct ms_proc *p, bool smaps, struct ms_regions *out)
{
	static struct ms_region v[2] = {{.map = {.start = 1, .end = 2, .path = ""}},
					{.map = {.start = 2, .end = 3, .path = ""}}};
	note("maps of %d%s", p->folder, smaps ? "?" : "");
	out->v = v;
	out->n = will.not_mapped ? 0 : 2;
	errno = EACCES;
	return p->folder < 0 ? -1 : 0;
}

void ms_regions_free(struct ms_regions *r)
{
	(void)r;
	note("free");
}

uint64_t clock_mono(void)
{
	return will.clock += will.step;
}

/* ---- the state of things ---- */

static void take(void *arg, uint64_t address, const uint64_t *words, size_t n)
{
	wrong += arg != &m || address < last || !n;
	for (size_t i = 0; i < n; i++) {
		wrong += words[i] != word_at(address + i * 8);
		got[(address - BASE) / 8 + i]++;
	}
	last = address + n * 8;
	largest = n * 8 > largest ? n * 8 : largest;
	if (++pieces == stop_after)
		state = 2;
}

static void take_run(void *arg, uint64_t start, uint64_t end, bool swapped)
{
	note("%lx-%lx%s", (long)(start - BASE) / PAGE, (long)(end - BASE) / PAGE,
	     swapped ? " out" : "");
	wrong += arg != &m;
}

static void begin(bool old)
{
	MS_FREE(m.regions, m.buffer, m.maps.v);
	m = (struct memory){
		.from = {5, 10, 11}, .live = {-1, -1, -1}, .files = -1, .deadline_ns = UINT64_MAX};
	m.regions = ms_xrealloc(NULL, REGIONS, sizeof *m.regions);
	m.buffer = ms_xrealloc(NULL, m.room = PIECE, 1);
	memset(&will, 0, sizeof will);
	will.old = old;
	will.clock = SECOND;
	will.map_bytes = will.file_bytes = SIZE_MAX;
	will.file = -2;
	memset(got, 0, sizeof got);
	memset(broken, 0, sizeof broken);
	pieces = largest = last = wrong = stop_after = far = 0;
	state = 1;
	done[0] = '\0';
}

/* ---- pages ---- */

static uint64_t any(uint64_t below)
{
	return stream_random(&s) % below;
}

static bool wanted(unsigned page, enum memory_pages which)
{
	unsigned kind = pages[page];
	bool file = kind == OF_A_FILE || kind == FILE_SWAPPED;
	bool zero = kind == ZERO && will.old; /* an old kernel cannot tell */
	return (kind >= OWN || zero) && !(which == MEMORY_OWN && file);
}

/* Are they all that were wanted of [start, end)? */
static void compare(uint64_t start, uint64_t end, enum memory_pages which)
{
	uint64_t bytes = 0;
	bool unreadable = false;
	for (uint64_t i = 0; i < sizeof got; i++) {
		unsigned page = (unsigned)(i / (PAGE / 8));
		bool in = BASE + i * 8 >= start && BASE + i * 8 < end && wanted(page, which);
		wrong += got[i] != (in && !broken[page]);
		bytes += in && !broken[page] ? 8 : 0;
		unreadable |= in && broken[page];
	}
	is("words that are wrong", wrong, 0);
	is("bytes", m.bytes, bytes);
	is("unreadable", m.unreadable, unreadable);
	is("no piece is too large", largest > MB, false);
	did("asked well", "");
}

static void fill(uint64_t kinds, uint64_t most)
{
	for (unsigned i = 0, n = 0, kind = NONE; i < PAGES; i++, n--) {
		if (!n) {
			n = 1 + (unsigned)any(most);
			kind = (unsigned)any(kinds);
		}
		pages[i] = (uint8_t)kind;
	}
}

static void check_random(void)
{
	s = (struct stream){.seed = 3};
	for (unsigned round = 0; round < 120 && failures < 20; round++) {
		begin(round & 1);
		enum memory_pages which = round & 2 ? MEMORY_OWN : MEMORY_TOUCHED;
		fill(KINDS, round % 5 == 0 ? 600 : 4);
		for (unsigned i = 0; i < PAGES && round % 3 == 0; i++)
			broken[i] = any(20) == 0;
		will.no_vm = round & 4;
		uint64_t from = round % 7 ? 8 * any(PAGES * PAGE / 8) : 0;
		uint64_t to =
			round % 7 ? from + 8 * any((PAGES * PAGE - from) / 8 + 1) : PAGES * PAGE;
		memory_words(&m, BASE + from, BASE + to, which, take, &m);
		compare(BASE + from, BASE + to, which);
		is("it is known", m.old_kernel, will.old && from < to);
	}
}

/* Checks a page map that is cut short: pages that it does not tell of may be there. */
static void check_short(void)
{
	begin(true);
	memset(pages, OWN, sizeof pages);
	pages[3] = pages[600] = NONE;
	will.map_bytes = 8 * 4;
	memory_words(&m, BASE, BASE + 6 * PAGE, MEMORY_TOUCHED, take, &m);
	is("but one", m.bytes, 5 * PAGE);
	m.bytes = 0;
	m.from.pagemap = -1;
	memory_words(&m, BASE + 600 * PAGE, BASE + 602 * PAGE, MEMORY_TOUCHED, take, &m);
	is("all", m.bytes, 2 * PAGE);
	begin(false);
	m.from.pagemap = 0;
	memory_words(&m, BASE, BASE + 6 * PAGE, MEMORY_TOUCHED, take, &m);
	is("0 is a descriptor", m.bytes, 5 * PAGE);
	is("of this kernel", m.old_kernel, false);
	begin(true);
	m.from.pagemap = 0;
	memory_words(&m, BASE, BASE + 6 * PAGE, MEMORY_TOUCHED, take, &m);
	is("and of that", m.bytes, 5 * PAGE);
}

/* Parts that are kept apart, and what is read by either way. */
static void check_get(void)
{
	static uint64_t one[] = {11, 12}, other[] = {13, 14};
	const struct memory_part parts[] = {
		{.start = BASE + 8, .end = BASE + 24, .bytes = (uint8_t *)one},
		{.start = BASE + 32, .end = BASE + 48, .bytes = (uint8_t *)other}};
	uint64_t word[2];
	memset(pages, OWN, sizeof pages);
	for (int i = 0; i < 3; i++) {
		begin(false);
		will.no_vm = i == 1;
		will.no_mem = i != 1;
		broken[1] = true;
		memory_set_apart(&m, parts, 2);
		is("the first", memory_get(&m, BASE + 8, word, 16) && word[1] == 12, true);
		is("its start", word[0], 11);
		is("the second", memory_get(&m, BASE + 40, word, 8) && word[0] == 14, true);
		is("over its end", memory_get(&m, BASE + 40, word, 16), true);
		is("that is not apart", word[0] == BASE + 41 && word[1] == BASE + 49, true);
		is("behind both", memory_get(&m, BASE + 48, word, 16), true);
		is("what is there", word[1], BASE + 57);
		is("not all", memory_get(&m, BASE + PAGE - 8, word, 16), false);
		is("nothing", memory_get(&m, BASE + PAGE, word, 8), false);
		memory_words(&m, BASE + 16, BASE + 16, MEMORY_TOUCHED, take, &m);
		is("nothing is asked for", pieces, 0);
		memory_words(&m, BASE, BASE + 8, MEMORY_TOUCHED, take, &m);
		is("up to a part", pieces, 1);
	}
}

/* ---- its end ---- */

static void check_stops(void)
{
	memset(pages, OWN, sizeof pages);
	for (int old = 0; old < 2; old++)
		for (stop_after = 0; stop_after < 5;) {
			uint64_t after = stop_after + 1;
			begin(old);
			stop_after = after;
			m.word = &state;
			m.value = 2;
			memory_words(&m, BASE, BASE + 5 * MB, MEMORY_TOUCHED, take, &m);
			is("pieces", pieces, after);
			is("bytes", m.bytes, after * MB);
			is("given up", m.gave_up && m.late, true);
		}
	for (uint64_t bytes = MB - 8; bytes <= MB + 8; bytes += 8) {
		begin(false);
		memory_words(&m, BASE, BASE + bytes, MEMORY_TOUCHED, take, &m);
		is("pieces", pieces, 1 + (bytes > MB));
	}
}

static void check_enough(void)
{
	static const struct {
		uint64_t total, bytes, took, limit;
		bool late;
	} cases[] = {
		{0, 1, 0, 0, false},            /* at the deadline */
		{0, 1, 1, 0, true},             /* behind it */
		{800, 100, 9000, 10000, false}, /* too little was read to tell */
		{800, 101, 9000, 10000, true},
		{800, 101, 200, 1000, false}, /* nor for long enough */
		{800, 101, 201, 1000, true},
		{800, 400, 7500, 10000, false}, /* just so fast */
		{800, 400, 7501, 10000, true},
		{800, 800, 9999, 10000, false}, /* that was all */
		{800, 799, 9999, 10000, false},
		{800, 800, 2000, 1000, true},
		{0, 500, 9999, 10000, false}, /* nobody knows how much there is */
		{7, 1, 9999, 10000, true},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		begin(false);
		m.total = cases[i].total;
		m.bytes = cases[i].bytes;
		m.begin_ns = 5 * SECOND;
		will.clock = 5 * SECOND + cases[i].took * 1000000;
		m.deadline_ns = 5 * SECOND + cases[i].limit * 1000000;
		CHECK(enough(&m) == cases[i].late, "case %zu", i);
		is("begun", m.begin_ns, 5 * SECOND);
	}
	begin(false);
	is("not yet", enough(&m), false);
	is("it begins now", m.begin_ns, SECOND);
	m.word = &state;
	m.value = 2;
	is("not yet", enough(&m) || m.gave_up, false);
	state = 3;
	is("further on", enough(&m) && m.gave_up, true);
}

/* ---- runs ---- */

static void check_runs(void)
{
	static const uint8_t few[] = {OWN, OWN, NONE, OWN_SWAPPED, OWN, NONE, SMALL, OF_A_FILE};
	for (int old = 0; old < 2; old++) {
		begin(old);
		memset(pages, NONE, sizeof pages);
		memcpy(pages, few, sizeof few);
		memory_runs(&m, BASE, BASE + PAGES * PAGE, UINT64_MAX, take_run, &m);
		did("runs", "0-2, 3-4 out, 4-5, 7-8");
		memory_runs(&m, BASE + PAGE, BASE + 4 * PAGE, UINT64_MAX, take_run, &m);
		did("some", "1-2, 3-4 out");
		pages[700] = OWN;
		memory_runs(&m, BASE, BASE + PAGES * PAGE, 5 * PAGE, take_run, &m);
		did("so many", old ? "0-2, 3-4 out, 4-5, 7-8" : "0-2, 3-4 out, 4-5, 7-8, 2bc-2bd");
		memory_runs(&m, BASE, BASE + PAGES * PAGE, 5 * PAGE + 1, take_run, &m);
		did("and more", "0-2, 3-4 out, 4-5, 7-8, 2bc-2bd");
		memory_runs(&m, BASE, BASE + PAGE, 0, take_run, &m);
		did("none", "");
		m.deadline_ns = will.clock + 1;
		memory_runs(&m, BASE, BASE + PAGE, UINT64_MAX, take_run, &m);
		did("just in time", "0-1");
		m.deadline_ns = will.clock;
		memory_runs(&m, BASE, BASE + PAGE, UINT64_MAX, take_run, &m);
		did("too late", "");
		is("as they are", wrong, 0);
	}
}

/* Behind 16 GiB of nothing an old kernel is not asked. */
static void check_empty(void)
{
	const uint64_t gb16 = UINT64_C(16) << 30;
	memset(pages, NONE, sizeof pages);
	begin(true);
	far = BASE + gb16 - PAGE;
	memory_runs(&m, BASE, BASE + 2 * gb16 + 8 * MB, UINT64_MAX, take_run, &m);
	did("in time", "3fffff-400000");
	is("reads, so many again from there", will.reads, 2 * 8192);
	begin(true);
	far = BASE + gb16;
	memory_runs(&m, BASE, BASE + 2 * gb16, UINT64_MAX, take_run, &m);
	did("behind it", "");
	is("reads", will.reads, 8192);
	begin(false);
	far = BASE + gb16;
	memory_runs(&m, BASE, BASE + gb16 + PAGE, UINT64_MAX, take_run, &m);
	did("a new one", "400000-400001");
}

static void check_all_runs(void)
{
	begin(false);
	for (unsigned i = 0; i < PAGES; i++)
		pages[i] = i % 2 ? OWN : NONE;
	is("all", memory_all_runs(&m, take_run, &m), true);
	size_t runs = 0;
	for (const char *at = done; (at = strchr(at, '-')); at++)
		runs++;
	is("in two calls", runs, PAGES / 2);
	is("the first ones", (uint64_t)strncmp(done, "1-2, 3-4, 5-6", 13), 0);
	done[0] = '\0';
	for (unsigned i = 3; i < PAGES; i++)
		pages[i] = NONE;
	m.deadline_ns = will.clock;
	is("in time", memory_all_runs(&m, take_run, &m), true);
	did("one", "1-2");
	memset(pages, NONE, sizeof pages);
	is("none", memory_all_runs(&m, take_run, &m), true);
	did("none", "");
	m.deadline_ns--;
	is("too late", memory_all_runs(&m, take_run, &m), false);
	m.deadline_ns = UINT64_MAX;
	will.old = true;
	is("an old kernel", memory_all_runs(&m, take_run, &m), false);
	did("nothing", "");
}

/* ---- files ---- */

static void check_files(void)
{
	s = (struct stream){.seed = 5};
	for (unsigned round = 0; round < 40 && failures < 20; round++) {
		begin(false);
		fill(2, round % 4 ? 5 : 900); /* NONE: a hole */
		for (unsigned i = 0; i < PAGES; i++)
			pages[i] = pages[i] ? OWN : NONE;
		will.file = 12;
		will.file_bytes = round % 3 ? SIZE_MAX : 3 * PAGE;
		uint64_t from = 8 * any(PAGES * PAGE / 8);
		uint64_t to = from + 8 * any((PAGES * PAGE - from) / 8 + 1);
		file_words(&m, 12, (off_t)from, (off_t)to, BASE + from, take, &m);
		compare(BASE + from, BASE + to, MEMORY_SHARED);
	}
	begin(false);
	memset(pages, OWN, sizeof pages);
	will.file = 12;
	will.no_hole = true;
	file_words(&m, 12, 0, 2 * PAGE, BASE, take, &m);
	is("where a hole is cannot be told", m.bytes, 2 * PAGE);
	broken[3] = true;
	file_words(&m, 12, 3 * PAGE, 6 * PAGE, BASE + 3 * PAGE, take, &m);
	is("unreadable", m.unreadable, true);
	is("so it ends", m.bytes, 2 * PAGE);
	begin(false);
	will.file = 12;
	will.file_bytes = 0;
	file_words(&m, 12, 0, 2 * PAGE, BASE, take, &m);
	is("it is shorter now", m.unreadable && !m.bytes, true);
	for (uint64_t after = 1; after < 4; after++) {
		begin(false);
		pages[260] = NONE;
		will.file = 12;
		m.word = &state;
		m.value = 2;
		stop_after = after;
		file_words(&m, 12, 0, 5 * MB, BASE, take, &m);
		is("pieces", pieces, after);
		is("bytes", m.bytes,
		   after * MB + (after == 2 ? 4 * PAGE - MB : 0) -
			   (after == 3 ? MB - 4 * PAGE : 0));
	}
}

/* Checks memory that several processes have mapped. */
static void check_shared(void)
{
	static const struct memory_map map = {.start = BASE + PAGE,
					      .end = BASE + 9 * PAGE,
					      .offset = 3 * PAGE,
					      .volatile_file = true};
	for (int file = -2; file < 2; file++) {
		begin(false);
		memset(pages, OWN, sizeof pages);
		*MS_PUSH(&m.maps) = map;
		m.files = 0;
		will.file = file;
		wrong = 0;
		memory_words(&m, BASE + 2 * PAGE + 8, BASE + 4 * PAGE, MEMORY_SHARED, take, &m);
		is("bytes", m.bytes, 2 * PAGE - 8);
		is("of the file", wrong ? 1 : 0, file >= 0); /* two pages further on in it */
		is("from there on", got[(2 * PAGE + 8) / 8], 1);
		did("opened", file == 0   ? "0/10001000-10009000, close 0"
			      : file == 1 ? "0/10001000-10009000, close 1"
					  : "0/10001000-10009000");
	}
	for (int live = -1; live < 2; live++) {
		begin(false);
		*MS_PUSH(&m.maps) = map;
		m.live = (struct memory_source){6, live, 12};
		memory_words(&m, BASE + 2 * PAGE, BASE + 4 * PAGE, MEMORY_SHARED, take, &m);
		is("bytes", m.bytes, 2 * PAGE);
		is("whose", (uint64_t)read_of, live < 0 ? 5 : 6);
		is("back again", m.from.tid * 100 + m.from.mem == 510 && m.from.pagemap == 11,
		   true);
		did("no file", "");
	}
	begin(false);
	*MS_PUSH(&m.maps) = map;
	memory_words(&m, BASE, BASE + PAGE, MEMORY_SHARED, take, &m);
	is("no map", pieces, 0);
}

/* ---- opening ---- */

static void open_case(const char *what, bool pages_only, int rc, int why, const char *want)
{
	MS_FREE(m.regions, m.buffer, m.maps.v);
	memset(&m, 0, sizeof m);
	int is_rc = pages_only ? memory_open_pages(&m, 3, 5, 77) : memory_open(&m, 3, 5, 77);
	is(what, (uint64_t)is_rc, (uint64_t)rc);
	if (rc)
		is("why", (uint64_t)errno, (uint64_t)why);
	did(what, want);
	is("deadline", m.deadline_ns, 77);
	is("no other one", (uint64_t)(m.live.mem + m.live.pagemap), (uint64_t)-2);
	is("maps", m.maps.n, rc || pages_only ? 0 : 2);
	memory_close(&m);
	is("closed", m.from.mem == -1 && m.from.pagemap == -1 && m.files == -1 && !m.regions, true);
}

/* Which reads may have to wait: those of pages that belong to a file, or are not there. */
static void check_timed(void)
{
	static const struct {
		const char *what;
		bool file, shared; /* the mapping */
		unsigned kind;     /* its pages */
		enum memory_pages which;
		unsigned regions, gets;
	} cases[] = {{"anonymous", false, false, OWN, MEMORY_TOUCHED, 0, 0},
		     {"swapped", false, false, OWN_SWAPPED, MEMORY_OWN, 1, 1},
		     {"written, of a file", true, false, OWN, MEMORY_OWN, 0, 0},
		     {"perhaps the file's", true, false, OWN, MEMORY_TOUCHED, 1, 0},
		     {"the file's", true, false, OF_A_FILE, MEMORY_TOUCHED, 1, 1},
		     {"not there", true, false, NONE, MEMORY_OWN, 0, 1},
		     {"shared", true, true, OWN, MEMORY_OWN, 1, 1}};
	for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
		size_t c = i / 2;
		uint64_t word;
		begin(i % 2);
		memset(pages, (int)cases[c].kind, sizeof pages);
		*MS_PUSH(&m.maps) = (struct memory_map){.start = BASE,
							.end = BASE + PAGES * PAGE,
							.read = true,
							.write = true,
							.shared = cases[c].shared,
							.anonymous = !cases[c].file};
		timed = 0;
		memory_words(&m, BASE, BASE + 5 * PAGE, cases[c].which, take, &m);
		is(cases[c].what, timed, cases[c].regions);
		timed = 0;
		memory_get(&m, BASE + 8, &word, sizeof word);
		is(cases[c].what, timed, cases[c].gets);
	}
}

static void check_open(void)
{
	static const int fds[] = {20, 21, 22, 23};
	begin(false);
	will.why = 40;
	memcpy(will.fds, fds, sizeof fds);
	open_case("all", false, 0, 0,
		  "3/task/5/, 20/mem, 20/pagemap, 3/map_files/, maps of 20, free, close 20");
	did("then", "close 21, close 22, close 23");
	will.not_mapped = true;
	open_case("nothing is mapped", false, -1, ESRCH,
		  "3/task/5/, 20/mem, 20/pagemap, 3/map_files/, maps of 20, free, close 20");
	did("then", "close 21, close 22, close 23");
	will.not_mapped = false;
	open_case("pages", true, 0, 0, "3/task/5/, 20/mem, 20/pagemap, close 20");
	did("then", "close 21, close 22");
	will.fds[2] = -1;
	open_case("no page map", true, 0, 0, "3/task/5/, 20/mem, 20/pagemap, close 20");
	did("then", "close 21");
	will.fds[1] = -1;
	open_case("no memory", true, -1, 41, "3/task/5/, 20/mem, 20/pagemap, close 20");
	did("then", "");
	will.fds[0] = -1;
	open_case("no thread", true, -1, 40, "3/task/5/");
	will.fds[3] = -1;
	open_case("no thread", false, -1, 43, "3/task/5/, 3/map_files/");
	will.fds[0] = will.fds[1] = 0;
	open_case("0 is a descriptor", true, 0, 0, "3/task/5/, 0/mem, 0/pagemap, close 0");
	did("then", "close 0");
	memcpy(will.fds, fds, sizeof fds);
	m.files = 9;
	is("another one", (uint64_t)memory_set_live(&m, 4, 5), 0);
	did("in its stead", "close 9, 4/map_files/, 4/task/5/, 20/mem, 20/pagemap, close 20");
	is("its files", (uint64_t)m.files, 23);
	is("it", m.live.tid == 5 && m.live.mem == 21 && m.live.pagemap == 22, true);
}

int main(void)
{
	check_random();
	check_short();
	check_get();
	check_stops();
	check_enough();
	check_runs();
	check_empty();
	check_all_runs();
	check_files();
	check_shared();
	check_timed();
	check_open();
	MS_FREE(m.regions, m.buffer, m.maps.v);
	is("all is given back", (uint64_t)held_blocks, 0);
	return failures != 0;
}
