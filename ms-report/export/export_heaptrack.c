/* SPDX-License-Identifier: MIT
 * Writes the interpreted file of heaptrack, version 3, for heaptrack_print and heaptrack_gui.
 *
 * The format is a sequence of allocations and frees, but a snapshot has sums. So each site gets as
 * many allocations as it made, with sizes from its size classes, in an artificial order that
 * preserves all sums of heaptrack: allocations, temporary allocations, and the bytes live at each
 * moment of the snapshot, including the peak and the end. For each moment in order:
 *
 *     1. the decrease of each site since the previous moment is freed
 *     2. at the first moment: all blocks live at no moment are allocated and freed, one at a time
 *     3. the increase of each site is allocated
 *
 * The heap is therefore never larger than at the larger of two successive moments. heaptrack takes
 * a free for that of a temporary block if it follows the allocation with the same number. So each
 * size has two numbers, and a free with the second one is an ordinary free.
 *
 * heaptrack_gui requires that numbers are first used by allocations in ascending order. So there
 * are two passes: the first only assigns numbers, those for allocations first; the second writes
 * the events.
 */
#include "export.h"

#include "ms-report/words/page.h"

#include <stdlib.h>
#include <string.h>

/* Describes blocks of nearly the same size: `longer` of them have one byte more. */
struct lot {
	uint64_t blocks, size, longer;
	bool temporary;
};

#define LOTS_MAX 160

/* Lists the blocks that a site has not allocated yet. */
struct stock {
	struct lot lot[LOTS_MAX];
	size_t n, at; /* lots before index `at` are used up */
};

struct heaptrack {
	struct export *x;
	struct gzip gzip;
	struct out text;
	struct table_of_bytes strings, instructions;
	struct table_of_bytes gains, losses; /* entries: struct info of allocations, of frees */
	bool collecting;                     /* only fill `gains` and `losses`; write no events */
	uint32_t *trace;                     /* number of the trace of a row */
	uint64_t *live, *now; /* by row, live bytes: at the next moment of the snapshot; written so
				 far */
	uint64_t *used;       /* by row: blocks already taken from its stock */
	uint64_t *all_used;   /* by row: blocks needed for all moments of the snapshot */
	uint64_t *risen;      /* by row: bytes needed for all moments of the snapshot */
	sqlite3_stmt *sizes;
	size_t moments;
	size_t sample; /* index of the next sample */
	uint64_t time_ms;
	uint64_t page_size;
};

static void flush(struct heaptrack *h)
{
	if (h->text.n > 1 << 16)
		gzip_take(&h->gzip, &h->text);
}

static void put_hex(struct heaptrack *h, uint64_t v)
{
	char buf[16], *p = buf + sizeof buf;
	do
		*--p = "0123456789abcdef"[v & 15];
	while (v >>= 4);
	out_put(&h->text, p, (size_t)(buf + sizeof buf - p));
}

/* Writes a line with a letter and numbers. */
static void put_line(struct heaptrack *h, char letter, const uint64_t *v, size_t n)
{
	out_char(&h->text, letter);
	for (size_t i = 0; i < n; i++) {
		out_char(&h->text, ' ');
		put_hex(h, v[i]);
	}
	out_char(&h->text, '\n');
	flush(h);
}

/* ---- strings, instructions, traces: each written before its first use ---- */

static uint64_t string(struct heaptrack *h, const char *s)
{
	bool is_new;
	uint64_t number;
	if (!s)
		return 0;
	number = (uint64_t)string_number(&h->strings, s, &is_new) + 1;
	if (is_new) {
		out_str(&h->text, "s ");
		put_hex(h, strlen(s));
		out_printf(&h->text, " %s\n", s);
	}
	return number;
}

/* Returns the number of the frame x->path[at..end), with its inlined functions. */
static uint32_t instruction(struct heaptrack *h, size_t at, size_t end)
{
	const struct place *q = &h->x->places[h->x->path[at]];
	uint64_t v[2 + 3 * 64];
	size_t count = 0;
	bool is_new;
	v[count++] = q->address == UNKNOWN || !q->address ? 0 : q->address - 1;
	v[count++] = string(h, q->path);
	for (; at < end; at++) {
		const struct place *r = &h->x->places[h->x->path[at]];
		if (r->named && count + 3 <= sizeof v / sizeof *v) {
			v[count++] = string(h, r->function);
			v[count++] = string(h, r->file);
			v[count++] = r->line;
		}
	}
	uint32_t number = bytes_number(&h->instructions, v, count * sizeof *v, &is_new) + 1;
	if (is_new)
		put_line(h, 'i', v, count);
	return number;
}

static uint32_t trace(struct heaptrack *h, const struct export_row *r)
{
	struct export *x = h->x;
	export_take_stack(x, r);
	size_t count = 0;
	uint32_t *ips = ms_xrealloc(NULL, x->depth, sizeof *ips), at = 0;
	for (size_t i = 0, end; i < x->depth; i = end) {
		end = export_frame_end(x, i);
		ips[count++] = instruction(h, i, end);
	}
	while (count) {
		bool is_new;
		uint64_t v[2] = {ips[--count], at};
		at = key_child(&x->stacks, at, ips[count], &is_new);
		if (is_new)
			put_line(h, 't', v, 2);
	}
	free(ips);
	return at;
}

/* Describes an allocation size at a trace. */
struct info {
	uint64_t size, trace;
};

static uint64_t info(struct heaptrack *h, struct table_of_bytes *t, size_t row, uint64_t size)
{
	if (!h->trace[row])
		h->trace[row] = trace(h, &h->x->rows[row]);
	struct info key = {size, h->trace[row]};
	return bytes_number(t, &key, sizeof key, NULL);
}

static void gain(struct heaptrack *h, size_t row, uint64_t size)
{
	uint64_t number = info(h, &h->gains, row, size);
	if (!h->collecting)
		put_line(h, '+', &number, 1);
}

/* Writes a free. `temporary`: the block freed is the one allocated just before. */
static void lose(struct heaptrack *h, size_t row, uint64_t size, bool temporary)
{
	uint64_t number = temporary ? info(h, &h->gains, row, size)
				    : h->gains.n + info(h, &h->losses, row, size);
	if (!h->collecting)
		put_line(h, '-', &number, 1);
}

static void put_infos(struct heaptrack *h, const struct table_of_bytes *t)
{
	for (uint32_t i = 0; i < t->n; i++) {
		struct info key;
		bytes_copy(t, i, &key);
		put_line(h, 'a', (uint64_t[]){key.size, key.trace}, 2);
	}
}

/* ---- sizes ---- */

static void add_lot(struct stock *s, uint64_t blocks, uint64_t bytes, bool temporary)
{
	if (blocks && s->n < LOTS_MAX)
		s->lot[s->n++] = (struct lot){blocks, bytes / blocks, bytes % blocks, temporary};
}

/* Adds a size class: its temporary blocks to `rest`, its other blocks to `keep`. The blocks in
 * `keep` get at least `least` bytes in total, if possible. */
static void add_class(struct stock *keep, struct stock *rest, uint64_t blocks, uint64_t bytes,
		      uint64_t temporary, uint64_t least)
{
	if (temporary > blocks)
		temporary = blocks;
	uint64_t size = blocks ? bytes / blocks : 0;
	uint64_t of_temporary = temporary == blocks ? bytes : size * temporary;
	if (temporary < blocks && bytes - of_temporary < least)
		of_temporary = figure_sub(bytes, least);
	add_lot(keep, blocks - temporary, bytes - of_temporary, false);
	add_lot(rest, temporary, of_temporary, true);
}

/* Returns the bytes that the non-temporary blocks of a row must have in total, so that they suffice
 * for every increase of its live bytes. Includes an allowance for each moment, since whole blocks
 * rarely add up to an exact increase. */
static uint64_t least(const struct heaptrack *h, size_t row)
{
	const uint64_t *v = h->x->rows[row].v;
	uint64_t blocks = figure_sub(v[EXPORT_ALLOCATIONS], v[EXPORT_TEMPORARY]);
	uint64_t each = blocks ? h->risen[row] / blocks + 1 : 0;
	return figure_add(h->risen[row], 2 * h->moments * each);
}

static void skip(struct stock *s, uint64_t blocks)
{
	for (; s->at < s->n && blocks >= s->lot[s->at].blocks; s->at++)
		blocks -= s->lot[s->at].blocks;
	if (s->at < s->n) {
		struct lot *l = &s->lot[s->at];
		l->blocks -= blocks;
		l->longer -= l->longer < blocks ? l->longer : blocks;
	}
}

/* Fills the stock with the blocks that a row allocated, largest first, temporary ones last, so that
 * live blocks are taken from the non-temporary ones. The first `skipped` are omitted. */
static void fill(struct heaptrack *h, size_t row, struct stock *s, uint64_t skipped)
{
	const struct export_row *r = &h->x->rows[row];
	const uint64_t *v = r->v;
	struct stock rest = {.n = 0};
	uint64_t blocks = 0, bytes = 0, temporary = 0;
	s->n = s->at = 0;
	if (h->sizes && r->site) {
		sqlite3_reset(h->sizes);
		sqlite3_bind_int64(h->sizes, 1, r->site->id);
		while (sqlite3_step(h->sizes) == SQLITE_ROW && s->n < LOTS_MAX / 2) {
			uint64_t n[3];
			for (int i = 0; i < 3; i++)
				n[i] = figure_or_0(figure_in(h->sizes, i));
			blocks += n[0];
			bytes += n[1];
			temporary += n[2];
			add_class(s, &rest, n[0], n[1], n[2], 0);
		}
	}
	if (blocks != v[EXPORT_ALLOCATIONS] || bytes != v[EXPORT_ALLOCATED] ||
	    temporary != v[EXPORT_TEMPORARY]) {
		s->n = rest.n = 0;
		add_class(s, &rest, v[EXPORT_ALLOCATIONS], v[EXPORT_ALLOCATED], v[EXPORT_TEMPORARY],
			  least(h, row));
	}
	for (size_t i = 0; i < rest.n && s->n < LOTS_MAX; i++)
		s->lot[s->n++] = rest.lot[i];
	skip(s, skipped);
}

/* Takes the next block. Returns false if none is left. */
static bool take(struct stock *s, uint64_t *size, bool *temporary)
{
	while (s->at < s->n && !s->lot[s->at].blocks)
		s->at++;
	if (s->at == s->n)
		return false;
	struct lot *l = &s->lot[s->at];
	*size = l->size + (l->longer > 0);
	*temporary = l->temporary;
	l->longer -= l->longer > 0;
	l->blocks--;
	return true;
}

/* Removes all blocks of the size that was taken last. */
static void skip_alike(struct stock *s, uint64_t size)
{
	const struct lot *l = &s->lot[s->at];
	skip(s, size > l->size ? l->longer : l->blocks);
}

/* ---- events ---- */

/* Writes allocations that raise the row's live bytes by `bytes`. If the last block is too large,
 * first frees the excess. Returns the number of blocks; with `dry`, writes nothing. */
static uint64_t rise(struct heaptrack *h, size_t row, struct stock *s, uint64_t bytes, bool dry)
{
	uint64_t blocks = 0, size;
	bool temporary;
	while (bytes) {
		if (!take(s, &size, &temporary)) {
			/* the site has more live bytes than its known allocations: take the rest
			 * from the last row, which belongs to no site */
			uint64_t *other = h->x->rows[h->x->n - 1].v;
			other[EXPORT_ALLOCATIONS] -= dry && other[EXPORT_ALLOCATIONS] > 0;
			if (dry)
				other[EXPORT_ALLOCATED] =
					figure_sub(other[EXPORT_ALLOCATED], bytes);
			size = bytes;
			blocks--;
		}
		if (size > bytes && !dry)
			lose(h, row, size - bytes, false);
		if (!dry)
			gain(h, row, size);
		bytes -= size < bytes ? size : bytes;
		blocks++;
	}
	return blocks;
}

/* Writes the blocks that are live at no moment of the snapshot as allocations freed at once; skips
 * the first `skipped` blocks of the row. */
static void come_and_go(struct heaptrack *h, size_t row, uint64_t skipped)
{
	struct stock s;
	uint64_t size;
	bool temporary;
	fill(h, row, &s, skipped);
	while (take(&s, &size, &temporary)) {
		gain(h, row, size);
		lose(h, row, size, temporary);
		if (h->collecting)
			skip_alike(&s, size);
	}
}

/* Writes the samples of resident memory before `ms`, then the time `ms`. */
static void go_to(struct heaptrack *h, uint64_t ms)
{
	struct model *m = h->x->m;
	for (; h->sample < m->samples.n; h->sample++) {
		const struct sample *s = &m->samples.v[h->sample];
		uint64_t at = s->time_ns / 1000000, pages = s->rss_bytes / h->page_size;
		if (at > ms)
			break;
		if (at > h->time_ms)
			put_line(h, 'c', &at, 1);
		h->time_ms = at > h->time_ms ? at : h->time_ms;
		put_line(h, 'R', &pages, 1);
	}
	if (ms > h->time_ms)
		put_line(h, 'c', &ms, 1);
	h->time_ms = ms > h->time_ms ? ms : h->time_ms;
}

/* Tells whether the row is of the snapshot's process. The row without a site is of all processes.
 */
static bool of_process(const struct export_row *r, const struct snapshot *s)
{
	return !r->site || r->site->process == s->process;
}

/* Counts, by row, the bytes or the blocks that all moments of the snapshot need. */
static void count_rises(struct heaptrack *h, const struct snapshot **s, size_t n, bool blocks)
{
	struct export *x = h->x;
	struct stock stock;
	for (size_t k = 0; k < n; k++) {
		export_live_at(x, s[k], h->live);
		for (size_t i = 0; i < x->n; i++) {
			if (!of_process(&x->rows[i], s[k]))
				continue;
			uint64_t more = figure_sub(h->live[i], h->now[i]);
			if (more && blocks) {
				fill(h, i, &stock, h->all_used[i]);
				h->all_used[i] += rise(h, i, &stock, more, true);
			} else {
				h->risen[i] = figure_add(h->risen[i], more);
			}
			h->now[i] = h->live[i];
		}
	}
	memset(h->now, 0, x->n * sizeof *h->now);
}

static void put_moment(struct heaptrack *h, const struct snapshot *s, bool first)
{
	struct export *x = h->x;
	struct stock stock;
	export_live_at(x, s, h->live);
	if (!h->collecting)
		go_to(h, export_moment(x, s) / 1000000);
	for (size_t i = 0; i < x->n; i++)
		if (of_process(&x->rows[i], s) && h->live[i] < h->now[i]) {
			lose(h, i, h->now[i] - h->live[i], false);
			h->now[i] = h->live[i];
		}
	for (size_t i = 0; first && i < x->n; i++)
		come_and_go(h, i, h->all_used[i]);
	for (size_t i = 0; i < x->n; i++) {
		if (!of_process(&x->rows[i], s) || h->live[i] <= h->now[i])
			continue;
		fill(h, i, &stock, h->used[i]);
		h->used[i] += rise(h, i, &stock, h->live[i] - h->now[i], false);
		h->now[i] = h->live[i];
	}
}

static void put_head(struct heaptrack *h)
{
	struct export *x = h->x;
	int64_t page = ms_sql_int(x->m->db, "SELECT page_size FROM process ORDER BY id LIMIT 1", 0);
	h->page_size = page > 0 ? (uint64_t)page : 4096;
	out_str(&h->text, "v 10400 3\n");
	for (size_t i = 0; i < x->notes.n; i++)
		out_printf(&h->text, "# %s\n", x->notes.v[i]);
	/* the only free text that readers show */
	out_printf(&h->text, x->lacks ? "X %s [%s]\n" : "X %s\n", x->command, x->lacks);
	uint64_t system[2] = {h->page_size, 0};
	put_line(h, 'I', system, 2);
	if (x->m->quality.attached && x->m->quality.attached != UNKNOWN)
		out_str(&h->text, "A\n");
}

/* Tells whether the snapshot belongs to set `which`: all, all without marks, or peak and end. */
static bool among(const struct snapshot *s, int which)
{
	bool peak_or_end = strcmp(s->label, "peak") == 0 || strcmp(s->label, "end") == 0;
	return which == 0 || peak_or_end || (which == 1 && strncmp(s->label, "mark:", 5) != 0);
}

/* Chooses the largest set of moments for which no site gets more than it allocated. Times are
 * coarse but marks exact, so a moment near a mark can appear in the wrong order. */
static size_t choose_moments(struct heaptrack *h, const struct snapshot ***out)
{
	struct export *x = h->x;
	bool fits = false;
	size_t n = 0;
	for (int which = 0; which < 3 && !fits; which++) {
		size_t all = export_moments(x, out);
		n = 0;
		for (size_t i = 0; i < all; i++)
			if (among((*out)[i], which))
				(*out)[n++] = (*out)[i];
		memset(h->risen, 0, x->n * sizeof *h->risen);
		count_rises(h, *out, n, false);
		fits = true;
		for (size_t i = 0; i < x->n; i++)
			fits &= h->risen[i] <= x->rows[i].v[EXPORT_ALLOCATED];
	}
	return n;
}

static void put_moments(struct heaptrack *h, const struct snapshot **s, size_t n, bool collecting)
{
	struct export *x = h->x;
	h->collecting = collecting;
	memset(h->now, 0, x->n * sizeof *h->now);
	memset(h->used, 0, x->n * sizeof *h->used);
	for (size_t k = 0; k < n; k++)
		put_moment(h, s[k], k == 0);
	for (size_t i = 0; !n && i < x->n; i++)
		come_and_go(h, i, 0);
}

static void put_events(struct heaptrack *h)
{
	struct export *x = h->x;
	const struct snapshot **s;
	size_t n = h->moments = choose_moments(h, &s);
	h->sizes = ms_sql_prepare(x->m->db,
				  "SELECT allocations, allocated_bytes, coalesce(temporary, 0)"
				  " FROM site_size WHERE site = ? ORDER BY low DESC",
				  NULL);
	count_rises(h, s, n, true);
	put_moments(h, s, n, true);
	put_infos(h, &h->gains);
	put_infos(h, &h->losses);
	put_moments(h, s, n, false);
	go_to(h, x->m->duration_ns / 1000000);
	sqlite3_finalize(h->sizes);
}

void export_heaptrack(struct export *x, struct out *o)
{
	struct heaptrack h = {.x = x, .text = {0}};
	h.trace = ms_xcalloc(x->n, sizeof *h.trace);
	h.live = ms_xcalloc(x->n, sizeof *h.live);
	h.now = ms_xcalloc(x->n, sizeof *h.now);
	h.used = ms_xcalloc(x->n, sizeof *h.used);
	h.all_used = ms_xcalloc(x->n, sizeof *h.all_used);
	h.risen = ms_xcalloc(x->n, sizeof *h.risen);
	gzip_open(&h.gzip, o, !x->page->gzip);
	put_head(&h);
	put_events(&h);
	gzip_take(&h.gzip, &h.text);
	gzip_close(&h.gzip);
	out_free(&h.text);
	bytes_free(&h.strings);
	bytes_free(&h.instructions);
	bytes_free(&h.gains);
	bytes_free(&h.losses);
	MS_FREE(h.trace, h.live, h.now, h.used, h.all_used, h.risen);
}
