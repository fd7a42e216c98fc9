/* SPDX-License-Identifier: MIT
 * Encodes live blocks to the columns of checkpoint blocks, and decodes them.
 */
#include "checkpoint.h"

#include "trace.h"
#include "varint.h"

#define HEAD_BYTES 128

/* Lists the columns after the head, in the order of the block, as X(name after MS_LIVE_, member,
 * maximum bytes per live block (LAST: per thread)). */
#define EACH_COLUMN(X)                                                                             \
	X(NUMBER, number, 10)                                                                      \
	X(SIZE, size, 10)                                                                          \
	X(STACK, stack, 6)                                                                         \
	X(THREAD, thread, 5)                                                                       \
	X(TICK, tick, 10) X(ADDRESS, address, 10) X(SLACK, slack, 5) X(LAST, last, 10)
/* Offsets in the encoder's memory: the head, then a region per column. */
enum { EACH_COLUMN(MS_COLUMN_AT) };
_Static_assert(MS_CHECKPOINT_MEMORY(1, 1) == AT_LAST + 10 + HEAD_BYTES, "room for the regions");

static uint8_t *region(const struct ms_checkpoint_encoder *e, unsigned at)
{
	return e->memory + HEAD_BYTES + at * e->max;
}

void ms_checkpoint_begin(struct ms_checkpoint_encoder *e, void *memory, size_t max, size_t threads,
			 const struct ms_checkpoint_head *head, bool addresses, bool usable)
{
	*e = (struct ms_checkpoint_encoder){.head = *head,
					    .memory = memory,
					    .max = max,
					    .threads = threads,
					    .addresses = addresses,
					    .usable = usable};
	e->head.count = 0;
#define BEGIN(id, member, bytes) e->member = region(e, AT_##id);
	EACH_COLUMN(BEGIN)
}

void ms_checkpoint_put_last(struct ms_checkpoint_encoder *e, uint64_t number)
{
	if (e->threads) {
		e->last = ms_varint_put(e->last, number + 1);
		e->threads--;
	}
}

enum ms_fmt ms_checkpoint_put(struct ms_checkpoint_encoder *e, const struct ms_checkpoint_block *b)
{
	uint64_t least = e->head.count ? e->before.number + 1 : 0;
	if (e->head.count == e->max)
		return MS_FMT_FULL;
	if (b->number < least || b->number >= e->head.number)
		return MS_FMT_BAD;
	e->number = ms_varint_put(e->number, b->number - least);
	e->size = ms_varint_put(e->size, b->size);
	e->stack = ms_varint_put(e->stack, ms_zigzag((uint64_t)b->stack - e->before.stack));
	e->thread = ms_varint_put(e->thread, b->thread);
	e->tick = ms_varint_put(e->tick, ms_zigzag(b->tick - e->before.tick));
	if (e->addresses)
		e->address = ms_varint_put(e->address, ms_zigzag(b->address - e->before.address));
	if (e->usable)
		e->slack = ms_varint_put(e->slack, b->slack ? b->slack - 1 : 0);
	e->before = *b;
	e->head.count++;
	return MS_FMT_OK;
}

size_t ms_checkpoint_finish(struct ms_checkpoint_encoder *e, struct ms_column *out)
{
	const struct ms_checkpoint_head *h = &e->head;
	const uint64_t head[] = {h->event,       h->number, h->tick,  h->live_bytes,
				 h->live_blocks, h->part,   h->parts, h->count};
	size_t n =
		ms_column_add(out, 0, MS_LIVE_HEAD, e->memory, ms_varints_put(e->memory, head, 8));
#define FINISH(id, member, bytes)                                                                  \
	n = ms_column_add(out, n, MS_LIVE_##id, region(e, AT_##id), e->member);
	EACH_COLUMN(FINISH)
	return n;
}

uint8_t *ms_checkpoint_put_range(uint8_t *at, uint64_t before, const struct ms_checkpoint_range *r)
{
	return ms_varints_put(at, (uint64_t[]){r->address - before, r->bytes, r->stack}, 3);
}

/* ---- decoding ---- */

static bool get32(struct ms_cursor *c, uint32_t *v)
{
	uint64_t wide;
	if (!ms_cursor_get(c, &wide) || wide > UINT32_MAX)
		return false;
	*v = (uint32_t)wide;
	return true;
}

enum ms_fmt ms_checkpoint_decoder_init(struct ms_checkpoint_decoder *d,
				       const struct ms_column *columns, size_t n)
{
	*d = (struct ms_checkpoint_decoder){0};
	struct ms_checkpoint_head *h = &d->head;
	struct ms_cursor c = ms_cursor_of(columns, n, MS_LIVE_HEAD);
	if (!ms_cursor_get(&c, &h->event) || !ms_cursor_get(&c, &h->number) ||
	    !ms_cursor_get(&c, &h->tick) || !ms_cursor_get(&c, &h->live_bytes) ||
	    !ms_cursor_get(&c, &h->live_blocks) || !get32(&c, &h->part) || !get32(&c, &h->parts) ||
	    !get32(&c, &h->count))
		return MS_FMT_BAD;
#define OPEN(id, member, bytes) d->member = ms_cursor_of(columns, n, MS_LIVE_##id);
	EACH_COLUMN(OPEN)
	OPEN(MAPPED, mapped, 0)
	d->left = h->count;
	bool good = h->part < h->parts && h->count <= h->live_blocks &&
		    h->live_blocks <= h->number && h->count <= MS_CHECKPOINT_PART;
	return good ? MS_FMT_OK : MS_FMT_BAD;
}

enum ms_fmt ms_checkpoint_next(struct ms_checkpoint_decoder *d, struct ms_checkpoint_block *b)
{
	uint64_t step, stack, tick, address = 0;
	uint32_t slack = UINT32_MAX;
	uint64_t least = d->left == d->head.count ? 0 : d->before.number + 1;
	if (!d->left)
		return MS_FMT_END;
	if (!ms_cursor_get(&d->number, &step) || step >= d->head.number - least ||
	    !ms_cursor_get(&d->size, &b->size) || !ms_cursor_get(&d->stack, &stack) ||
	    !get32(&d->thread, &b->thread) || !ms_cursor_get(&d->tick, &tick) ||
	    (d->address.at && !ms_cursor_get(&d->address, &address)) ||
	    (d->slack.at && (!get32(&d->slack, &slack) || slack == UINT32_MAX)))
		goto bad;
	stack = d->before.stack + ms_unzigzag(stack);
	if (stack > UINT32_MAX)
		goto bad;
	b->number = least + step;
	b->stack = (uint32_t)stack;
	b->tick = d->before.tick + ms_unzigzag(tick);
	b->address = d->address.at ? d->before.address + ms_unzigzag(address) : 0;
	b->slack = slack + 1;
	d->before = *b;
	d->left--;
	return MS_FMT_OK;
bad:
	d->left = 0;
	return MS_FMT_BAD;
}

enum ms_fmt ms_checkpoint_next_last(struct ms_checkpoint_decoder *d, uint64_t *number)
{
	if (d->last.at == d->last.end)
		return MS_FMT_END;
	if (!ms_cursor_get(&d->last, number))
		return MS_FMT_BAD;
	*number -= 1;
	return MS_FMT_OK;
}

enum ms_fmt ms_checkpoint_next_range(struct ms_checkpoint_decoder *d, struct ms_checkpoint_range *r)
{
	uint64_t gap;
	if (d->mapped.at == d->mapped.end)
		return MS_FMT_END;
	if (!ms_cursor_get(&d->mapped, &gap) || !ms_cursor_get(&d->mapped, &r->bytes) ||
	    !get32(&d->mapped, &r->stack) || !r->bytes || gap > UINT64_MAX - d->mapped_end ||
	    r->bytes > UINT64_MAX - d->mapped_end - gap) {
		d->mapped.at = d->mapped.end;
		return MS_FMT_BAD;
	}
	r->address = d->mapped_end + gap;
	d->mapped_end = r->address + r->bytes;
	return MS_FMT_OK;
}
