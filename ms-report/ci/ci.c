/* SPDX-License-Identifier: MIT
 * Writes JUnit XML and GitHub's workflow commands.
 */
#include "ci.h"

#include "ms-report/output/out.h"
#include "ms-report/words/page.h"
#include "ms-report/words/say.h"

#define SAY(...) ms_arena_printf(&p->m->arena, __VA_ARGS__)

const char *ci_frame(struct page *p, const struct frame *f)
{
	const struct style plain = {.full_names = p->style.full_names};
	const char *name = frame_label(&p->m->arena, p->m, f, &plain);
	const char *file = links_file(p->m, &p->links, f);
	const char *place = file ? SAY("%s:%u", name_clean(&p->m->arena, file, false), f->line)
				 : frame_place(&p->m->arena, p->m, f, &plain);
	return *place ? SAY("%s (%s)", name, place) : name;
}

/* ---- JUnit ---- */

/* Writes text in XML 1.0. name_clean has already replaced characters that XML forbids. */
static void xml(struct page *p, struct out *o, const char *s)
{
	out_escaped(o, name_clean(&p->m->arena, s, false), "<>&\"", "");
}

static void attribute(struct page *p, struct out *o, const char *name, const char *value)
{
	out_printf(o, " %s=\"", name);
	xml(p, o, value);
	out_char(o, '"');
}

static void stack_lines(struct page *p, struct out *o, const struct site *s)
{
	const struct model *m = p->m;
	for (uint32_t n = s ? s->stack : NONE; n != NONE; n = m->nodes.v[n].parent) {
		xml(p, o, SAY("  %s", ci_frame(p, model_frame(m, n))));
		out_char(o, '\n');
	}
}

static void test_case(struct page *p, struct out *o, const char *class, const char *name,
		      const struct finding *x)
{
	out_str(o, "    <testcase");
	attribute(p, o, "classname", class);
	attribute(p, o, "name", name);
	if (!x) {
		out_str(o, "/>\n");
		return;
	}
	const char *element = x->rule == RULE_BUDGET ? "failure" : "error";
	out_printf(o, ">\n      <%s", element);
	attribute(p, o, "type", finding_rules[x->rule].id);
	attribute(p, o, "message", x->message);
	out_str(o, ">");
	xml(p, o, x->message);
	out_char(o, '\n');
	stack_lines(p, o, x->site);
	out_printf(o, "</%s>\n    </testcase>\n", element);
}

static const struct finding *find(const struct findings *f, const struct budget *b)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->v[i].budget == b)
			return &f->v[i];
	return NULL;
}

/* Returns the finding that the recording is incomplete or, if `compared`, that the comparison is;
 * or NULL. */
static const struct finding *incomplete(const struct findings *f, bool compared)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->v[i].rule == RULE_INCOMPLETE && f->v[i].compared == compared)
			return &f->v[i];
	return NULL;
}

static size_t count(const struct findings *f, enum finding_rule rule)
{
	size_t n = 0;
	for (size_t i = 0; i < f->n; i++)
		n += f->v[i].rule == rule;
	return n;
}

static const char *program(struct page *p)
{
	const struct process *first = p->m->processes.n ? &p->m->processes.v[0] : NULL;
	return first && first->exe ? base_name(first->exe) : "program";
}

static void suite_attributes(struct page *p, struct out *o, const struct findings *f)
{
	out_printf(o, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\"",
		   f->budgets + 1 + (p->m->diff != NULL), count(f, RULE_BUDGET),
		   count(f, RULE_UNDECIDED) + count(f, RULE_INCOMPLETE));
	if (p->m->duration_ns != UNKNOWN)
		out_printf(o, " time=\"%.3f\"", (double)p->m->duration_ns / 1e9);
}

void junit_report(struct page *p, struct out *o, const struct findings *f)
{
	out_str(o, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites");
	suite_attributes(p, o, f);
	out_str(o, ">\n  <testsuite");
	attribute(p, o, "name", SAY("memscope %s", program(p)));
	suite_attributes(p, o, f);
	out_str(o, " skipped=\"0\">\n");
	test_case(p, o, "memscope", "recording is complete", incomplete(f, false));
	if (p->m->diff)
		test_case(p, o, "memscope", "comparison is complete", incomplete(f, true));
	for (size_t i = 0; i < p->budgets->n; i++)
		test_case(p, o, "memscope.budget", p->budgets->v[i].text,
			  find(f, &p->budgets->v[i]));
	out_str(o, "    <system-out>");
	for (size_t i = 0; i < f->n; i++) {
		if (f->v[i].rule != RULE_UNREACHABLE && f->v[i].rule != RULE_GROWING &&
		    f->v[i].rule != RULE_REGRESSION)
			continue;
		xml(p, o, f->v[i].message);
		out_char(o, '\n');
		stack_lines(p, o, f->v[i].site);
	}
	out_str(o, "</system-out>\n  </testsuite>\n</testsuites>\n");
}

/* ---- GitHub ---- */

/* Writes text of a command. In properties, : and , are escaped too. */
static void command_text(struct page *p, struct out *o, const char *s, bool property)
{
	for (s = name_clean(&p->m->arena, s, false); *s; s++) {
		bool code = *s == '%' || *s == '\r' || *s == '\n' ||
			    (property && (*s == ':' || *s == ','));
		if (code)
			out_printf(o, "%%%02X", (unsigned char)*s);
		else
			out_char(o, *s);
	}
}

static void command(struct page *p, struct out *o, const struct finding *x)
{
	const struct frame *at = x->site ? site_frame(p->m, x->site) : NULL;
	const char *file = links_file(p->m, &p->links, at);
	out_printf(o, "::%s ", finding_levels[x->level]);
	if (at && file) {
		out_str(o, "file=");
		command_text(p, o, file, true);
		if (at->line)
			out_printf(o, ",line=%u", at->line);
		out_char(o, ',');
	}
	out_str(o, "title=");
	command_text(p, o, finding_rules[x->rule].name, true);
	out_str(o, "::");
	command_text(p, o, x->message, false);
	const struct model *m = p->m;
	for (uint32_t n = x->site ? x->site->stack : NONE; n != NONE; n = m->nodes.v[n].parent) {
		out_str(o, "%0A  ");
		command_text(p, o, ci_frame(p, model_frame(m, n)), false);
	}
	out_char(o, '\n');
}

void github_report(struct page *p, struct out *o, const struct findings *f, size_t limit)
{
	size_t shown[RULE_COUNT] = {0}, notes = 0;
	for (size_t i = 0; i < f->n; i++)
		if (f->v[i].level == LEVEL_NOTE)
			notes++;
		else if (shown[f->v[i].rule]++ < limit)
			command(p, o, &f->v[i]);
	if (notes)
		out_printf(
			o,
			"::notice title=MemScope::%s not listed here: the old runs have %s too\n",
			say_things(p->m, notes, "finding"), notes == 1 ? "it" : "them");
	for (unsigned r = 0; r < RULE_COUNT; r++)
		if (shown[r] > limit)
			out_printf(o, "::notice title=MemScope::%s: %s\n",
				   say_things(p->m, shown[r] - limit, "more finding"),
				   finding_rules[r].name);
}
