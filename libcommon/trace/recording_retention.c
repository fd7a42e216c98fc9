/* SPDX-License-Identifier: MIT
 * Reads what keeps the live blocks of a scan reachable from a recording's retention blocks.
 *
 * Numbers of roots, sets and rows have no gaps, so that after a lost block no row is given to
 * another root: the records that follow are refused, and the head tells that rows are missing.
 */
#include <stdlib.h>
#include <string.h>

#include "recording_private.h"

/* Copies what the records point to into the arena. */
static const char *copy_text(struct ms_recording *t, const char *text, size_t size)
{
	return ms_arena_strndup(&t->arena, text, size);
}

static void *copy_list(struct ms_recording *t, const void *list, size_t n, size_t size)
{
	return n ? memcpy(ms_arena_alloc(&t->arena, n * size), list, n * size) : NULL;
}

static bool add_head(struct ms_recording *t, const struct ms_retention_head *head)
{
	struct ms_retentions *r = &t->retention;
	uint64_t last = r->scans.n ? r->scans.v[r->scans.n - 1].head.scan : 0;
	if (head->scan <= last || head->scan > INT64_MAX)
		return false;
	*MS_PUSH(&r->scans) = (struct ms_retention_scan){.head = *head,
							 .first_root = r->roots.n,
							 .first_set = r->sets.n,
							 .first_row = r->rows.n};
	return true;
}

static bool add_root(struct ms_recording *t, struct ms_retention_scan *s,
		     struct ms_retention_root root)
{
	if (root.root != s->root_count + 1 || root.root > MS_RETENTION_ROWS_MAX || s->set_count ||
	    s->row_count)
		return false;
	root.name = copy_text(t, root.name, root.name_size);
	root.type = copy_text(t, root.type, root.type_size);
	*MS_PUSH(&t->retention.roots) = root;
	s->root_count++;
	return true;
}

static bool add_set(struct ms_recording *t, struct ms_retention_scan *s,
		    struct ms_retention_set set)
{
	if (set.set != s->set_count + 1 || set.set > MS_RETENTION_ROWS_MAX || s->row_count)
		return false;
	for (size_t i = 0; i < set.root_count; i++)
		if (!set.roots[i] || set.roots[i] > s->root_count)
			return false;
	set.roots = copy_list(t, set.roots, set.root_count, sizeof *set.roots);
	*MS_PUSH(&t->retention.sets) = set;
	s->set_count++;
	return true;
}

/* Tells whether a row stands for one root or one set, is below one earlier row, or is the rest. */
static bool row_fits(const struct ms_retention_scan *s, const struct ms_retention_row *row)
{
	if (row->row != s->row_count + 1 || row->row > MS_RETENTION_ROWS_MAX ||
	    row->parent >= row->row || row->root > s->root_count || row->set > s->set_count)
		return false;
	unsigned places = (row->parent != 0) + (row->root != 0) + (row->set != 0);
	return places == 1 || (!places && (row->flags & MS_KEPT_REST));
}

static bool add_row(struct ms_recording *t, struct ms_retention_scan *s,
		    struct ms_retention_row row)
{
	if (!row_fits(s, &row))
		return false;
	if (!row.path_root || row.path_root > s->root_count)
		row.path_root = row.path_count = 0;
	row.type = copy_text(t, row.type, row.type_size);
	row.path = copy_list(t, row.path, row.path_count, sizeof *row.path);
	*MS_PUSH(&t->retention.rows) = row;
	s->row_count++;
	return true;
}

bool ms_recording_add_retention(struct ms_recording *t, struct ms_record rec)
{
	struct ms_retentions *r = &t->retention;
	struct ms_retention_scan *s = r->scans.n ? &r->scans.v[r->scans.n - 1] : NULL;
	struct ms_retention_lists lists;
	struct ms_retention_record v;
	if (!ms_retention_get(rec, &v, &lists))
		return false;
	if (v.kind == MS_RETENTION_IS_HEAD)
		return add_head(t, &v.head);
	if (!s || s->head.state != MS_SCAN_DONE)
		return false;
	switch (v.kind) {
	case MS_RETENTION_IS_ROOT:
		return v.root.scan == s->head.scan && add_root(t, s, v.root);
	case MS_RETENTION_IS_SET:
		return v.set.scan == s->head.scan && add_set(t, s, v.set);
	default:
		return v.row.scan == s->head.scan && add_row(t, s, v.row);
	}
}

bool ms_retention_is_whole(const struct ms_recording *t, const struct ms_retention_scan *s)
{
	struct left {
		uint64_t bytes, blocks;
	} *left = ms_xcalloc(s->row_count + 1, sizeof *left);
	bool good = s->head.state == MS_SCAN_DONE && s->row_count == s->head.rows &&
		    s->head.kept_bytes <= INT64_MAX;
	left[0] = (struct left){s->head.kept_bytes, INT64_MAX};
	for (size_t i = 0; i < s->row_count && good; i++) {
		const struct ms_retention_row *r = &t->retention.rows.v[s->first_row + i];
		struct left *above = &left[r->parent];
		good = r->retained_bytes <= above->bytes && r->retained_blocks <= above->blocks &&
		       r->bytes <= r->retained_bytes && r->blocks <= r->retained_blocks;
		above->bytes -= r->retained_bytes;
		above->blocks -= r->retained_blocks;
		left[r->row] =
			(struct left){r->retained_bytes - r->bytes, r->retained_blocks - r->blocks};
	}
	free(left);
	return good;
}
