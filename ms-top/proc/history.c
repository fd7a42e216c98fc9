/* SPDX-License-Identifier: MIT
 * Keeps a figure over time.
 */
#include "history.h"

static void keep_every_second(struct history *h)
{
	/* keeps the first sample; the latest value is in `bytes` */
	uint32_t n = 0;
	for (uint32_t i = 0; i < h->n; i += 2, n++) {
		h->kib[n] = h->kib[i];
		h->ms[n] = h->ms[i];
	}
	h->n = n;
	h->step *= 2;
}

void history_add(struct history *h, uint64_t now_ns, uint64_t bytes)
{
	if (!h->step) {
		h->step = 1;
		h->first_ns = now_ns;
		h->first_bytes = bytes;
	}
	h->bytes = bytes;
	h->last_ns = now_ns;
	if (h->left) {
		h->left--;
		return;
	}
	if (h->n == HISTORY_SAMPLES)
		keep_every_second(h);
	h->kib[h->n] = (uint32_t)(bytes >> 10 < UINT32_MAX ? bytes >> 10 : UINT32_MAX);
	h->ms[h->n++] = (uint32_t)((now_ns - h->first_ns) / 1000000);
	h->left = h->step - 1;
}

struct ms_trend history_trend(const struct history *h, bool ended)
{
	struct ms_trend_span room[HISTORY_SAMPLES + 1];
	struct ms_trend_sample v[HISTORY_SAMPLES + 1];
	size_t n = 0;
	for (; n < h->n; n++)
		v[n] = (struct ms_trend_sample){h->ms[n] / 1e3, (double)h->kib[n] * 1024};
	uint32_t last = (uint32_t)((h->last_ns - h->first_ns) / 1000000);
	if (n && last > h->ms[n - 1])
		v[n++] = (struct ms_trend_sample){last / 1e3, (double)h->bytes};
	return ms_trend_until(v, n, ended ? ms_trend_teardown_of(v, n, room) : 0);
}

const char *history_word(const struct ms_trend *t)
{
	switch (t->kind) {
	case MS_TREND_SHORT:
		return "new";
	case MS_TREND_GROWING:
		return t->confidence >= HISTORY_SURE ? "growing" : "maybe";
	case MS_TREND_FILLING:
		return "filled";
	default:
		return ms_trend_word(t->kind);
	}
}

size_t history_values(const struct history *h, unsigned *values, size_t n)
{
	size_t have = h->n < n ? h->n : n;
	/* values are taken from the whole time, not only from its end */
	for (size_t i = 0; i < have; i++)
		values[i] = h->kib[have > 1 ? i * (h->n - 1) / (have - 1) : 0];
	if (have)
		values[have - 1] =
			(unsigned)(h->bytes >> 10 < UINT32_MAX ? h->bytes >> 10 : UINT32_MAX);
	return have;
}
