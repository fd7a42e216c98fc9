/* SPDX-License-Identifier: MIT
 * Draws pictures for Markdown and wikis, as SVG without scripts: a flame graph, and the heap over
 * time.
 *
 * The pictures follow the reader's light or dark colours. Each text is clipped by its own box (an
 * inner <svg>), and figures are in <title>, which browsers show as a tooltip.
 */
#include "export.h"

#include "ms-report/model/curve.h"
#include "ms-report/model/tree.h"
#include "ms-report/words/names.h"
#include "ms-report/words/page.h"
#include "ms-report/words/words.h"

#define SAY(...) ms_arena_printf(&p->m->arena, __VA_ARGS__)

enum { WIDTH = 1200, SIDE = 10, INNER = WIDTH - 2 * SIDE, ROW = 18, TOP = 50, HUES = 8 };
enum { LEVELS_MAX = 100 }; /* levels of a flame graph */
#define LEAST 0.4          /* minimum width in pixels; narrower branches are omitted */
#define CHARACTER 6.7      /* width of one character in pixels */

static const char style[] =
	"<style>"
	"svg{color-scheme:light dark}text{font:11px "
	"ui-monospace,Menlo,Consolas,monospace;fill:#1f2328}"
	".head{font-weight:bold;font-size:13px}.bad{fill:#b3261e}.soft{fill:#59636e}"
	"rect{stroke:#fff;stroke-width:.5}.bare{fill:transparent;stroke:none}"
	".h0{fill:#f4b183}.h1{fill:#f6c667}.h2{fill:#d9d177}.h3{fill:#a9d18e}.h4{fill:#8fd3c5}"
	".h5{fill:#9dc3e6}.h6{fill:#c0b3e5}.h7{fill:#e8b0cc}.none{fill:#d0d7de}"
	".live{fill:#9dc3e6;stroke:#2f6fb0}.rss{fill:none;stroke:#c4620a;stroke-width:1.5}"
	".grid{stroke:#d0d7de}.mark{stroke:#8250df;stroke-dasharray:3 3}"
	"@media(prefers-color-scheme:dark){text{fill:#e6edf3}.bad{fill:#ff8b80}.soft{fill:#9198a1}"
	"rect{stroke:#0d1117}.bare{stroke:none}"
	".h0{fill:#8a4b1c}.h1{fill:#7d5b0a}.h2{fill:#66610f}.h3{fill:#3b6b22}.h4{fill:#1d6a5d}"
	".h5{fill:#1f5586}.h6{fill:#55459a}.h7{fill:#853a62}.none{fill:#3d444d}"
	".live{fill:#1f5586;stroke:#6cb6ff}.rss{stroke:#f0883e}.grid{stroke:#3d444d}"
	".mark{stroke:#a371f7}}"
	"</style>\n";

/* Writes a text escaped. name_clean has already removed characters that XML forbids. */
static void put_text(struct page *p, struct out *o, const char *s)
{
	out_escaped(o, name_clean(&p->m->arena, s, false), "<>&\"", "");
}

/* Returns the number of characters that fit in a width. */
static size_t columns_in(double room)
{
	return room > 6 ? (size_t)((room - 6) / CHARACTER) : 0;
}

/* Writes a text, cut to the available width. */
static void put_label(struct page *p, struct out *o, double x, double y, double room,
		      const char *class, const char *s)
{
	size_t columns = columns_in(room);
	if (columns < 3)
		return;
	out_printf(o,
		   "<svg x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"><text class=\"%s\" "
		   "x=\"3\" y=\"13\">",
		   x, y, room, ROW, class);
	put_text(p, o, name_cut(&p->m->arena, name_clean(&p->m->arena, s, false), columns, false));
	out_str(o, "</text></svg>");
}

static void begin(struct page *p, struct out *o, int height, const char *title)
{
	struct model *m = p->m;
	const struct process *first = &m->processes.v[0];
	const char *worth = words_incomplete(m);
	title = SAY("%s: %s", first->exe ? base_name(first->exe) : "a program", title);
	worth = worth ? SAY("INCOMPLETE: %s", worth) : worth;
	out_printf(o,
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
		   "height=\"%d\" role=\"img\">\n<title>",
		   WIDTH, height, WIDTH, height);
	put_text(p, o, title);
	out_printf(o, "</title>\n%s", style);
	put_label(p, o, SIDE - 3, 6, INNER, "head", title);
	if (worth || m->hidden.filters)
		put_label(p, o, SIDE - 3, 26, INNER, worth ? "bad" : "soft",
			  worth ? worth : SAY("hidden: %s", words_hidden(m, &p->style)));
	out_char(o, '\n');
}

/* ---- flame graph ---- */

static const char *say_pair(struct page *p, enum metric metric, const struct pair *v)
{
	struct model *m = p->m;
	if (!metric_is_bytes(metric))
		return est_count(m, v->a, pair_ea(v));
	bool calls = metric == METRIC_ALLOCATED || metric == METRIC_MAPPED;
	const char *bytes = est_size(m, v->a, pair_ea(v));
	return v->b == UNKNOWN ? bytes
			       : SAY("%s in %s", bytes,
				     est_things(m, v->b, pair_eb(v), calls ? "call" : "block"));
}

struct flame {
	struct page *p;
	struct out *o;
	const struct tree *t;
	double scale; /* width of one unit in pixels */
};

static void put_box(struct flame *f, double x, unsigned level, const struct pair *v,
		    const char *class, const char *name, const char *place)
{
	struct page *p = f->p;
	double wide = (double)v->a * f->scale, y = TOP + (double)level * ROW;
	if (wide < LEAST || level >= LEVELS_MAX)
		return;
	out_printf(f->o, "<g data-value=\"%llu\"><title>", (unsigned long long)v->a);
	put_text(p, f->o, name);
	if (*place)
		put_text(p, f->o, SAY("  %s", place));
	put_text(p, f->o,
		 SAY("  %s, %s", say_pair(p, f->t->metric, v),
		     say_share(p->m, v->a, f->t->total.a)));
	out_printf(f->o,
		   "</title><rect class=\"%s\" x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" "
		   "height=\"%d\"/>",
		   class, x, y, wide, ROW - 1);
	name = name_clean(&p->m->arena, name, false);
	put_label(p, f->o, x, y, wide, "", name_fit(&p->m->arena, name, columns_in(wide), false));
	out_str(f->o, "</g>\n");
}

static void put_branch(struct flame *f, double x, unsigned level, const struct branch *b)
{
	struct page *p = f->p;
	const struct frame *of = b->frame == NONE ? NULL : &p->m->frames.v[b->frame];
	const char *name = branch_label(&p->m->arena, p->m, b, &p->style, "pid "), *place = "";
	uint32_t hue = 0;
	if (of) {
		struct frame at = *of;
		at.line = b->several ? 0 : at.line;
		place = frame_place(&p->m->arena, p->m, &at, &p->style);
	}
	for (const char *c = name; *c; c++)
		hue = hue * 31 + (unsigned char)*c;
	const char *class = of && !of->runtime ? SAY("h%u", hue % HUES) : "none";
	put_box(f, x, level, &b->sum, class, name, place);
}

/* Computes the level of each visible branch, and its left edge in `x`. */
static unsigned lay_out(const struct flame *f, double *x, unsigned *level)
{
	const struct tree *t = f->t;
	unsigned deepest = 1;
	x[0] = SIDE;
	for (size_t i = 0; i < t->n; i++) { /* parents precede their children */
		double at = x[i];
		bool seen = (double)t->v[i].sum.a * f->scale >= LEAST;
		if (seen && level[i] > deepest)
			deepest = level[i];
		for (uint32_t c = t->v[i].first_child; c != NONE; c = t->v[c].next) {
			x[c] = at;
			level[c] = level[i] + 1;
			at += (double)t->v[c].sum.a * f->scale;
		}
	}
	return deepest < LEVELS_MAX ? deepest : LEVELS_MAX - 1;
}

void export_flame(struct export *x, struct out *o)
{
	struct page *p = x->page;
	enum tree_fold fold = p->style.full_names ? TREE_ROUNDS : TREE_OWN;
	struct tree tree = tree_make(x->m, x->metric, false, fold, false), *t = &tree;
	static const char *const titles[METRIC_COUNT] = {
		"live",      "live at the peak", "allocated", "allocations",
		"temporary", "failed",           "mapped"};
	struct ms_arena *a = &p->m->arena;
	double *left = ms_arena_alloc(a, t->n * sizeof *left);
	unsigned *level = ms_arena_alloc(a, t->n * sizeof *level);
	struct pair all = t->total;
	all.a = all.a == UNKNOWN ? t->v[0].sum.a : all.a;
	struct flame f = {p, o, t, all.a ? (double)INNER / (double)all.a : 0};
	unsigned deepest = lay_out(&f, left, level);
	const char *title =
		t->metric == METRIC_LIVE ? SAY("live at %s", say_moment(p->m, &p->style))
		: t->metric == METRIC_PEAK && p->m->processes.n > 1 ? "live at each process's peak"
								    : titles[t->metric];
	begin(p, o, TOP + (int)(deepest + 1) * ROW + SIDE,
	      SAY("%s, %s", title, say_pair(p, t->metric, &all)));
	put_box(&f, SIDE, 0, &all, "none", "all", "");
	for (size_t i = 1; i < t->n; i++)
		put_branch(&f, left[i], level[i], &t->v[i]);
	double at = SIDE + (double)t->v[0].sum.a * f.scale;
	if (figure_some(t->hidden.a))
		put_box(&f, at, 1, &t->hidden, "none", "[hidden by filters]", "");
	at += (double)figure_or_0(t->hidden.a) * f.scale;
	if (figure_some(t->other.a))
		put_box(&f, at, 1, &t->other, "none", "[without a site]", "");
	out_str(o, "</svg>\n");
}

/* ---- timeline ---- */

enum { SPANS = 240, LEFT = 80, PLOT = WIDTH - LEFT - SIDE, TALL = 200, BOTTOM = TOP + TALL };

struct plot {
	struct page *p;
	struct out *o;
	const struct span *s;
	size_t n;
	uint64_t most, whole_ns; /* maxima of the axes: bytes and ns */
};

static double across(const struct plot *c, uint64_t ns)
{
	return LEFT + (c->whole_ns ? (double)ns / (double)c->whole_ns * PLOT : 0);
}

static double up(const struct plot *c, uint64_t bytes)
{
	return BOTTOM - (double)bytes / (double)c->most * TALL;
}

static uint64_t live_of(const struct span *s)
{
	return s->estimated ? s->live_last : s->live_max;
}

static uint64_t rss_of(const struct span *s)
{
	return s->rss;
}

/* Draws a curve in steps from span to span, with gaps for unknown values. */
static void put_curve(const struct plot *c, const char *class, uint64_t (*of)(const struct span *),
		      bool filled)
{
	out_printf(c->o, "<path class=\"%s\" d=\"", class);
	for (size_t i = 0, first; i < c->n; i++) {
		for (first = i; i < c->n && of(&c->s[i]) != UNKNOWN; i++) {
			if (i == first)
				out_printf(c->o, "M%.1f %.1f", across(c, c->s[i].from_ns),
					   filled ? (double)BOTTOM : up(c, of(&c->s[i])));
			out_printf(c->o, "V%.1fH%.1f", up(c, of(&c->s[i])),
				   across(c, c->s[i].to_ns));
		}
		if (i > first && filled)
			out_printf(c->o, "V%dZ", BOTTOM);
	}
	out_str(c->o, "\"/>\n");
}

static void put_grid(const struct plot *c)
{
	struct page *p = c->p;
	uint64_t bytes = 1, ns = 1000;
	while (bytes < c->most / 5)
		bytes *= 2;
	/* 1, 2, 5, 10 ...: at most ten ticks */
	for (unsigned k = 0; ns < c->whole_ns / 10; k++)
		ns = k % 3 == 1 ? ns / 2 * 5 : ns * 2;
	for (uint64_t v = 0; v <= c->most; v += bytes) {
		out_printf(c->o,
			   "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>",
			   LEFT, LEFT + PLOT, up(c, v), up(c, v));
		put_label(p, c->o, 0, up(c, v) - 10, LEFT, "soft", say_size(p->m, v));
	}
	for (uint64_t v = 0; c->whole_ns && v <= c->whole_ns; v += ns) {
		double room = WIDTH - across(c, v);
		put_label(p, c->o, across(c, v) - 3, BOTTOM + 2, room < 90 ? room : 90, "soft",
			  say_time(p->m, v));
		if (c->whole_ns - v < ns) /* v + ns may overflow 64 bits */
			break;
	}
}

/* Writes the tooltips. */
static void put_tips(const struct plot *c)
{
	struct page *p = c->p;
	for (size_t i = 0; i < c->n; i++) {
		const struct span *s = &c->s[i];
		double x = across(c, s->from_ns);
		out_str(c->o, "<g><title>");
		put_text(p, c->o,
			 SAY("%s: live %s, RSS %s, %s allocations", say_time(p->m, s->from_ns),
			     say_size(p->m, live_of(s)), say_size(p->m, s->rss),
			     say_count(p->m, s->allocations)));
		out_printf(c->o,
			   "</title><rect class=\"bare\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" "
			   "height=\"%d\"/></g>\n",
			   x, TOP, across(c, s->to_ns) - x, TALL);
	}
}

static void put_marks(const struct plot *c)
{
	const struct model *m = c->p->m;
	double free_from = 0; /* right end of the last name, so that names do not overlap */
	for (size_t i = 0; i < m->marks.n; i++) {
		const struct mark *k = &m->marks.v[i];
		if (k->time_ns == UNKNOWN || k->time_ns > c->whole_ns)
			continue;
		double x = across(c, k->time_ns), room = WIDTH - x;
		out_printf(c->o,
			   "<line class=\"mark\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>", x,
			   x, TOP, BOTTOM);
		if (x < free_from || !k->name)
			continue;
		put_label(c->p, c->o, x, TOP - 4, room < 120 ? room : 120, "soft", k->name);
		free_from = x + 120;
	}
}

void export_timeline(struct export *x, struct out *o)
{
	struct page *p = x->page;
	struct span *s = NULL;
	struct plot c = {p, o, NULL, curve_make(p->m, SPANS, &s), 1, 0};
	const struct totals *t = &p->m->totals;
	c.s = s;
	for (size_t i = 0; i < c.n; i++) {
		uint64_t live = figure_or_0(live_of(&s[i])), rss = figure_or_0(s[i].rss);
		c.most = live > c.most ? live : c.most;
		c.most = rss > c.most ? rss : c.most;
		c.whole_ns = s[i].to_ns;
	}
	bool rss = t->peak_rss_bytes != UNKNOWN;
	begin(p, o, BOTTOM + 2 * ROW + SIDE,
	      SAY("live heap%s over time, peaks: heap %s at %s%s%s%s",
		  rss ? " (filled) and RSS (line)" : "",
		  est_size(p->m, t->peak_bytes, est_of(p->m->est, EST_PEAK)),
		  say_time(p->m, t->peak_time_ns), rss ? ", RSS " : "",
		  rss ? say_size(p->m, t->peak_rss_bytes) : "", c.n ? "" : ": no timeline"));
	if (c.n) {
		put_grid(&c);
		put_curve(&c, "live", live_of, true);
		put_curve(&c, "rss", rss_of, false);
		put_marks(&c);
		put_tips(&c);
	}
	out_str(o, "</svg>\n");
}
