/* SPDX-License-Identifier: MIT
 * Opens the runs to be compared, and chooses the one shown for each side.
 *
 * The figures shown must add up, but rounded means of sites and of totals do not. So one run is
 * shown, the median, and the other runs give its range of error.
 */
#include "open.h"

#include "libcommon/base/err.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static bool is_there(struct spots *s, const char *input)
{
	struct stat st;
	const char *point, *path = ms_cli_operand(&s->arena, input, &point);
	return strcmp(path, "-") == 0 || stat(path, &st) == 0 || errno != ENOENT;
}

#define FIRST "SELECT label FROM snapshot GROUP BY label ORDER BY min(time_ns), min(id) LIMIT 1"
#define LAST                                                                                       \
	"SELECT label FROM snapshot GROUP BY label "                                               \
	"ORDER BY label = 'exec', max(time_ns) DESC, max(id) DESC "                                \
	"LIMIT 1"
#define END "SELECT label FROM snapshot WHERE label = 'end'"

static int choose_moment(struct run *r, const char *point, struct ms_err *err)
{
	const char *end = ms_sql_text(r->db, END, &r->m.arena);
	r->label = point ? ms_arena_strdup(&r->m.arena, point)
		   : end ? end
			 : ms_sql_text(r->db, LAST, &r->m.arena);
	if (!r->label)
		return ms_err_set(err, "cannot compare '%s': its table 'snapshot' is empty",
				  r->name);
	r->at_end = (!point && end) || strcmp(r->label, "end") == 0;
	return 0;
}

static struct run *add_run(struct spots *s, enum side side, const char *name)
{
	struct run *r = ms_arena_alloc(&s->arena, sizeof *r);
	*r = (struct run){.side = side, .name = name, .operations = DELTA_UNKNOWN};
	*MS_PUSH(&s->runs[side]) = r;
	return r;
}

static void add_missing(struct spots *s, const char *name)
{
	struct run *r = add_run(s, OLD, name);
	r->missing = r->at_end = r->complete = true;
	r->label = "end";
}

static int open_run(const struct options *o, struct spots *s, enum side side, const char *input,
		    struct opened *out, struct ms_err *err)
{
	if (side == OLD && o->allow_missing_old && !is_there(s, input)) {
		add_missing(s, input);
		return 0;
	}
	struct run *r = add_run(s, side, input);
	const char *point = NULL;
	struct ms_build_result res;
	struct ms_build_options build = {.wrappers = &o->wrappers};
	r->db = ms_snapshot_open(input, &build, o->cli.max_image, &point, &res, err);
	if (!r->db)
		return -1;
	out->seconds = res.traces && res.seconds > out->seconds ? res.seconds : out->seconds;
	return choose_moment(r, point, err);
}

/* Opens a single input, to compare its first point with its last. */
static int open_points(const struct options *o, struct spots *s, struct opened *out,
		       struct ms_err *err)
{
	if (open_run(o, s, NEW, o->inputs[NEW].v[0], out, err) != 0)
		return -1;
	struct run *new = s->runs[NEW].v[0], *old = add_run(s, OLD, new->name);
	old->db = new->db;
	old->borrowed = true;
	old->label = ms_sql_text(new->db, FIRST, &new->m.arena);
	new->label = ms_sql_text(new->db, LAST, &new->m.arena);
	if (!old->label || strcmp(old->label, new->label) == 0)
		return ms_err_set(err,
				  "'%s' has only one point, and a comparison needs two: ms-snap "
				  "--at makes a snapshot with more",
				  new->name);
	new->at_end = false;
	return 0;
}

/* Opens the last runs of a dataset, in the dataset's order. */
static int open_history(const struct options *o, struct spots *s, struct opened *out,
			struct ms_err *err)
{
	struct ms_dataset_run *runs = NULL;
	size_t n = 0;
	if ((!o->allow_missing_old || is_there(s, o->history)) &&
	    ms_dataset_last(o->history, &o->keys, o->last, &s->arena, &runs, &n, err) != 0)
		return -1;
	if (n == 0 && !o->allow_missing_old)
		return ms_err_set(err,
				  "no complete run in '%s' has these keys: append one with "
				  "ms-snap --dataset, or give --allow=missing-old",
				  o->history);
	if (n == 0)
		add_missing(s, o->history);
	for (size_t i = 0; i < n; i++) {
		struct run *r = add_run(s, OLD,
					ms_arena_printf(&s->arena, "%s/%s", o->history,
							runs[i].commit ?: runs[i].id));
		r->db = ms_dataset_open(o->history, runs[i].id, err);
		if (!r->db || choose_moment(r, NULL, err) != 0)
			return -1;
	}
	out->history = s->by_key = n > 0;
	return 0;
}

/* Refuses new snapshots whose call stacks have no keys (--anonymize removes keys): a history is
 * compared by keys. */
static int check_keys(const struct spots *s, struct ms_err *err)
{
	for (size_t i = 0; i < s->runs[NEW].n; i++) {
		const struct run *r = s->runs[NEW].v[i];
		size_t k = 0;
		while (k < r->sites.n && !r->sites.v[k].key)
			k++;
		if (r->sites.n && k == r->sites.n)
			return ms_err_set(err,
					  "cannot compare '%s' with a history: its sites have "
					  "no value in column 'key', as after --anonymize",
					  r->name);
	}
	return 0;
}

static int open_all(const struct options *o, struct spots *s, struct opened *out,
		    struct ms_err *err)
{
	if (o->points)
		return open_points(o, s, out, err);
	if (o->history && open_history(o, s, out, err) != 0)
		return -1;
	for (int side = OLD; side <= NEW; side++)
		for (size_t i = 0; i < o->inputs[side].n; i++)
			if (open_run(o, s, side, o->inputs[side].v[i], out, err) != 0)
				return -1;
	return 0;
}

/* Removes missing old runs, if any other old run exists. */
static void drop_missing(struct spots *s, struct opened *out)
{
	size_t n = 0, all = s->runs[OLD].n;
	for (size_t i = 0; i < all; i++)
		if (!s->runs[OLD].v[i]->missing)
			s->runs[OLD].v[n++] = s->runs[OLD].v[i];
		else if (!out->left_out)
			out->left_out = s->runs[OLD].v[i]->name;
	out->missing = n == 0;
	s->runs[OLD].n = n ? n : 1;
}

static int load(const struct options *o, struct spots *s, struct opened *out, struct ms_err *err)
{
	out->flows = true;
	for (int side = OLD; side <= NEW; side++)
		for (size_t i = 0; i < s->runs[side].n; i++) {
			*MS_PUSH(&s->every) = s->runs[side].v[i];
			out->flows &= s->runs[side].v[i]->at_end;
		}
	for (size_t i = 0; i < s->every.n; i++) {
		struct run *r = s->every.v[i];
		if (!r->missing && run_load(r, out->flows, err) != 0)
			return -1;
		if (o->per && run_count(r, o->per, err) != 0)
			return -1;
	}
	runs_level_rss(s->every.v, s->every.n);
	return s->by_key ? check_keys(s, err) : 0;
}

/* Tells whether `a` precedes `b` in the order whose median is shown. */
static bool before(const struct run *a, const struct run *b)
{
	int64_t x = run_total(a, "peak_bytes"), y = run_total(b, "peak_bytes");
	if (x == y) {
		x = run_total(a, "live_bytes");
		y = run_total(b, "live_bytes");
	}
	return x < y;
}

/* Returns the index of the median run; the lower one for an even number. */
static size_t middle(const struct spots *s, enum side side)
{
	size_t n = s->runs[side].n, i = 0, rank = n;
	for (; i < n && rank != (n - 1) / 2; i++) {
		const struct run *r = s->runs[side].v[i];
		rank = 0;
		for (size_t k = 0; k < n; k++) {
			const struct run *q = s->runs[side].v[k];
			rank += before(q, r) || (k < i && !before(r, q));
		}
	}
	return i - 1;
}

static const char *program_of(const struct run *r)
{
	const char *exe = r->m.processes.n ? r->m.processes.v[0].exe : NULL;
	return exe ? basename(exe) : NULL;
}

static bool same_program(const struct run *a, const struct run *b)
{
	const char *x = program_of(a), *y = program_of(b);
	return !x || !y || strcmp(x, y) == 0;
}

int open_runs(const struct options *o, struct spots *s, struct opened *out, struct ms_err *err)
{
	if (open_all(o, s, out, err) != 0)
		return -1;
	drop_missing(s, out);
	if (load(o, s, out, err) != 0)
		return -1;
	for (int side = OLD; side <= NEW; side++) {
		out->at[side] = side == OLD && out->history ? s->runs[OLD].n - 1
							    : middle(s, (enum side)side);
		out->shown[side] = s->runs[side].v[out->at[side]];
	}
	out->same_program = same_program(out->shown[OLD], out->shown[NEW]);
	int64_t operations = out->shown[NEW]->operations;
	for (size_t i = 0; o->per && i < s->every.n; i++)
		run_scale(s->every.v[i], operations);
	return 0;
}
