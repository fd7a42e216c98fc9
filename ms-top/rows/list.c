/* SPDX-License-Identifier: MIT
 * Tracks the selection and the visible rows of a list.
 */
#include "list.h"

void list_init(struct list *l)
{
	*l = (struct list){.follows = true};
}

static void select_at(struct list *l, size_t at)
{
	l->has = l->n > 0;
	l->at = l->has ? (at < l->n ? at : l->n - 1) : 0;
	l->selected = l->has ? l->ids[l->at] : 0;
}

static bool find(struct list *l, uint64_t id)
{
	/* the row is usually at its previous index */
	if (l->at < l->n && l->ids[l->at] == id)
		return true;
	for (size_t i = 0; i < l->n; i++)
		if (l->ids[i] == id) {
			l->at = i;
			return true;
		}
	return false;
}

void list_set(struct list *l, const uint64_t *ids, size_t n)
{
	size_t was = l->at;
	l->ids = ids;
	l->n = n;
	if (l->follows)
		select_at(l, 0);
	else if (!l->has || !find(l, l->selected))
		select_at(l, was);
	/* keep the selected row at its position on the screen */
	if (l->at >= was)
		l->top += l->at - was;
	else
		l->top -= was - l->at < l->top ? was - l->at : l->top;
}

void list_move(struct list *l, long rows)
{
	size_t at = rows < 0 ? (l->at > (size_t)-rows ? l->at - (size_t)-rows : 0)
			     : l->at + (size_t)rows;
	l->follows = l->kept = false;
	select_at(l, at);
}

void list_first(struct list *l)
{
	select_at(l, 0);
	l->follows = true;
	l->kept = false;
	l->top = 0;
}

void list_sorted(struct list *l)
{
	if (!l->kept)
		list_first(l);
}

bool list_keep(struct list *l)
{
	l->kept = l->has && !l->kept;
	l->follows &= !l->kept;
	return l->kept;
}

void list_last(struct list *l)
{
	l->follows = l->kept = false;
	select_at(l, l->n ? l->n - 1 : 0);
}

bool list_choose(struct list *l, uint64_t id)
{
	if (!find(l, id))
		return false;
	l->follows = false;
	select_at(l, l->at);
	return true;
}

size_t list_view(struct list *l, size_t height)
{
	l->height = height;
	if (l->follows)
		l->top = 0;
	if (!height || l->n <= height)
		return l->top = 0;
	if (l->top > l->n - height)
		l->top = l->n - height;
	if (l->at < l->top)
		l->top = l->at;
	if (l->at >= l->top + height)
		l->top = l->at - height + 1;
	return l->top;
}
