/* SPDX-License-Identifier: MIT
 * Distinguishes names that would look the same in few columns, by leaving out their common parts
 * first.
 *
 *   ns::Table<std::string, ns::Quote>::insert_or_assign     ...<...Quote>::insert_or_assign
 *   ns::Table<std::string, ns::Trade>::insert_or_assign     ...<...Trade>::insert_or_assign
 */
#include "shorten.h"

#include "libcommon/base/arena.h"
#include "libcommon/base/order.h"
#include "libcommon/base/utf8.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LEAST 12 /* with fewer columns only the end of a name is shown */

static const char *dots_of(bool ascii)
{
	return ascii ? ".." : "\xe2\x80\xa6";
}

/* Returns the number of bytes that all names share, at their starts or (`at_end`) at their ends. */
static size_t common(const char *const *v, size_t n, bool at_end)
{
	size_t len = strlen(v[0]), same = len;
	for (size_t i = 1; i < n; i++) {
		size_t other = strlen(v[i]);
		same = other < same ? other : same;
		for (size_t k = 0; k < same; k++)
			if (at_end ? v[i][other - 1 - k] != v[0][len - 1 - k] : v[i][k] != v[0][k])
				same = k;
	}
	return same;
}

static bool is_between(char c)
{
	return strchr("<, :>()", c) != NULL;
}

struct ms_names_difference ms_names_difference(const char *const *v, size_t n)
{
	struct ms_names_difference d = {.same = common(v, n, false), .tail = common(v, n, true)};
	d.all_same = d.same;
	d.all_tail = d.tail;
	const char *first = v[0], *end = first + strlen(first);
	while (d.same && !is_between(first[d.same - 1]))
		d.same--;
	while (d.tail && !is_between(*(end - d.tail)))
		d.tail--;
	d.arguments = memchr(first, '<', d.same) && memchr(end - d.tail, '>', d.tail);
	return d;
}

/* Returns the length of a name's distinguishing part. */
static size_t different(const char *name, struct ms_names_difference d)
{
	size_t all = strlen(name);
	return d.same + d.tail < all ? all - d.tail - d.same : all - d.same;
}

const char *ms_name_difference(struct ms_arena *a, const char *name, struct ms_names_difference d,
			       bool ascii)
{
	const char *part = ms_arena_strndup(a, name + d.same, different(name, d));
	return ms_arena_printf(a, "%s%s%s%s", d.arguments ? "<" : "", d.same ? dots_of(ascii) : "",
			       part, d.arguments ? ">" : "");
}

/* Returns the length of the longest prefix that the name at index `at` has in common with a
 * different neighbour in a sorted array. */
static size_t unlike(const char *const *v, size_t n, size_t at)
{
	size_t most = 0;
	for (size_t i = at; i > 0; i--)
		if (strcmp(v[i - 1], v[at]) != 0) {
			most = common((const char *const[]){v[i - 1], v[at]}, 2, false);
			break;
		}
	for (size_t i = at + 1; i < n; i++)
		if (strcmp(v[i], v[at]) != 0) {
			size_t same = common((const char *const[]){v[i], v[at]}, 2, false);
			return same > most ? same : most;
		}
	return most;
}

/* Returns the distinguishing part, shortened to few columns: on its right, and on its left up to
 * byte `own`, from which the name differs from all others. */
static const char *brief_difference(struct ms_arena *a, const char *name,
				    struct ms_names_difference d, size_t own, size_t columns,
				    bool ascii)
{
	const char *dots = dots_of(ascii);
	size_t used = 2 * ms_utf8_columns(dots), n = strlen(name), from = d.all_same, i;
	from = own - from + used >= columns ? own : from;
	n = from + d.all_tail < n ? n - d.all_tail : n;
	for (i = from; i < n;) {
		uint32_t c;
		int width;
		size_t len = ms_utf8_step(name + i, n - i, &c, &width);
		if (used + (size_t)width > columns)
			break;
		used += (size_t)width;
		i += len;
	}
	return ms_arena_printf(a, "%s%.*s%s", dots, (int)(i - from), name + from, dots);
}

/* Returns a name's distinguishing part, with as much of the name's end as fits. */
static const char *with_difference(struct ms_arena *a, const char *name,
				   struct ms_names_difference d, size_t own, size_t columns,
				   bool ascii)
{
	const char *dots = dots_of(ascii), *part = ms_name_difference(a, name, d, ascii);
	size_t at = ms_name_last(name), end = d.same + different(name, d);
	bool before = end <= at;
	if (ms_utf8_columns(part) > columns / 2)
		part = brief_difference(a, name, d, own, columns / 2, ascii);
	const char *gap = at - end > 3 ? ms_arena_printf(a, "::%s::", dots) : "::";
	const char *head = *part == '<' ? dots : "";
	size_t used = ms_utf8_columns(part) + ms_utf8_columns(head) + strlen("::");
	used += before && gap[2] ? ms_utf8_columns(gap) - 2 : 0;
	if (used >= columns)
		return ms_name_fit(a, part, columns, ascii);
	const char *last = ms_name_fit(a, name + (before ? at : 0), columns - used, ascii);
	return before ? ms_arena_printf(a, "%s%s%s%s", head, part, gap, last)
		      : ms_arena_printf(a, "%s%s", last, part);
}

struct fitted {
	const char *name, *seen;
	size_t number;
};

static int by_seen(const void *x, const void *y)
{
	const struct fitted *a = x, *b = y;
	return strcmp(a->seen, b->seen) ?: strcmp(a->name, b->name) ?: MS_ORDER(a->number, b->number);
}

void ms_names_fit(struct ms_arena *a, const char **v, size_t n, size_t columns, bool ascii)
{
	struct fitted *f = ms_arena_alloc(a, (n + 1) * sizeof *f);
	const char **group = ms_arena_alloc(a, (n + 1) * sizeof *group);
	for (size_t i = 0; i < n; i++) {
		const char *label = ms_name_short(a, v[i]);
		f[i] = (struct fitted){v[i], label, i};
		if (ascii || ms_utf8_columns(label) > columns)
			f[i].seen = ms_name_fit(a, v[i], columns, ascii);
	}
	qsort(f, n, sizeof *f, by_seen);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i; end < n && strcmp(f[end].seen, f[i].seen) == 0; end++)
			group[end - i] = f[end].name;
		bool differ = columns >= LEAST && strcmp(f[i].name, f[end - 1].name) != 0;
		struct ms_names_difference d = ms_names_difference(group, end - i);
		for (size_t k = i, own = 0; k < end; k++) {
			if (differ && (k == i || strcmp(f[k].name, f[k - 1].name) != 0))
				own = unlike(group, end - i, k - i);
			v[f[k].number] =
				differ ? with_difference(a, f[k].name, d, own, columns, ascii)
				       : f[k].seen;
		}
	}
}
