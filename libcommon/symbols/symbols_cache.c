/* SPDX-License-Identifier: MIT
 * The cache of symbols: reads, checks and writes the file of one module.
 *
 *   head | files | chains, by address | places | strings
 *
 * Numbers are in this machine's byte order. Offsets of strings count from the start of the strings;
 * the first string is empty and means none.
 */
#include "symbols_cache.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/block.h"
#include "libcommon/base/clock.h"
#include "libcommon/base/err.h"
#include "libcommon/base/io.h"
#include "libcommon/base/lookup.h"
#include "libcommon/base/order.h"

#define MAGIC UINT64_C(0x31636d79734d534d)
/* Minimum age of a file's last change, in ns. A file changed more recently may change again without
 * getting a new time. */
#define SETTLED_NS UINT64_C(50000000)
#define USED_NS UINT64_C(3600000000000) /* precision of the time of last use, in ns */
enum { FILE_MAX = 32 << 20, FILES_MAX = 1 << 16 };

struct head {
	uint64_t magic;
	uint32_t checksum; /* CRC of all bytes after it */
	uint32_t files, chains, places, strings;
	uint32_t key, source, state;
};
enum { SUMMED_FROM = offsetof(struct head, files) };

struct file_row {
	struct ms_cached_identity is;
	uint32_t path, real;
};

struct chain_row {
	uint64_t address;
	uint32_t first, n; /* range in the table of places (logical frames) */
};

struct place_row {
	uint32_t function, file, line, column;
};

/* ---- what a file is ---- */

static struct ms_cached_file identity(const char *path, const struct stat *st, struct ms_arena *a)
{
	struct ms_cached_file f = {.path = path, .real = ""};
	if (!st)
		return f;
	char *real = realpath(path, NULL);
	f.real = real ? ms_arena_strdup(a, real) : "";
	free(real);
	f.is = (struct ms_cached_identity){.dev = st->st_dev,
					   .ino = st->st_ino,
					   .size = (uint64_t)st->st_size,
					   .mtime_ns = ms_ns_of(st->st_mtim),
					   .ctime_ns = ms_ns_of(st->st_ctim)};
	return f;
}

static bool same_file(const struct ms_cached_file *x, const struct ms_cached_file *y)
{
	return memcmp(&x->is, &y->is, sizeof x->is) == 0 && strcmp(x->real, y->real) == 0;
}

/* Tells whether the files that the results depend on are all unchanged. */
static bool files_hold(const struct ms_cached *c, struct ms_arena *a)
{
	for (size_t i = 0; i < c->files.n; i++) {
		struct stat st;
		const struct ms_cached_file *then = &c->files.v[i],
					    is = identity(then->path,
							  stat(then->path, &st) == 0 ? &st : NULL,
							  a);
		if (!same_file(then, &is))
			return false;
	}
	return true;
}

void ms_cached_saw(struct ms_cached *c, const char *path, const struct stat *st, bool sure,
		   struct ms_arena *a)
{
	struct ms_cached_file f = identity(ms_arena_strdup(a, path), st, a);
	if (c->files.n < FILES_MAX)
		*MS_PUSH(&c->files) = f;
	c->unsure |= !sure || f.is.ctime_ns + SETTLED_NS > ms_clock_ns(CLOCK_REALTIME);
}

/* ---- reading ---- */

/* Locates the tables in a file that was read; `strings` ends with a NUL. */
struct tables {
	const struct head *head;
	const struct file_row *files;
	const struct chain_row *chains;
	const struct place_row *places;
	const char *strings;
};

static const char *text_at(const struct tables *t, uint32_t at)
{
	return t->strings + (at < t->head->strings ? at : 0);
}

static const char *name_at(const struct tables *t, uint32_t at)
{
	const char *s = text_at(t, at);
	return *s ? s : NULL;
}

static void take_files(struct ms_cached *c, const struct tables *t)
{
	for (uint32_t i = 0; i < t->head->files; i++) {
		const struct file_row *r = &t->files[i];
		*MS_PUSH(&c->files) =
			(struct ms_cached_file){text_at(t, r->path), text_at(t, r->real), r->is};
	}
}

/* Reads the chains. Returns false if they are not sorted, or refer to places that do not exist. */
static bool take_chains(struct ms_cached *c, const struct tables *t, struct ms_location *places)
{
	for (uint32_t i = 0; i < t->head->places; i++) {
		const struct place_row *r = &t->places[i];
		places[i] = (struct ms_location){name_at(t, r->function), name_at(t, r->file),
						 r->line, r->column, true};
	}
	for (uint32_t i = 0; i < t->head->chains; i++) {
		const struct chain_row *r = &t->chains[i];
		if (!r->n || r->n > t->head->places || r->first > t->head->places - r->n ||
		    (i && r->address <= r[-1].address))
			return false;
		places[r->first + r->n - 1].inlined = false;
		*MS_PUSH(&c->chains) =
			(struct ms_cached_chain){r->address, r->n, places + r->first};
	}
	c->sorted = c->chains.n;
	return true;
}

bool ms_cached_parse(struct ms_cached *c, const void *data, size_t n, struct ms_arena *a)
{
	if (n < sizeof(struct head) || n > FILE_MAX)
		return false;
	const struct head *h = memcpy(ms_arena_alloc(a, n), data, n);
	uint64_t rows = (uint64_t)h->files * sizeof(struct file_row) +
			(uint64_t)h->chains * sizeof(struct chain_row) +
			(uint64_t)h->places * sizeof(struct place_row);
	if (h->magic != MAGIC || rows + h->strings != n - sizeof *h || !h->strings ||
	    h->checksum != ms_crc32c(0, (const uint8_t *)data + SUMMED_FROM, n - SUMMED_FROM))
		return false;
	struct tables t = {.head = h, .files = (const void *)(h + 1)};
	t.chains = (const void *)(t.files + h->files);
	t.places = (const void *)(t.chains + h->chains);
	t.strings = (const void *)(t.places + h->places);
	if (t.strings[0] || t.strings[h->strings - 1] || strcmp(text_at(&t, h->key), c->key) != 0)
		return false;
	c->source = text_at(&t, h->source);
	c->state = (int)h->state;
	take_files(c, &t);
	return take_chains(c, &t, ms_arena_alloc(a, h->places * sizeof(struct ms_location)));
}

/* Reads a whole file, which must belong to us. Returns malloc'ed memory. */
static void *contents(const char *name, int folder, size_t *n)
{
	void *data = NULL;
	struct stat st;
	struct ms_err none = {0};
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    !(st.st_mode & 022) && ms_read_all(fd, name, FILE_MAX, &data, n, &none) == 0 &&
	    ms_ns_of(st.st_mtim) + USED_NS < ms_clock_ns(CLOCK_REALTIME))
		utimensat(folder, name, NULL, 0);
	close(fd);
	return data;
}

void ms_cached_read(struct ms_cached *c, int folder, struct ms_arena *a)
{
	struct ms_cached read = {.name = c->name, .key = c->key};
	size_t n;
	void *data = contents(c->name, folder, &n);
	bool holds = data && ms_cached_parse(&read, data, n, a) && files_hold(&read, a);
	free(data);
	if (!holds) {
		ms_cached_free(&read);
		return;
	}
	ms_cached_free(c);
	*c = read;
}

const struct ms_cached_chain *ms_cached_find(const struct ms_cached *c, uint64_t address)
{
	size_t i = MS_COUNT_UP_TO(c->chains.v, c->sorted, address, address);
	return i && c->chains.v[i - 1].address == address ? &c->chains.v[i - 1] : NULL;
}

void ms_cached_add(struct ms_cached *c, uint64_t address, const struct ms_location *v, size_t n,
		   struct ms_arena *a)
{
	*MS_PUSH(&c->chains) = (struct ms_cached_chain){
		address, n, memcpy(ms_arena_alloc(a, n * sizeof *v), v, n * sizeof *v)};
}

void ms_cached_free(struct ms_cached *c)
{
	MS_FREE(c->chains.v, c->files.v);
	c->chains.v = NULL;
	c->files.v = NULL;
	c->chains.n = c->chains.cap = c->files.n = c->files.cap = c->sorted = 0;
}

/* ---- writing ---- */

MS_COMPARE(by_path, struct ms_cached_file, strcmp(x->path, y->path))

/* Removes duplicate addresses and paths. Returns false if two entries of one file differ. */
static bool unite(struct ms_cached *c)
{
	size_t n = 0;
	qsort(c->chains.v, c->chains.n, sizeof *c->chains.v, ms_by_first_number);
	for (size_t i = 0; i < c->chains.n; i++)
		if (!n || c->chains.v[n - 1].address != c->chains.v[i].address)
			c->chains.v[n++] = c->chains.v[i];
	c->chains.n = c->sorted = n;
	n = 0;
	qsort(c->files.v, c->files.n, sizeof *c->files.v, by_path);
	for (size_t i = 0; i < c->files.n; i++) {
		const struct ms_cached_file *f = &c->files.v[i];
		if (!n || strcmp(c->files.v[n - 1].path, f->path) != 0)
			c->files.v[n++] = *f;
		else if (!same_file(&c->files.v[n - 1], f))
			return false;
	}
	c->files.n = n;
	return true;
}

/* Adds the results that other processes have stored for the module in the meantime. */
static void add_others(struct ms_cached *c, int folder, struct ms_arena *a)
{
	struct ms_cached other = {.name = c->name, .key = c->key};
	ms_cached_read(&other, folder, a);
	for (size_t i = 0; i < other.chains.n; i++)
		*MS_PUSH(&c->chains) = other.chains.v[i];
	for (size_t i = 0; i < other.files.n; i++)
		*MS_PUSH(&c->files) = other.files.v[i];
	ms_cached_free(&other);
}

struct strings {
	MS_ARRAY(char) text;
	struct ms_lookup places; /* finds the offset of a string, by content */
};

static uint32_t place_of(struct strings *s, const char *text)
{
	uint32_t hash, n;
	if (!text || !*text)
		return 0;
	hash = ms_hash_text(text);
	for (size_t at = hash; (n = ms_lookup_next(&s->places, hash, &at));)
		if (strcmp(s->text.v + n, text) == 0)
			return n;
	n = (uint32_t)s->text.n;
	ms_lookup_add(&s->places, hash, n);
	do
		*MS_PUSH(&s->text) = *text;
	while (*text++);
	return n;
}

static void put_rows(FILE *f, const struct ms_cached *c, struct head *h, struct strings *s)
{
	for (size_t i = 0; i < c->files.n; i++) {
		const struct ms_cached_file *v = &c->files.v[i];
		struct file_row r = {v->is, place_of(s, v->path), place_of(s, v->real)};
		fwrite(&r, sizeof r, 1, f);
	}
	for (size_t i = 0; i < c->chains.n; i++) {
		struct chain_row r = {c->chains.v[i].address, h->places,
				      (uint32_t)c->chains.v[i].n};
		fwrite(&r, sizeof r, 1, f);
		h->places += r.n;
	}
	for (size_t i = 0; i < c->chains.n; i++)
		for (size_t k = 0; k < c->chains.v[i].n; k++) {
			const struct ms_location *l = &c->chains.v[i].v[k];
			struct place_row r = {place_of(s, l->function), place_of(s, l->file),
					      l->line, l->column};
			fwrite(&r, sizeof r, 1, f);
		}
}

/* Returns the content of the cache file to write, malloc'ed. */
static char *serialize(const struct ms_cached *c, size_t *n)
{
	struct head h = {.magic = MAGIC,
			 .files = (uint32_t)c->files.n,
			 .chains = (uint32_t)c->chains.n,
			 .state = (uint32_t)c->state};
	struct strings s = {0};
	char *data = NULL;
	FILE *f = open_memstream(&data, n);
	if (!f)
		return NULL;
	*MS_PUSH(&s.text) = '\0';
	h.key = place_of(&s, c->key);
	h.source = place_of(&s, c->source);
	fwrite(&h, sizeof h, 1, f);
	put_rows(f, c, &h, &s);
	h.strings = (uint32_t)s.text.n;
	fwrite(s.text.v, 1, s.text.n, f);
	MS_FREE(s.text.v, s.places.slots);
	if (fclose(f) != 0) {
		free(data);
		return NULL;
	}
	memcpy(data, &h, sizeof h);
	h.checksum = ms_crc32c(0, (const uint8_t *)data + SUMMED_FROM, *n - SUMMED_FROM);
	memcpy(data, &h, sizeof h);
	return data;
}

/* Writes under a temporary name first, so that readers see the complete file or none. */
static bool replace(int folder, const char *name, const void *data, size_t n)
{
	char fresh[NAME_MAX + 1];
	snprintf(fresh, sizeof fresh, "%s.%d-%llx", name, (int)getpid(),
		 (unsigned long long)ms_clock_ns(CLOCK_MONOTONIC));
	int fd = openat(folder, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	bool good = ms_write_all(fd, data, n) == 0;
	good = close(fd) == 0 && good && renameat(folder, fresh, folder, name) == 0;
	if (!good)
		unlinkat(folder, fresh, 0);
	return good;
}

bool ms_cached_write(struct ms_cached *c, int folder, struct ms_arena *a)
{
	size_t n = 0;
	add_others(c, folder, a);
	if (c->unsure || !unite(c) || c->files.n >= FILES_MAX || !files_hold(c, a))
		return false;
	char *data = serialize(c, &n);
	bool written = data && n <= FILE_MAX && replace(folder, c->name, data, n);
	free(data);
	return written;
}
