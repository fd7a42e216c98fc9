/* SPDX-License-Identifier: MIT
 * The symbolizer on this very program, demangling, and symbols appended to a trace.
 */
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/record.h"
#include "format/stacks.h"
#include "format/trace.h"
#include "libcommon/base/err.h"
#include "libcommon/symbols/symbols.h"
#include "libcommon/symbols/symbols_elf.h"
#include "libcommon/trace/tracefile.h"

static int failures;

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			printf("%s:%d: not true: %s\n", __func__, __LINE__, #condition);           \
			failures++;                                                                \
		}                                                                                  \
	} while (0)

/* ---- known places in this program ---- */

static void *volatile caught;

static __attribute__((noinline)) void catch_caller(void)
{
	caught = __builtin_return_address(0);
}

static uint32_t inner_line, middle_line, outer_line;

static inline __attribute__((always_inline)) void inner(void)
{
	inner_line = __LINE__ + 1;
	catch_caller();
	__asm__ volatile("");
}

static inline __attribute__((always_inline)) void middle(void)
{
	middle_line = __LINE__ + 1;
	inner();
	__asm__ volatile("");
}

static __attribute__((noinline)) void outer(void)
{
	outer_line = __LINE__ + 1;
	middle();
	__asm__ volatile("");
}

static char exe[PATH_MAX];
static uint64_t bias;

static int first_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	bias = info->dlpi_addr;
	return 1;
}

static int module(struct ms_symbols *s, const char *path, const void *id, size_t id_size, int kind)
{
	return ms_symbols_module_of(
		s, &(struct ms_symbols_module){
			   .path = path, .build_id = id, .build_id_size = id_size, .kind = kind});
}

static void check_chain(const struct ms_location *l, size_t n)
{
	CHECK(n == 3);
	if (n != 3)
		return;
	CHECK(!strcmp(l[0].function, "inner") && !strcmp(l[1].function, "middle") &&
	      !strcmp(l[2].function, "outer"));
	CHECK(l[0].line == inner_line && l[1].line == middle_line && l[2].line == outer_line);
	CHECK(l[0].inlined && l[1].inlined && !l[2].inlined);
	for (size_t i = 0; i < 3; i++) {
		const char *slash = l[i].file ? strrchr(l[i].file, '/') : NULL;
		CHECK(slash && l[i].file[0] == '/' && !strcmp(slash, "/symbols.c"));
	}
}

static void test_self(void)
{
	struct ms_symbols *s = ms_symbols_new(NULL);
	struct ms_location l[8];
	const char *file;
	outer();
	int m = module(s, exe, NULL, 0, 0);
	CHECK(m == 0 && module(s, exe, NULL, 0, 0) == 0);
	CHECK(ms_symbols_module_state(s, m, &file) == MS_SYMBOLS_DWARF && !strcmp(file, exe));
	check_chain(l, ms_symbols_find(s, m, (uint64_t)(uintptr_t)caught - bias - 1, l, 8));
	/* With too little room the function itself is still the last. */
	size_t n = ms_symbols_find(s, m, (uint64_t)(uintptr_t)caught - bias - 1, l, 2);
	CHECK(n == 2 && !strcmp(l[0].function, "inner") && !strcmp(l[1].function, "outer") &&
	      !l[1].inlined);
	n = ms_symbols_find(s, m, 1, l, 8);
	CHECK(n == 1 && !l[0].function && !l[0].file && !l[0].line);
	n = ms_symbols_find(s, m, UINT64_MAX, l, 8);
	CHECK(n == 1 && !l[0].function);
	CHECK(ms_symbols_find(s, 99, 1, l, 8) == 1 && !l[0].function);
	ms_symbols_free(s);
}

static void test_states(void)
{
	static const unsigned char wrong[20] = {1, 2, 3};
	struct ms_symbols *s = ms_symbols_new(NULL);
	struct ms_location l[2];
	const char *file;
	int m = module(s, exe, wrong, sizeof wrong, 0);
	CHECK(ms_symbols_module_state(s, m, &file) == MS_SYMBOLS_MISMATCH && !*file);
	CHECK(ms_symbols_find(s, m, (uint64_t)(uintptr_t)caught - bias - 1, l, 2) == 1);
	CHECK(!l[0].function);
	m = module(s, "/nonexistent/libx.so", NULL, 0, 0);
	CHECK(ms_symbols_module_state(s, m, &file) == MS_SYMBOLS_MISSING);
	m = module(s, exe, NULL, 0, 1);
	CHECK(m == 2 && ms_symbols_module_state(s, m, &file) == MS_SYMBOLS_NONE);
	m = module(s, "/etc/passwd", NULL, 0, 0);
	CHECK(ms_symbols_module_state(s, m, &file) == MS_SYMBOLS_MISSING);
	m = module(s, "/", NULL, 0, 0);
	CHECK(ms_symbols_module_state(s, m, &file) == MS_SYMBOLS_MISSING);
	ms_symbols_free(s);
}

/* Names that would take a recursive demangler for ever, or all of its stack. */
static void test_demangle_hostile(void)
{
	static char name[1 << 17];
	/* f(a<int, int>, a<that, that>, ...): each argument is twice as long as the one before */
	char *end = stpcpy(name, "_Z1f1aIiiE");
	for (const char *d = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"; *d; d++)
		end += sprintf(end, "S_IS%c_S%c_E", *d, *d);
	char *got = ms_demangle(name);
	CHECK(!got);
	free(got);
	end[-10 * 30] = 0; /* the first six can be had */
	got = ms_demangle(name);
	CHECK(got && strlen(got) == 2132);
	free(got);
	/* a pointer to a pointer to a ...; an array of an array of a ... */
	for (const char *part = "P"; part; part = strcmp(part, "P") ? NULL : "A1_") {
		end = stpcpy(name, "_Z1f");
		while (end - name < 65000)
			end = stpcpy(end, part);
		stpcpy(end, "i");
		free(ms_demangle(name));
	}
	/* f<f<f<...>>>, not closed, and closed */
	end = stpcpy(name, "_Z");
	while (end - name < 20000)
		end = stpcpy(end, "1fI");
	free(ms_demangle(name));
	*end++ = 'i';
	memset(end, 'E', 6666);
	strcpy(end + 6666, "vv");
	free(ms_demangle(name));
	/* D: (T, (T, ..)) where each T is the one before, of twice the length */
	end = stpcpy(name, "_D1fF");
	for (int i = 0; i < 40; i++)
		end = stpcpy(end, "B2");
	end = stpcpy(end, "i");
	for (int i = 0; i < 40; i++)
		end = stpcpy(end, "Qb");
	stpcpy(end, "Zi");
	CHECK(!ms_demangle(name));
	memset(name, '_', 1 << 16);
	strcpy(name + (1 << 16), "x");
	CHECK(!ms_demangle(name));
}

static void test_demangle(void)
{
	static const struct {
		const char *in, *want;
	} t[] = {
		{"_ZN2ns1fEi", "ns::f(int)"},
		{"_ZN3FooC1ERKS_", "Foo::Foo(Foo const&)"},
		{"_ZNSt6vectorIiSaIiEE9push_backEOi",
		 "std::vector<int, std::allocator<int> >::push_back(int&&)"},
		{"_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const"},
		{"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"},
		{"_RNvCskwGfYPst2Cb_3foo16example_function", "foo::example_function"},
		{"_RINvNtC3std3mem8align_ofjE", "std::mem::align_of::<usize>"},
		{"_D3app5inner4workFNbNdiZAh", "app.inner.work(int)"},
		{"_D3app__T4PoolTdZQi11__xopEqualsMxFKxSQBk__TQBjTdZQBpZb",
		 "app.Pool!(double).Pool.__xopEquals(ref const(app.Pool!(double).Pool)) const"},
		{"_Dmain", "D main"},
		{"_Destroy", NULL},
		{"_D", NULL},
		{"_ada_leak_main", "leak_main"},
		{"keeper__hold", NULL},
		{"main", NULL},
		{"_start", NULL},
		{"_Z", NULL},
		{"", NULL},
		{"i", NULL},
	};
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		char *got = ms_demangle(t[i].in);
		if (!got != !t[i].want || (got && strcmp(got, t[i].want))) {
			printf("demangle '%s': '%s' instead of '%s'\n", t[i].in, got ? got : "-",
			       t[i].want ? t[i].want : "-");
			failures++;
		}
		free(got);
	}
}

/* ---- a trace ---- */

static const char trace[] = "self.trace";

enum { FRAME_KNOWN = 1, FRAME_EXACT, FRAME_OTHER, FRAME_VDSO, FRAME_CUT, FRAME_DELETED, FRAMES };
enum { MODULE_DELETED = 5 };

static void put_module(struct ms_record_writer *w, uint64_t id, const char *path, int kind,
		       const char *build_id)
{
	ms_record_begin(w);
	ms_record_number(w, MS_MODULE_ID, id);
	ms_record_string(w, MS_MODULE_PATH, path);
	ms_record_number(w, MS_MODULE_BIAS, bias);
	ms_record_number(w, MS_MODULE_KIND, (uint64_t)kind);
	if (build_id)
		ms_record_string(w, MS_MODULE_BUILD_ID, build_id);
	if (id == MODULE_DELETED)
		ms_record_number(w, MS_MODULE_DELETED, 1);
	ms_record_end(w);
}

static void write_modules(struct ms_trace_writer *to)
{
	static char room[1 << 14];
	struct ms_record_writer w;
	ms_record_writer_init(&w, room, sizeof room);
	put_module(&w, 7, exe, 0, NULL);
	put_module(&w, 9, exe, 0, "not its build-id");
	put_module(&w, 3, "[vdso]", 1, NULL);
	put_module(&w, MODULE_DELETED, exe, 0, NULL);
	struct ms_column c = ms_record_column(&w);
	CHECK(!ms_trace_write(to, MS_BLOCK_MODULES, 0, 0, &c, 1, NULL));
}

static void write_frames(struct ms_trace_writer *to)
{
	static char room[MS_STACKS_MEMORY(FRAMES, FRAMES)];
	uint64_t known = (uint64_t)(uintptr_t)caught;
	const struct ms_frame frames[FRAMES] = {
		[FRAME_KNOWN] = {known, 7, 0},      [FRAME_EXACT] = {known - 1, 7, MS_FRAME_EXACT},
		[FRAME_OTHER] = {known, 9, 0},      [FRAME_VDSO] = {known, 3, 0},
		[FRAME_CUT] = {0, 0, MS_FRAME_CUT}, [FRAME_DELETED] = {known, MODULE_DELETED, 0},
	};
	struct ms_stacks_encoder e;
	struct ms_column c[MS_STACKS_COLUMNS];
	ms_stacks_encoder_init(&e, room, FRAMES, FRAMES);
	ms_stacks_encoder_begin(&e, 1, 1);
	for (int i = 1; i < FRAMES; i++)
		CHECK(ms_stacks_put_frame(&e, &frames[i]) == MS_FMT_OK);
	size_t n = ms_stacks_encoder_finish(&e, c);
	CHECK(!ms_trace_write(to, MS_BLOCK_STACKS, 0, 0, c, n, NULL));
}

/* Writes more blocks to the traces of write_trace, unless NULL. */
static void (*more_frames)(struct ms_trace_writer *to);

/* A trace with or without an end block; gives its size. */
static off_t write_trace(bool ended)
{
	struct ms_trace_head head = {.major = MS_TRACE_MAJOR,
				     .minor = MS_TRACE_MINOR,
				     .machine = 62,
				     .address_bytes = 8,
				     .tick_ns = MS_TRACE_TICK_NS};
	struct ms_err err = {0};
	struct stat st = {0};
	int fd = open(trace, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	struct ms_trace_writer *w = ms_trace_writer_new(fd, &head, 3, &err);
	CHECK(w != NULL);
	write_modules(w);
	write_frames(w);
	if (more_frames)
		more_frames(w);
	static const uint8_t end[] = "\x02\x02\x05"; /* one record: MS_END_TIME 5 */
	struct ms_column c = {.id = MS_RECORDS_COLUMN, .data = end, .size = 3};
	if (ended)
		CHECK(!ms_trace_write(w, MS_BLOCK_END, 4, 5, &c, 1, &err));
	ms_trace_writer_free(w);
	fstat(fd, &st);
	close(fd);
	return st.st_size;
}

static off_t trace_size(void)
{
	struct stat st = {0};
	stat(trace, &st);
	return st.st_size;
}

/* ---- reading it back ---- */

struct answers {
	struct ms_location l[FRAMES][8];
	size_t n[FRAMES];
	char strings[64][PATH_MAX];
	size_t string_count;
	int state[16];
	unsigned blocks, ends;
};

static void take_symbols(struct answers *a, struct ms_record rec)
{
	struct ms_field f;
	uint64_t frame = 0, module = 0;
	while (ms_record_field(&rec, &f) == MS_FMT_OK) {
		struct ms_location *l = a->n[frame] ? &a->l[frame][a->n[frame] - 1] : NULL;
		if (f.id == MS_SYM_STRING)
			snprintf(a->strings[++a->string_count], PATH_MAX, "%.*s", (int)f.size,
				 (const char *)f.data);
		else if (f.id == MS_SYM_FRAME)
			frame = f.value;
		else if (f.id == MS_SYM_FUNCTION)
			a->l[frame][a->n[frame]++] =
				(struct ms_location){.function = a->strings[f.value]};
		else if (f.id == MS_SYM_FILE)
			l->file = a->strings[f.value];
		else if (f.id == MS_SYM_LINE)
			l->line = (uint32_t)f.value;
		else if (f.id == MS_SYM_MODULE)
			module = f.value;
		else if (f.id == MS_SYM_STATE)
			a->state[module] = (int)f.value;
	}
	for (size_t i = 0; i + 1 < a->n[frame]; i++)
		a->l[frame][i].inlined = true;
}

static void read_back(struct answers *a)
{
	struct ms_trace *t = ms_trace_open(trace, NULL);
	struct ms_block b;
	enum ms_trace_next next;
	memset(a, 0, sizeof *a);
	memset(a->state, -1, sizeof a->state);
	while ((next = ms_trace_next(t, 0, 1, &b, NULL)) == MS_NEXT_BLOCK) {
		const struct ms_column *c = ms_block_column(&b, MS_RECORDS_COLUMN);
		struct ms_record_reader r;
		struct ms_record rec;
		if (b.type == MS_BLOCK_END) {
			a->ends++;
			CHECK(c->size == 3 && !memcmp(c->data, "\x02\x02\x05", 3) &&
			      b.first_ns == 4 && b.last_ns == 5);
		}
		if (b.type != MS_BLOCK_SYMBOLS)
			continue;
		a->blocks++;
		ms_record_reader_init(&r, c->data, c->size);
		while (ms_record_next(&r, &rec) == MS_FMT_OK)
			take_symbols(a, rec);
	}
	CHECK(next == MS_NEXT_EOF && ms_trace_state(t) == MS_TRACE_ENDED);
	CHECK(ms_trace_damaged_bytes(t, NULL) == 0);
	ms_trace_close(t);
}

static void test_embed(void)
{
	static struct answers a;
	struct ms_err err = {0};
	off_t before = write_trace(true);
	CHECK(ms_symbols_embed(trace, NULL, NULL, &err) == 0 && !err.text[0]);
	off_t after = trace_size();
	CHECK(after > before);
	read_back(&a);
	CHECK(a.blocks == 1 && a.ends == 2);
	check_chain(a.l[FRAME_KNOWN], a.n[FRAME_KNOWN]);
	check_chain(a.l[FRAME_EXACT], a.n[FRAME_EXACT]);
	CHECK(!a.n[FRAME_OTHER] && !a.n[FRAME_VDSO] && !a.n[FRAME_CUT] && !a.n[FRAME_DELETED]);
	CHECK(a.state[MODULE_DELETED] == MS_SYMBOLS_MISMATCH);
	CHECK(a.state[7] == MS_SYMBOLS_DWARF && a.state[9] == MS_SYMBOLS_MISMATCH &&
	      a.state[3] == MS_SYMBOLS_NONE && a.state[1] == -1);
	CHECK(a.string_count == 4); /* three functions, one file */
	CHECK(ms_symbols_embed(trace, NULL, NULL, &err) == 0 && trace_size() == after);
}

/* ---- more than one block ---- */

enum { MANY = 60000 };

static void write_many(struct ms_trace_writer *to)
{
	struct ms_stacks_encoder e;
	struct ms_column c[MS_STACKS_COLUMNS];
	void *room = malloc(MS_STACKS_MEMORY(MANY, 1));
	ms_stacks_encoder_init(&e, room, MANY, 1);
	ms_stacks_encoder_begin(&e, FRAMES, 1);
	struct ms_frame f = {(uint64_t)(uintptr_t)caught, 7, 0};
	for (int i = 0; i < MANY; i++)
		CHECK(ms_stacks_put_frame(&e, &f) == MS_FMT_OK);
	size_t n = ms_stacks_encoder_finish(&e, c);
	CHECK(!ms_trace_write(to, MS_BLOCK_STACKS, 0, 0, c, n, NULL));
	free(room);
}

/* Counts the frames of a block whose innermost function is "inner"; string numbers are the block's
 * own. */
static size_t count_inner(const struct ms_column *c)
{
	struct ms_record_reader r;
	struct ms_record rec;
	struct ms_field f;
	uint64_t strings = 0, inner_string = 0;
	size_t n = 0;
	ms_record_reader_init(&r, c->data, c->size);
	while (ms_record_next(&r, &rec) == MS_FMT_OK) {
		bool first = true;
		while (ms_record_field(&rec, &f) == MS_FMT_OK) {
			if (f.id == MS_SYM_STRING && ++strings && f.size == 5 &&
			    !memcmp(f.data, "inner", 5))
				inner_string = strings;
			if (f.id == MS_SYM_FUNCTION && first) {
				n += inner_string && f.value == inner_string;
				first = false;
			}
		}
	}
	return n;
}

static void test_embed_many(void)
{
	struct ms_err err = {0};
	struct ms_block b;
	size_t n = 0, blocks = 0;
	more_frames = write_many;
	write_trace(true);
	more_frames = NULL;
	CHECK(ms_symbols_embed(trace, NULL, NULL, &err) == 0);
	struct ms_trace *t = ms_trace_open(trace, NULL);
	while (ms_trace_next(t, UINT64_C(1) << MS_BLOCK_SYMBOLS, 1, &b, NULL) == MS_NEXT_BLOCK) {
		n += count_inner(ms_block_column(&b, MS_RECORDS_COLUMN));
		blocks++;
	}
	CHECK(n == MANY + 2 && blocks > 1);
	ms_trace_close(t);
}

static void test_embed_refused(void)
{
	struct ms_err err = {0};
	off_t before = write_trace(false);
	CHECK(ms_symbols_embed(trace, NULL, NULL, &err) == -1 && trace_size() == before);
	CHECK(!strcmp(err.text,
		      "cannot add symbols to 'self.trace': it is incomplete (its end is missing)"));
	err.text[0] = 0;
	CHECK(ms_symbols_embed("none.trace", NULL, NULL, &err) == -1 && err.text[0]);
	err.text[0] = 0;
	CHECK(ms_symbols_embed("/dev/null", NULL, NULL, &err) == -1 && err.text[0]);
}

/* A file that may not grow further is left as it was. */
static void test_embed_full(void)
{
	static struct answers a;
	struct ms_err err = {0};
	struct rlimit old, limit;
	off_t before = write_trace(true);
	getrlimit(RLIMIT_FSIZE, &old);
	limit = old;
	limit.rlim_cur = (rlim_t)before + 100;
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	int rc = ms_symbols_embed(trace, NULL, NULL, &err);
	setrlimit(RLIMIT_FSIZE, &old);
	CHECK(rc == -1 && strstr(err.text, "cannot append"));
	CHECK(trace_size() == before);
	read_back(&a);
	CHECK(a.blocks == 0 && a.ends == 1);
}

/* ---- damage ---- */

static uint64_t random_number(uint64_t *state)
{
	*state += UINT64_C(0x9e3779b97f4a7c15);
	uint64_t z = *state;
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	return z ^ z >> 27;
}

/* Our own ELF reader on copies of this program with bytes changed in headers, notes and symbol
 * tables: it may find less, but must stay inside the file (the sanitizers watch). */
static void test_damaged_elf(void)
{
	struct ms_elf *whole = ms_elf_open(exe);
	uint64_t seed = 1;
	CHECK(whole && ms_elf_symbols(whole) > 100 && whole->build_id_size == 20);
	if (!whole)
		return;
	size_t size = whole->size < 1 << 17 ? whole->size : 1 << 17;
	for (int round = 0; round < 60; round++) {
		int fd = open("damaged", O_RDWR | O_CREAT | O_TRUNC, 0600);
		CHECK(write(fd, whole->map, whole->size) == (ssize_t)whole->size);
		for (int i = 0; i < 1 << (round % 8); i++) {
			uint64_t tail = (uint64_t)whole->section_count * 64;
			uint64_t r = random_number(&seed), at = r % 3 ? r % size : r % 64;
			uint8_t byte = (uint8_t)(r >> 56);
			if (r % 5 == 0)
				at = whole->size - 1 - r % tail;
			CHECK(pwrite(fd, &byte, 1, (off_t)at) == 1);
		}
		if (round % 10 == 9)
			CHECK(ftruncate(fd, (off_t)(random_number(&seed) % whole->size)) == 0);
		close(fd);
		struct ms_elf *e = ms_elf_open("damaged");
		for (uint64_t a = 0; e && a < 1 << 16; a += 97)
			ms_elf_symbol(e, a);
		for (unsigned i = 0; e && i < e->section_count; i++)
			ms_elf_data(&e->sections[i]);
		ms_elf_close(e);
	}
	ms_elf_close(whole);
}

int main(void)
{
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
	CHECK(n > 0);
	dl_iterate_phdr(first_object, NULL);
	test_self();
	test_states();
	test_demangle();
	test_demangle_hostile();
	test_embed();
	test_embed_many();
	test_embed_refused();
	test_embed_full();
	test_damaged_elf();
	return failures != 0;
}
