/* SPDX-License-Identifier: MIT
 * Writes the format of Valgrind's Callgrind, version 1, for callgrind_annotate and KCachegrind.
 *
 * The stacks become a call graph: the allocations of each function by line, and for each call the
 * allocations below it. A figure counts once for each function of a stack: a recursive call to a
 * function already in the stack is written with zeros. An artificial function at the root calls the
 * outermost functions, so that calls of those exist too.
 */
#include "export.h"

#include <stdlib.h>

/* Names the figures in the order of export_order. */
static const char *const events[EXPORT_FIGURES] = {"curB", "curBk", "peakB", "peakBk",
						   "totB", "totBk", "tmpBk"};

/* Describes a cost line of a function: its own costs, or those of its calls to another function. */
struct arc {
	uint32_t from, to, line; /* numbers of functions; to == NONE: own costs */
};
struct cost {
	uint64_t v[EXPORT_FIGURES];
	uint32_t next; /* next arc of the same function, or NONE */
};

/* Lists the kinds of names that are written in full once, and as a number afterwards. */
enum { MODULES, FILES, NAMES, KINDS };

struct function {
	uint32_t text[KINDS]; /* number of each name, by kind */
};

/* Holds the state of the format. The entries of x->texts are of type struct function. */
struct callgrind {
	struct export *x;
	struct out *o;
	struct table_of_bytes texts[KINDS], arcs;
	MS_ARRAY(struct cost) costs; /* costs by arc */
	uint32_t *seen;              /* by function: number of the last row with that function, +
					1 */
	size_t seen_count;
	bool *told[KINDS]; /* names already written, by kind */
};

/* ---- numbers ---- */

/* Writes the numbers of a place's function as a struct function. */
static void put_numbers(struct export *x, const struct place *p, struct out *o)
{
	struct callgrind *c = x->state;
	struct function f = {{string_number(&c->texts[MODULES], p->path ?: "???", NULL),
			      string_number(&c->texts[FILES], p->file ?: "???", NULL),
			      string_number(&c->texts[NAMES], p->function, NULL)}};
	out_put(o, (const char *)&f, sizeof f);
}

static void add_cost(struct callgrind *c, uint32_t from, uint32_t to, uint32_t line,
		     const uint64_t *v)
{
	struct arc a = {from, to, line};
	bool is_new;
	uint32_t i = bytes_number(&c->arcs, &a, sizeof a, &is_new);
	if (is_new)
		*MS_PUSH(&c->costs) = (struct cost){.next = NONE};
	for (int f = 0; v && f < EXPORT_FIGURES; f++)
		c->costs.v[i].v[f] = figure_add(c->costs.v[i].v[f], v[f]);
}

/* Tells whether the previous call for this function was for the same row. */
static bool visited(struct callgrind *c, uint32_t function, uint32_t row)
{
	c->seen = ms_xgrow(c->seen, &c->seen_count, (size_t)function + 1, sizeof *c->seen);
	bool was = c->seen[function] == row + 1;
	c->seen[function] = row + 1;
	return was;
}

static void add_row(struct callgrind *c, const struct export_row *r)
{
	struct export *x = c->x;
	uint32_t from = 0, line = 0, row = (uint32_t)(r - x->rows);
	for (size_t n = x->depth; n > 0; n--) {
		uint32_t place = x->path[n - 1], to = export_text(x, place, put_numbers);
		add_cost(c, from, to, line, visited(c, to, row) ? NULL : r->v);
		from = to;
		line = x->places[place].line;
	}
	add_cost(c, from, NONE, line, r->v);
}

/* ---- writing ---- */

/* Writes the names of a function: "fn=(3) name" at first use, then "fn=(3)". */
static void put_names(struct callgrind *c, const char *const keys[KINDS], uint32_t function)
{
	struct function f;
	bytes_copy(&c->x->texts, function, &f);
	for (int kind = 0; kind < KINDS; kind++) {
		uint32_t number = f.text[kind];
		out_printf(c->o, "%s=(%u)", keys[kind], number + 1);
		if (!c->told[kind][number]) {
			size_t n;
			const char *s = bytes_of(&c->texts[kind], number, &n);
			out_char(c->o, ' ');
			out_put(c->o, s, n);
		}
		c->told[kind][number] = true;
		out_char(c->o, '\n');
	}
}

static void put_costs(struct callgrind *c, const uint64_t *v)
{
	for (int i = 0; i < EXPORT_FIGURES; i++) {
		if (!c->x->known[export_order[i]])
			continue;
		out_char(c->o, ' ');
		out_number(c->o, v[export_order[i]]);
	}
	out_char(c->o, '\n');
}

static void put_arc(struct callgrind *c, const struct arc *a, const uint64_t *v)
{
	static const char *const keys[KINDS] = {"cob", "cfi", "cfn"};
	if (a->to != NONE) {
		put_names(c, keys, a->to);
		/* a count of 0 would turn the next line into own costs */
		uint64_t calls = v[EXPORT_ALLOCATIONS];
		out_printf(c->o, "calls=%llu 0\n", (unsigned long long)(calls ? calls : 1));
	}
	out_printf(c->o, "%u", a->line);
	put_costs(c, v);
}

static void put_function(struct callgrind *c, uint32_t function, uint32_t first)
{
	static const char *const keys[KINDS] = {"ob", "fl", "fn"};
	struct arc a = {0};
	out_char(c->o, '\n');
	put_names(c, keys, function);
	for (int own = 1; own >= 0; own--)
		for (uint32_t i = first; i != NONE; i = c->costs.v[i].next) {
			bytes_copy(&c->arcs, i, &a);
			if (own == (a.to == NONE))
				put_arc(c, &a, c->costs.v[i].v);
		}
}

static void put_functions(struct callgrind *c)
{
	size_t n = c->x->texts.n;
	uint32_t *first = ms_xrealloc(NULL, n, sizeof *first);
	for (size_t i = 0; i < n; i++)
		first[i] = NONE;
	for (uint32_t i = (uint32_t)c->costs.n; i-- > 0;) {
		struct arc a = {0};
		bytes_copy(&c->arcs, i, &a);
		c->costs.v[i].next = first[a.from];
		first[a.from] = i;
	}
	for (uint32_t i = 0; i < n; i++)
		if (first[i] != NONE)
			put_function(c, i, first[i]);
	free(first);
}

static void put_head(struct callgrind *c)
{
	struct export *x = c->x;
	struct out *o = c->o;
	uint64_t pid = x->m->processes.v[0].pid;
	out_str(o, "# callgrind format\nversion: 1\ncreator: memscope " MS_VERSION "\n");
	if (pid != UNKNOWN)
		out_printf(o, "pid: %llu\n", (unsigned long long)pid);
	out_printf(o, "cmd: %s\n", x->command);
	for (size_t i = 0; i < x->notes.n; i++)
		out_printf(o, "desc: %s\n", x->notes.v[i]);
	out_str(o, "\npositions: line\n");
	for (int i = 0; i < EXPORT_FIGURES; i++)
		if (x->known[export_order[i]])
			out_printf(o, "event: %s : %s\n", events[i],
				   export_title(x->m, export_order[i]));
	out_str(o, "events:");
	for (int i = 0; i < EXPORT_FIGURES; i++)
		if (x->known[export_order[i]])
			out_printf(o, " %s", events[i]);
	out_char(o, '\n');
}

void export_callgrind(struct export *x, struct out *o)
{
	struct callgrind c = {.x = x, .o = o};
	struct out root = {0};
	uint64_t total[EXPORT_FIGURES] = {0};
	x->state = &c;
	put_numbers(x, &(struct place){.function = "[root]"}, &root);
	bytes_number(&x->texts, root.v, root.n, NULL);
	out_free(&root);
	for (const struct export_row *r = NULL; (r = export_next(x, r, EXPORT_FIGURES));) {
		add_row(&c, r);
		for (int f = 0; f < EXPORT_FIGURES; f++)
			total[f] = figure_add(total[f], r->v[f]);
	}
	for (int i = 0; i < KINDS; i++)
		c.told[i] = ms_xcalloc(c.texts[i].n, sizeof *c.told[i]);
	put_head(&c);
	put_functions(&c);
	out_str(o, "\ntotals:");
	put_costs(&c, total);
	for (int i = 0; i < KINDS; i++) {
		free(c.told[i]);
		bytes_free(&c.texts[i]);
	}
	bytes_free(&c.arcs);
	MS_FREE(c.costs.v, c.seen);
}
