/* SPDX-License-Identifier: MIT
 * Conditions --when=born and --when=alive-at: blocks allocated in a span of time, or live at a
 * moment.
 *
 * Allocation numbers increase with time, so a span of time is a range of numbers. The blocks live
 * at a moment come from the heap model, which has their numbers.
 */
#include "born.h"

#include <stdlib.h>

#include "libcommon/base/err.h"
#include "libcommon/base/order.h"
#include "libcommon/base/span.h"
#include "libcommon/trace/recording.h"

#define ON_BLOCKS (KEEP(BORN) | KEEP(ALIVE_AT))

const char *born_asked(const struct options *o)
{
	for (size_t i = 0; i < o->conditions.n; i++)
		if (KEEP(o->conditions.v[i].subject) & ON_BLOCKS)
			return o->conditions.v[i].name;
	return NULL;
}

/* Reads the trace up to a moment. Returns NULL with `err` set on failure. */
static struct ms_recording *read_to(const char *path, const struct ms_span_end *end,
				    struct ms_err *err)
{
	struct ms_recording *t = ms_recording_open(path, err);
	int rc = t ? 1 : -1;
	if (t && end->given)
		ms_recording_stop_at(t, end->ns, end->tick, end->event);
	while (rc > 0)
		rc = ms_recording_step(t, err); /* unlike ms_recording_run, ms_recording_step leaves
						   the live blocks in the model */
	if (rc == 0)
		return t;
	ms_recording_close(t);
	return NULL;
}

/* Finds the number of the first allocation at or after the moment. */
static int number_at(const char *path, const struct ms_span_end *end, uint64_t *number,
		     struct ms_err *err)
{
	struct ms_recording *t = end->given ? read_to(path, end, err) : NULL;
	if (end->given && !t)
		return -1;
	if (t)
		*number = t->replay.next_number;
	ms_recording_close(t);
	return 0;
}

static int find_span(struct born *b, const char *path, const struct condition *c,
		     struct ms_err *err)
{
	struct number_span s = {0, UINT64_MAX};
	struct ms_span_end from[2], to[2];
	if (ms_span_find(path, c->has[0] ? c->span[0].label : NULL, NULL, from, err) != 0 ||
	    ms_span_find(path, NULL, c->has[1] ? c->span[1].label : NULL, to, err) != 0)
		return -1;
	if (from[0].given && to[1].given && from[0].ns > to[1].ns)
		return ms_err_set(err, "option '--%s': '%s..%s' ends before it begins", c->name,
				  c->span[0].label, c->span[1].label);
	if (number_at(path, &from[0], &s.from, err) != 0 ||
	    number_at(path, &to[1], &s.to, err) != 0)
		return -1;
	*MS_PUSH(&b->born) = s;
	return 0;
}

static void take_block(void *arg, uint64_t number, const struct ms_live_block *block)
{
	struct born *b = arg;
	(void)block;
	*MS_PUSH(&b->alive) = number;
}

static int find_live(struct born *b, const char *path, const struct condition *c,
		     struct ms_err *err)
{
	struct ms_span_end ends[2];
	if (ms_span_find(path, NULL, c->span[0].label, ends, err) != 0)
		return -1;
	struct ms_recording *t = read_to(path, &ends[1], err);
	if (!t)
		return -1;
	ms_blocks_each(&t->replay.blocks, take_block, b);
	ms_recording_close(t);
	return 0;
}

int born_find(struct born *b, const struct options *o, struct ms_err *err)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < o->conditions.n; i++) {
		const struct condition *c = &o->conditions.v[i];
		if (c->subject == BORN)
			rc = find_span(b, o->input, c, err);
		else if (c->subject == ALIVE_AT)
			rc = find_live(b, o->input, c, err);
	}
	MS_SORT(b->alive.v, b->alive.n, ms_by_first_number);
	return rc;
}

uint64_t born_bits(const struct born *b, uint64_t number)
{
	uint64_t found = 0;
	for (size_t i = 0; i < b->born.n; i++)
		if (number >= b->born.v[i].from && number < b->born.v[i].to)
			found |= KEEP(BORN);
	if (b->alive.n &&
	    bsearch(&number, b->alive.v, b->alive.n, sizeof number, ms_by_first_number))
		found |= KEEP(ALIVE_AT);
	return found;
}

void born_free(struct born *b)
{
	MS_FREE(b->born.v, b->alive.v);
}

void born_divide(const struct options *o, struct options *blocks, struct options *sites)
{
	struct options *parts[] = {sites, blocks};
	for (unsigned p = 0; p < 2; p++) {
		struct options *part = parts[p];
		*part = *o;
		part->conditions.n = 0;
		part->conditions.v = ms_arena_alloc(o->arena, (o->conditions.n + 1) *
								      sizeof *part->conditions.v);
		part->keep &= p ? ON_BLOCKS : ~ON_BLOCKS;
		part->drop &= p ? 0 : UINT64_MAX;
		part->filter = "";
		for (size_t i = 0; i < o->conditions.n; i++) {
			const struct condition *c = &o->conditions.v[i];
			if (((KEEP(c->subject) & ON_BLOCKS) != 0) != (p == 1))
				continue;
			part->conditions.v[part->conditions.n++] = *c;
			part->filter = option_words(o->arena, part->filter, c->name, c->text);
		}
	}
}
