/* SPDX-License-Identifier: MIT
 * Trace files: whole, cut at every byte, every byte flipped, pieces missing, and growing under a
 * reader.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/record.h"
#include "format/trace.h"
#include "libcommon/base/err.h"
#include "libcommon/trace/tracefile.h"

#define BLOCKS 9u

static unsigned failures;

static void fail(int line, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	printf("line %d: ", line);
	vprintf(fmt, ap);
	putchar('\n');
	va_end(ap);
	if (++failures > 20)
		exit(1);
}
#define CHECK(cond, ...) ((cond) ? (void)0 : fail(__LINE__, __VA_ARGS__))

static const struct ms_trace_head head = {
	.major = 1, .machine = 62, .address_bytes = 8, .tick_ns = 100000};
static uint8_t content[4096];
static uint64_t starts[BLOCKS + 1]; /* where each block of the whole file begins; its size last */

static int memory_file(const void *data, size_t n)
{
	int fd = memfd_create("trace", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || write(fd, data, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET) != 0)
		abort();
	return fd;
}

/* Block `i`: two columns, one that compresses and one that does not; block 7 has no column. */
static int put(struct ms_trace_writer *w, unsigned i)
{
	static uint8_t text[80 * BLOCKS], small[5];
	struct ms_err err = {0};
	memset(text, (int)i, sizeof text);
	memset(small, (int)(0xf0 + i), sizeof small);
	struct ms_column c[] = {{1, text, i == 0 ? 0 : 80 * i}, {5, small, sizeof small}};
	uint16_t type = i == BLOCKS - 1 ? MS_BLOCK_END : i == 3 ? 777 : MS_BLOCK_MARKS;
	return ms_trace_write(w, type, i, i + 1, c, i == 7 ? 0 : 2, &err);
}

static size_t write_whole(void)
{
	struct ms_err err = {0};
	int fd = memory_file("", 0);
	struct ms_trace_writer *w = ms_trace_writer_new(fd, &head, 3, &err);
	CHECK(w, "%s", err.text);
	for (unsigned i = 0; i < BLOCKS; i++) {
		starts[i] = ms_trace_writer_bytes(w);
		CHECK(put(w, i) == 0, "write");
	}
	starts[BLOCKS] = ms_trace_writer_bytes(w);
	ms_trace_writer_free(w);
	ssize_t n = pread(fd, content, sizeof content, 0);
	CHECK((uint64_t)n == starts[BLOCKS], "size %zd", n);
	close(fd);
	return (size_t)n;
}

static bool is_block(const struct ms_block *b, unsigned i)
{
	if (b->number != i || b->first_ns != i || b->last_ns != i + 1 || b->offset != starts[i] ||
	    b->offset + b->bytes != starts[i + 1])
		return false;
	if (i == 7)
		return b->column_count == 0;
	const struct ms_column *text = ms_block_column(b, 1), *small = ms_block_column(b, 5);
	if (!text || !small || ms_block_column(b, 2) || text->size != 80 * i || small->size != 5)
		return false;
	for (size_t k = 0; k < text->size; k++)
		if (text->data[k] != i)
			return false;
	return small->data[0] == 0xf0 + i;
}

/* Holds what a reading found. */
struct seen {
	unsigned blocks;        /* bit per block read right */
	unsigned wrong, damage; /* counts */
	uint64_t damaged;       /* bytes */
	enum ms_trace_state state;
	bool opened;
};

static struct seen read_all(const void *data, size_t n)
{
	struct seen s = {0};
	struct ms_err err = {0};
	struct ms_block b;
	enum ms_trace_next r;
	int fd = memory_file(data, n);
	struct ms_trace *t = ms_trace_open_fd(fd, "test", NULL, 0, &err);
	if (!t) {
		CHECK(err.text[0], "no message");
		close(fd);
		return s;
	}
	s.opened = true;
	while ((r = ms_trace_next(t, 0, 0, &b, &err)) != MS_NEXT_EOF && r != MS_NEXT_ERROR &&
	       s.damage < 1000) {
		bool good = r == MS_NEXT_BLOCK && b.number < BLOCKS && b.first_ns == b.number;
		if (r == MS_NEXT_DAMAGED)
			s.damage++;
		else if (good && !(s.blocks >> b.number & 1))
			s.blocks |= 1u << b.number;
		else
			s.wrong++;
	}
	CHECK(r == MS_NEXT_EOF, "%s", err.text);
	s.damaged = ms_trace_damaged_bytes(t, NULL);
	s.state = ms_trace_state(t);
	ms_trace_close(t);
	return s;
}

static void whole(size_t n)
{
	struct ms_err err = {0};
	struct ms_block b;
	struct ms_trace *t = ms_trace_open_fd(memory_file(content, n), "test", NULL, 0, &err);
	for (unsigned i = 0; i < BLOCKS; i++)
		CHECK(ms_trace_next(t, 0, 0, &b, &err) == MS_NEXT_BLOCK && is_block(&b, i),
		      "block %u", i);
	CHECK(ms_trace_next(t, 0, 0, &b, &err) == MS_NEXT_EOF, "no end");
	CHECK(ms_trace_state(t) == MS_TRACE_ENDED, "state");
	CHECK(ms_trace_blocks(t) == BLOCKS && ms_trace_offset(t) == n, "counts");
	ms_trace_close(t);
}

/* Only wanted types and columns come out, also when the beginning was read by somebody else. */
static void selection(size_t n)
{
	struct ms_err err = {0};
	struct ms_block b;
	int fd = memory_file(content, n);
	CHECK(lseek(fd, 100, SEEK_SET) == 100, "seek");
	struct ms_trace *t = ms_trace_open_fd(fd, "test", content, 100, &err);
	enum ms_trace_next r =
		ms_trace_next(t, UINT64_C(1) << MS_BLOCK_END, UINT64_C(1) << 5, &b, &err);
	CHECK(r == MS_NEXT_BLOCK && b.number == BLOCKS - 1, "end block");
	CHECK(b.column_count == 1 && b.columns[0].id == 5 &&
		      b.columns[0].data[4] == 0xf0 + BLOCKS - 1,
	      "column 5");
	CHECK(ms_trace_next(t, UINT64_C(1) << MS_BLOCK_END, 0, &b, &err) == MS_NEXT_EOF, "end");
	ms_trace_close(t);
}

/* Every prefix gives exactly the blocks that are whole in it. */
static void prefixes(size_t n)
{
	for (size_t k = 0; k < n; k++) {
		struct seen s = read_all(content, k);
		unsigned want = 0;
		for (unsigned i = 0; i < BLOCKS; i++)
			want |= (starts[i + 1] <= k) << i;
		CHECK(s.opened == (k >= MS_FILE_HEADER_SIZE), "prefix %zu opens", k);
		CHECK(!s.opened || (s.blocks == want && !s.wrong && !s.damage &&
				    s.state == MS_TRACE_NO_END),
		      "prefix %zu: blocks %x of %x, %u damaged, state %d", k, s.blocks, want,
		      s.damage, s.state);
	}
}

/* Every flipped bit costs its block, is reported, and nothing else is lost. In the file header it
 * is refused. */
static void flips(size_t n)
{
	uint8_t copy[sizeof content];
	memcpy(copy, content, n);
	for (size_t k = 0; k < n * 8; k++) {
		copy[k / 8] ^= 1u << k % 8;
		struct seen s = read_all(copy, n);
		unsigned hit = 0;
		while (hit < BLOCKS && k / 8 >= starts[hit + 1])
			hit++;
		unsigned all = (1u << BLOCKS) - 1;
		if (k / 8 < MS_FILE_HEADER_SIZE)
			CHECK(!s.opened, "bit %zu: opened", k);
		else
			CHECK(s.blocks == (all & ~(1u << hit)) && !s.wrong && s.damage == 1 &&
				      s.damaged == starts[hit + 1] - starts[hit] &&
				      s.state == (hit == BLOCKS - 1 ? MS_TRACE_NO_END
								    : MS_TRACE_ENDED),
			      "bit %zu of block %u: blocks %x wrong %u damage %u bytes %llu state "
			      "%d",
			      k, hit, s.blocks, s.wrong, s.damage, (unsigned long long)s.damaged,
			      s.state);
		copy[k / 8] ^= 1u << k % 8;
	}
}

/* Bytes missing, added or replaced anywhere: the blocks that are whole come out, no wrong one does.
 */
static void edits(size_t n)
{
	uint8_t copy[2 * sizeof content];
	for (size_t from = MS_FILE_HEADER_SIZE; from + 7 < n; from += 5) {
		memcpy(copy, content, from);
		memcpy(copy + from, content + from + 7, n - from - 7);
		struct seen s = read_all(copy, n - 7);
		unsigned kept = 0;
		for (unsigned i = 0; i < BLOCKS; i++)
			kept |= (starts[i + 1] <= from || starts[i] >= from + 7) << i;
		CHECK((s.blocks & kept) == kept && !s.wrong &&
			      s.damage >= (from + 7 < starts[BLOCKS - 1]),
		      "7 bytes cut at %zu: %x of %x, damage %u", from, s.blocks, kept, s.damage);
		memcpy(copy, content, from);
		memset(copy + from, 0xb5, 60);
		memcpy(copy + from + 60, content + from, n - from);
		s = read_all(copy, n + 60);
		for (unsigned i = 0; i < BLOCKS; i++)
			CHECK((s.blocks >> i & 1) || (from > starts[i] && from < starts[i + 1]),
			      "added at %zu: %u", from, i);
		CHECK(!s.wrong && s.damage == 1, "added at %zu: damage %u", from, s.damage);
	}
	/* A block left out altogether, and one that comes twice. */
	memcpy(copy, content, starts[2]);
	memcpy(copy + starts[2], content + starts[3], n - starts[3]);
	struct seen s = read_all(copy, n - (starts[3] - starts[2]));
	CHECK(s.blocks == (((1u << BLOCKS) - 1) & ~4u) && s.damage == 1 && s.damaged == 0,
	      "block left out");
	memcpy(copy, content, starts[3]);
	memcpy(copy + starts[3], content + starts[2], n - starts[2]);
	s = read_all(copy, n + (starts[3] - starts[2]));
	CHECK(s.blocks == (1u << BLOCKS) - 1 && s.damage == 1 && s.damaged == starts[3] - starts[2],
	      "block twice");
	/* Something after the end block. */
	memcpy(copy, content, n);
	memcpy(copy + n, "trailing", 8);
	s = read_all(copy, n + 8);
	CHECK(s.damaged == 8 && s.state == MS_TRACE_NO_END, "trailing bytes");
}

/* A reader follows a writer byte by byte: each block comes out once, when its last byte is there.
 */
static void growing(size_t n)
{
	char path[] = "growing.trace";
	struct ms_err err = {0};
	struct ms_block b;
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && ms_trace_lock(fd) == 0, "lock");
	CHECK(write(fd, content, 60) == 60, "write");
	struct ms_trace *t = ms_trace_open(path, &err);
	unsigned next = 0;
	for (size_t k = 60; k < n; k++) {
		enum ms_trace_next r = ms_trace_next(t, 0, 0, &b, &err);
		CHECK(r == MS_NEXT_EOF && ms_trace_state(t) == MS_TRACE_GROWING, "at %zu: %d, %s",
		      k, r, err.text);
		CHECK(write(fd, content + k, 1) == 1, "write");
		if (k + 1 == starts[next + 1])
			CHECK(ms_trace_next(t, 0, 0, &b, &err) == MS_NEXT_BLOCK &&
				      is_block(&b, next),
			      "block %u", next),
				next++;
	}
	CHECK(next == BLOCKS, "%u blocks", next);
	CHECK(ms_trace_next(t, 0, 0, &b, &err) == MS_NEXT_EOF &&
		      ms_trace_state(t) == MS_TRACE_ENDED,
	      "ended");
	ms_trace_close(t);
	/* The writer dies in the middle of a block: no lock, cut, nothing damaged. */
	CHECK(ftruncate(fd, (off_t)starts[4] + 50) == 0, "truncate");
	t = ms_trace_open(path, &err);
	for (unsigned i = 0; i < 4; i++)
		CHECK(ms_trace_next(t, 0, 0, &b, &err) == MS_NEXT_BLOCK, "block %u", i);
	CHECK(ms_trace_next(t, 0, 0, &b, &err) == MS_NEXT_EOF &&
		      ms_trace_state(t) == MS_TRACE_GROWING,
	      "held");
	close(fd);
	CHECK(ms_trace_next(t, 0, 0, &b, &err) == MS_NEXT_EOF &&
		      ms_trace_state(t) == MS_TRACE_NO_END,
	      "let go");
	CHECK(ms_trace_damaged_bytes(t, NULL) == 0, "damage");
	ms_trace_close(t);
	unlink(path);
}

/* On a full disk the block is cut off again and a smaller one may follow; a reader that saw part of
 * it goes on. */
static void disk_full(void)
{
	struct ms_err err = {0};
	struct ms_block b;
	char path[] = "full.trace";
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CHECK(ms_trace_lock(fd) == 0, "lock");
	struct ms_trace_writer *w = ms_trace_writer_new(fd, &head, 3, &err);
	CHECK(put(w, 0) == 0, "block 0");
	CHECK(write(fd, content + starts[4], 60) == 60, "part of a block");
	struct ms_trace *t = ms_trace_open(path, &err);
	CHECK(ms_trace_next(t, 0, 0, &b, &err) == MS_NEXT_BLOCK, "block 0");
	CHECK(ms_trace_next(t, 0, 0, &b, &err) == MS_NEXT_EOF, "part");
	CHECK(ftruncate(fd, (off_t)starts[1]) == 0 && lseek(fd, 0, SEEK_END) > 0, "cut back");
	CHECK(ms_trace_next(t, 0, 0, &b, &err) == MS_NEXT_EOF, "cut back");
	CHECK(put(w, 1) == 0, "block 1");
	CHECK(ms_trace_next(t, 0, 0, &b, &err) == MS_NEXT_BLOCK && is_block(&b, 1),
	      "block 1 after the cut");
	ms_trace_close(t);
	ms_trace_writer_free(w);
	close(fd);
	unlink(path);
	int out = open("/dev/full", O_WRONLY | O_CLOEXEC);
	CHECK(!ms_trace_writer_new(out, &head, 3, &err) && strstr(err.text, "No space"),
	      "/dev/full: %s", err.text);
	close(out);
}

/* A size limit that a block does not fit: it fails as a whole, and the end block still goes in. */
static void limited_child(void)
{
	struct ms_err err = {0}, none = {0};
	static uint8_t noise[20000];
	uint64_t x = 1;
	for (size_t i = 0; i < sizeof noise; i++)
		noise[i] = (uint8_t)((x = x * 6364136223846793005u + 1442695040888963407u) >> 56);
	int fd = memory_file("", 0);
	struct ms_trace_writer *w = ms_trace_writer_new(fd, &head, 3, &err);
	CHECK(put(w, 0) == 0, "block 0");
	off_t before = lseek(fd, 0, SEEK_END);
	CHECK(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW) == 0, "seal");
	struct ms_column big = {1, noise, sizeof noise};
	CHECK(ms_trace_write(w, MS_BLOCK_MARKS, 1, 2, &big, 1, &err) == -1 && err.text[0],
	      "wrote past the limit");
	CHECK(lseek(fd, 0, SEEK_END) == before && ms_trace_writer_bytes(w) == (uint64_t)before,
	      "not cut back");
	CHECK(ms_trace_write(w, MS_BLOCK_MARKS, 1, 2, &big, 1, &none) == -1, "still no room");
	ms_trace_writer_free(w);
	close(fd);
}

/* Checks that what no block may hold is refused before a byte is written, and the limit is read. */
static void block_limits(void)
{
	struct ms_err err = {0};
	struct ms_block b;
	static uint8_t byte;
	struct ms_column c[MS_BLOCK_COLUMNS_MAX + 1];
	uint8_t *most = calloc(MS_BLOCK_RAW_MAX + 1, 1);
	for (unsigned i = 0; i <= MS_BLOCK_COLUMNS_MAX; i++)
		c[i] = (struct ms_column){i + 1, &byte, 1};
	int fd = memory_file("", 0);
	struct ms_trace_writer *w = ms_trace_writer_new(fd, &head, 1, &err);
	CHECK(ms_trace_write(w, 9, 0, 0, c, MS_BLOCK_COLUMNS_MAX + 1, &err) < 0, "columns");
	c[0] = (struct ms_column){1, most, MS_BLOCK_RAW_MAX + 1};
	CHECK(ms_trace_write(w, 9, 0, 0, c, 1, &err) < 0, "a column");
	c[0].size--;
	CHECK(ms_trace_write(w, 9, 0, 0, c, 2, &err) < 0, "two columns");
	CHECK(ms_trace_writer_bytes(w) == MS_FILE_HEADER_SIZE && ms_trace_writer_next(w) == 0,
	      "something was written");
	CHECK(ms_trace_write(w, 9, 0, 0, c, 1, &err) == 0, "%s", err.text);
	c[0].size = 1;
	CHECK(ms_trace_write(w, 9, 0, 0, c, MS_BLOCK_COLUMNS_MAX, &err) == 0, "%s", err.text);
	ms_trace_writer_free(w);
	CHECK(lseek(fd, 0, SEEK_SET) == 0, "seek");
	struct ms_trace *t = ms_trace_open_fd(fd, "limits", NULL, 0, &err);
	CHECK(ms_trace_next(t, 0, 1, &b, &err) == MS_NEXT_BLOCK && b.column_count == 1 &&
		      b.columns[0].size == MS_BLOCK_RAW_MAX,
	      "the largest column");
	CHECK(ms_trace_next(t, 0, 1, &b, &err) == MS_NEXT_BLOCK &&
		      b.column_count == MS_BLOCK_COLUMNS_MAX,
	      "the most columns");
	ms_trace_close(t);
	free(most);
}

/* After a write that failed half-way where nothing can be taken back, none follows. */
static void broken(void)
{
	struct ms_err err = {0};
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct ms_trace_writer *w = ms_trace_writer_append(fd, 0, 3, &err);
	CHECK(put(w, 0) < 0 && put(w, 0) < 0, "written");
	CHECK(ms_trace_write(w, 9, 0, 0, NULL, 0, &err) < 0 && strstr(err.text, "an earlier write"),
	      "'%s'", err.text);
	ms_trace_writer_free(w);
	close(fd);
}

/* A piece is missing from a block that is larger than all that follows: its end would be beyond the
 * file's, and yet the blocks behind it come out. */
static void hole(void)
{
	static uint8_t noise[20000], bytes[30000];
	struct ms_err err = {0};
	struct ms_block b;
	uint64_t x = 1, at[4];
	for (size_t i = 0; i < sizeof noise; i++)
		noise[i] = (uint8_t)((x = x * 6364136223846793005u + 1442695040888963407u) >> 56);
	const struct ms_column big = {1, noise, sizeof noise}, small = {1, noise, 5};
	int fd = memory_file("", 0);
	struct ms_trace_writer *w = ms_trace_writer_new(fd, &head, 3, &err);
	for (unsigned i = 0; i < 3; i++) {
		at[i] = ms_trace_writer_bytes(w);
		CHECK(ms_trace_write(w, i == 2 ? MS_BLOCK_END : 9, 0, 0, i ? &small : &big, 1,
				     &err) == 0,
		      "%s", err.text);
	}
	at[3] = ms_trace_writer_bytes(w);
	ms_trace_writer_free(w);
	CHECK(pread(fd, bytes, sizeof bytes, 0) == (ssize_t)at[3], "read");
	close(fd);
	const size_t gone = 15000, from = at[0] + 1000;
	memmove(bytes + from, bytes + from + gone, at[3] - from - gone);
	struct ms_trace *t =
		ms_trace_open_fd(memory_file(bytes, at[3] - gone), "hole", NULL, 0, &err);
	CHECK(ms_trace_next(t, 0, 0, &b, &err) == MS_NEXT_DAMAGED && b.offset == at[0] &&
		      b.bytes == at[1] - at[0] - gone,
	      "%llu bytes", (unsigned long long)b.bytes);
	for (unsigned i = 1; i < 3; i++)
		CHECK(ms_trace_next(t, 0, 0, &b, &err) == MS_NEXT_BLOCK && b.number == i,
		      "block %u", i);
	CHECK(ms_trace_next(t, 0, 0, &b, &err) == MS_NEXT_EOF &&
		      ms_trace_state(t) == MS_TRACE_ENDED,
	      "the end");
	ms_trace_close(t);
}

static void pipes(size_t n)
{
	struct ms_err err = {0};
	struct ms_block b;
	int fd[2];
	CHECK(pipe(fd) == 0, "pipe");
	CHECK(ms_trace_lock(fd[1]) == 0, "lock on a pipe");
	struct ms_trace_writer *w = ms_trace_writer_new(fd[1], &head, 3, &err);
	for (unsigned i = 0; i < BLOCKS; i++)
		CHECK(put(w, i) == 0, "write");
	ms_trace_writer_free(w);
	close(fd[1]);
	struct ms_trace *t = ms_trace_open_fd(fd[0], "pipe", NULL, 0, &err);
	for (unsigned i = 0; i < BLOCKS; i++)
		CHECK(ms_trace_next(t, 0, 0, &b, &err) == MS_NEXT_BLOCK && is_block(&b, i),
		      "block %u", i);
	CHECK(ms_trace_next(t, 0, 0, &b, &err) == MS_NEXT_EOF &&
		      ms_trace_state(t) == MS_TRACE_ENDED,
	      "end");
	CHECK(ms_trace_offset(t) == n, "offset");
	ms_trace_close(t);
}

/* Blocks appended after the end block: the last end block counts. */
static void appended(size_t n)
{
	struct ms_err err = {0};
	struct ms_block b;
	int fd = memory_file(content, n);
	CHECK(lseek(fd, 0, SEEK_END) == (off_t)n, "seek");
	struct ms_trace_writer *w = ms_trace_writer_append(fd, BLOCKS, 3, &err);
	CHECK(put(w, 1) == 0, "symbols");
	CHECK(lseek(fd, 0, SEEK_SET) == 0, "seek");
	struct ms_trace *t = ms_trace_open_fd(dup(fd), "test", NULL, 0, &err);
	for (unsigned i = 0; i <= BLOCKS; i++)
		CHECK(ms_trace_next(t, 0, 0, &b, &err) == MS_NEXT_BLOCK && b.number == i,
		      "block %u", i);
	CHECK(ms_trace_next(t, 0, 0, &b, &err) == MS_NEXT_EOF &&
		      ms_trace_state(t) == MS_TRACE_ENDED,
	      "not closed: only the appending was cut short");
	ms_trace_close(t);
	off_t size = lseek(fd, 0, SEEK_END);
	for (off_t cut = size - 1; cut >= (off_t)n; cut--) {
		int part = dup(fd);
		unsigned blocks = 0;
		CHECK(ftruncate(fd, cut) == 0 && lseek(fd, 0, SEEK_SET) == 0, "cut");
		t = ms_trace_open_fd(part, "test", NULL, 0, &err);
		while (ms_trace_next(t, 0, 0, &b, &err) == MS_NEXT_BLOCK)
			blocks++;
		CHECK(blocks == BLOCKS && ms_trace_state(t) == MS_TRACE_ENDED &&
			      !ms_trace_damaged_bytes(t, NULL),
		      "an appended block cut at %lld", (long long)cut);
		ms_trace_close(t);
	}
	ms_trace_writer_free(w);
	CHECK(ftruncate(fd, (off_t)n) == 0 && lseek(fd, 0, SEEK_END) == (off_t)n, "cut off");
	w = ms_trace_writer_append(fd, BLOCKS, 3, &err);
	CHECK(put(w, 1) == 0, "symbols");
	CHECK(lseek(fd, 0, SEEK_END) > 0 && put(w, BLOCKS - 1) == 0, "end");
	CHECK(lseek(fd, 0, SEEK_SET) == 0, "seek");
	t = ms_trace_open_fd(fd, "test", NULL, 0, &err);
	while (ms_trace_next(t, UINT64_C(1) << MS_BLOCK_END, 0, &b, &err) == MS_NEXT_BLOCK)
		CHECK(b.number == BLOCKS - 1 || b.number == BLOCKS + 1, "end block %u", b.number);
	CHECK(ms_trace_state(t) == MS_TRACE_ENDED, "closed again");
	ms_trace_close(t);
	ms_trace_writer_free(w);
}

static void put32(uint8_t *p, uint32_t v)
{
	for (unsigned i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

/* A later version: a longer file header, and a column stored in a way that is not known, which is
 * as if it were not there. */
static void later_version(size_t n)
{
	uint8_t copy[sizeof content + 16];
	struct ms_err err = {0};
	struct ms_block b;
	memcpy(copy, content, 44);
	memset(copy + 44, 0xaa, 16);
	memcpy(copy + 64, content + 48, n - 48);
	put32(copy + 12, 64);
	put32(copy + 60, ms_crc32c(0, copy, 60));
	uint8_t *h = copy + starts[2] + 16;
	uint32_t payload = (uint32_t)(starts[3] - starts[2]) - MS_BLOCK_HEADER_SIZE;
	h[MS_BLOCK_HEADER_SIZE + MS_COLUMN_ENTRY_SIZE + 2] = 9;
	put32(h + 40, ms_crc32c(0, h + MS_BLOCK_HEADER_SIZE, payload));
	put32(h + 44, ms_crc32c(0, h, 44));
	struct ms_trace *t = ms_trace_open_fd(memory_file(copy, n + 16), "test", NULL, 0, &err);
	for (unsigned i = 0; i < BLOCKS; i++) {
		CHECK(ms_trace_next(t, 0, 0, &b, &err) == MS_NEXT_BLOCK && b.number == i,
		      "block %u", i);
		CHECK(i != 2 || (b.column_count == 1 && b.columns[0].id == 1),
		      "column of an unknown codec");
	}
	CHECK(ms_trace_next(t, 0, 0, &b, &err) == MS_NEXT_EOF &&
		      ms_trace_state(t) == MS_TRACE_ENDED,
	      "end");
	ms_trace_close(t);
}

/* Headers that are whole but not for us, and what the message says. */
/* The size of a file with two equal columns of words, of which those in `columns` get level 12. */
static uint64_t with_effort(uint64_t columns)
{
	static uint8_t words[65536];
	struct ms_err err = {0};
	struct ms_block b;
	uint64_t x = 1;
	for (size_t i = 0; i < sizeof words; i++) {
		x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
		words[i] =
			i < 64 || x >> 60 == 0 ? (uint8_t)(x >> 40) & 15 : words[i - 1 - (x >> 58)];
	}
	struct ms_column c[] = {{1, words, sizeof words}, {2, words, sizeof words}};
	int fd = memory_file("", 0);
	struct ms_trace_writer *w = ms_trace_writer_new(fd, &head, 1, &err);
	ms_trace_writer_effort(w, 12, columns);
	CHECK(ms_trace_write(w, MS_BLOCK_EVENTS, 0, 1, c, 2, &err) == 0, "%s", err.text);
	uint64_t bytes = ms_trace_writer_bytes(w);
	ms_trace_writer_free(w);
	lseek(fd, 0, SEEK_SET);
	struct ms_trace *t = ms_trace_open_fd(fd, "effort", NULL, 0, &err);
	CHECK(t && ms_trace_next(t, 0, 1, &b, &err) == MS_NEXT_BLOCK, "%s", err.text);
	for (size_t i = 0; i < 2; i++)
		CHECK(b.columns[i].size == sizeof words &&
			      !memcmp(b.columns[i].data, words, sizeof words),
		      "column %zu", i);
	ms_trace_close(t);
	return bytes;
}

/* Each column that is asked for is smaller, and no other. */
static void effort(void)
{
	uint64_t none = with_effort(0), one = with_effort(1 << 2),
		 both = with_effort(1 << 1 | 1 << 2);
	CHECK(one < none, "%llu bytes, %llu with effort", (unsigned long long)none,
	      (unsigned long long)one);
	CHECK(none - one == one - both, "columns of one content differ");
}

static void refused(size_t n)
{
	static const struct {
		struct ms_trace_head h;
		const char *says;
	} cases[] = {
		{{.major = 2, .address_bytes = 8, .tick_ns = 1},
		 "made by a newer MemScope (trace version 2.0, this one reads 1.x)"},
		{{.major = 1, .need = 4, .address_bytes = 8, .tick_ns = 1},
		 "newer MemScope (feature bits 0x4)"},
		{{.major = 1, .address_bytes = 4, .tick_ns = 1}, "not 64-bit"},
		{{.major = 1, .address_bytes = 8}, "damaged file header"},
		{{.major = 1, .minor = 9, .hint = ~UINT64_C(0), .address_bytes = 8, .tick_ns = 1},
		 NULL},
	};
	uint8_t copy[sizeof content];
	memcpy(copy, content, n);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct ms_err err = {0};
		ms_file_header_put(copy, &cases[i].h);
		int fd = memory_file(copy, n);
		struct ms_trace *t = ms_trace_open_fd(fd, "test", NULL, 0, &err);
		CHECK(cases[i].says ? !t && strstr(err.text, cases[i].says) : t != NULL,
		      "case %zu: '%s'", i, err.text);
		t ? ms_trace_close(t) : (void)close(fd);
	}
	static const struct {
		const char *bytes, *says;
	} texts[] = {{"", "empty file"},
		     {"hello", "not a MemScope trace"},
		     {MS_TRACE_MAGIC, "cut off inside"}};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct ms_err err = {0};
		int fd = memory_file(texts[i].bytes, strlen(texts[i].bytes));
		CHECK(!ms_trace_open_fd(fd, "x", NULL, 0, &err) && strstr(err.text, texts[i].says),
		      "'%s'", err.text);
		close(fd);
	}
	struct ms_err err = {0};
	CHECK(!ms_trace_open("/", &err) && strstr(err.text, "directory"), "'%s'", err.text);
	err.text[0] = 0;
	CHECK(!ms_trace_open("/nowhere", &err) && strstr(err.text, "cannot open '/nowhere'"),
	      "'%s'", err.text);
}

int main(void)
{
	CHECK(ms_crc32c(0, "123456789", 9) == 0xe3069283, "the CRC's check value");
	CHECK(ms_crc32c(ms_crc32c(0, "12345", 5), "6789", 4) == 0xe3069283, "a CRC in two parts");
	size_t n = write_whole();
	whole(n);
	selection(n);
	prefixes(n);
	flips(n);
	edits(n);
	growing(n);
	disk_full();
	limited_child();
	block_limits();
	broken();
	hole();
	pipes(n);
	appended(n);
	later_version(n);
	refused(n);
	effort();
	return failures != 0;
}
