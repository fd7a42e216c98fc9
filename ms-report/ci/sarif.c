/* SPDX-License-Identifier: MIT
 * SARIF 2.1.0 (OASIS), as code scanning services take it.
 *
 * Call stacks are "stacks" of the results. Where these would be many megabytes each frame is there
 * once, in run.threadFlowLocations, and results have a "codeFlow" of their numbers, from the
 * program's entry on: stacks cannot share frames.
 */
#include "ci.h"

#include "ms-report/output/out.h"
#include "ms-report/words/page.h"
#include "ms-report/words/say.h"

#include "libcommon/base/json_writer.h"

#include <stdlib.h>

#define STACKS_MOST 16000000 /* bytes of call stacks in results */
#define SAY(...) ms_arena_printf(&p->m->arena, __VA_ARGS__)

/* {"text": ...} */
static void message(struct ms_json *j, const char *key, const char *text)
{
	ms_json_open(j, key, '{');
	ms_json_string(j, "text", text);
	ms_json_close(j, '}');
}

/* Within the repository relative to its root, which the service knows; else a file: address. */
static void location(struct page *p, struct ms_json *j, const struct frame *f, const char *text)
{
	const char *inside = links_file(p->m, &p->links, f);
	const char *outside = !inside && f->file && *f->file == '/' ? f->file : NULL;
	if (inside || outside) {
		ms_json_open(j, "physicalLocation", '{');
		ms_json_open(j, "artifactLocation", '{');
		ms_json_string(j, "uri",
			       inside ? links_uri(p->m, inside)
				      : SAY("file://%s", links_uri(p->m, outside)));
		if (inside)
			ms_json_string(j, "uriBaseId", "%SRCROOT%");
		ms_json_close(j, '}');
		if (f->line) {
			ms_json_open(j, "region", '{');
			ms_json_number(j, "startLine", f->line);
			ms_json_close(j, '}');
		}
		ms_json_close(j, '}');
	}
	ms_json_open(j, "logicalLocations", '[');
	ms_json_open(j, NULL, '{');
	ms_json_string(j, "fullyQualifiedName", frame_name(&p->m->arena, p->m, f));
	ms_json_string(j, "kind", "function");
	ms_json_close(j, '}');
	ms_json_close(j, ']');
	if (text)
		message(j, "message", text);
}

/* ---- call stacks ---- */

/* An element of a stack, or of run.threadFlowLocations. */
static void put_frame(struct page *p, struct ms_json *j, const struct frame *f)
{
	const char *path = f->module == NONE ? NULL : p->m->modules.v[f->module].path;
	ms_json_open(j, NULL, '{');
	ms_json_open(j, "location", '{');
	location(p, j, f, ci_frame(p, f));
	ms_json_close(j, '}');
	if (path)
		ms_json_string(j, "module", base_name(path));
	ms_json_close(j, '}');
}

static void stack(struct page *p, struct ms_json *j, const struct site *s)
{
	const struct model *m = p->m;
	ms_json_open(j, "stacks", '[');
	ms_json_open(j, NULL, '{');
	message(j, "message", "call stack of the allocation, innermost first");
	ms_json_open(j, "frames", '[');
	for (uint32_t n = s->stack; n != NONE; n = m->nodes.v[n].parent)
		put_frame(p, j, model_frame(m, n));
	ms_json_close(j, ']');
	ms_json_close(j, '}');
	ms_json_close(j, ']');
}

/* Frames that results share: by frame of the model how many have it, then its number. */
struct shared {
	uint64_t *uses, *number; /* NULL = results have whole stacks */
	uint32_t *stack;         /* room for the frames of one */
};

/* Returns the bytes that the frames take in all results. */
static uint64_t stacks_bytes(struct page *p, const struct findings *f, uint64_t *uses)
{
	const struct model *m = p->m;
	uint64_t sum = 0;
	for (size_t i = 0; i < f->n; i++)
		for (uint32_t n = f->v[i].site ? f->v[i].site->stack : NONE; n != NONE;
		     n = m->nodes.v[n].parent)
			uses[m->nodes.v[n].frame]++;
	struct out text = {0};
	for (size_t i = 0; i < m->frames.n; i++) {
		struct ms_json j = out_json(&text);
		text.n = 0;
		if (uses[i])
			put_frame(p, &j, &m->frames.v[i]);
		sum += uses[i] * (text.n + 1);
	}
	out_free(&text);
	return sum;
}

static struct shared shared_make(struct page *p, const struct findings *f)
{
	size_t n = p->m->frames.n + 1;
	struct shared s = {.uses = ms_xcalloc(n, sizeof *s.uses)};
	if (stacks_bytes(p, f, s.uses) <= STACKS_MOST)
		return s;
	s.number = ms_xcalloc(n, sizeof *s.number);
	s.stack = ms_xcalloc(p->m->nodes.n + 1, sizeof *s.stack);
	for (size_t i = 1; i < n; i++)
		s.number[i] = s.number[i - 1] + (s.uses[i - 1] != 0);
	return s;
}

static void shared_put(struct page *p, struct ms_json *j, const struct shared *s)
{
	ms_json_open(j, "threadFlowLocations", '[');
	for (size_t i = 0; i < p->m->frames.n; i++)
		if (s->uses[i])
			put_frame(p, j, &p->m->frames.v[i]);
	ms_json_close(j, ']');
}

static void code_flow(struct page *p, struct ms_json *j, const struct shared *shared,
		      const struct site *s)
{
	ms_json_open(j, "codeFlows", '[');
	ms_json_open(j, NULL, '{');
	message(j, "message", "calls that lead to the allocation");
	ms_json_open(j, "threadFlows", '[');
	ms_json_open(j, NULL, '{');
	ms_json_open(j, "locations", '[');
	for (size_t n = model_stack(p->m, s->stack, shared->stack); n-- > 0;) {
		ms_json_open(j, NULL, '{');
		ms_json_number(j, "index", shared->number[shared->stack[n]]);
		ms_json_close(j, '}');
	}
	ms_json_close(j, ']');
	ms_json_close(j, '}');
	ms_json_close(j, ']');
	ms_json_close(j, '}');
	ms_json_close(j, ']');
}

static void result(struct page *p, struct ms_json *j, const struct shared *shared,
		   const struct finding *x)
{
	const struct frame *at = x->site ? site_frame(p->m, x->site) : NULL;
	ms_json_open(j, NULL, '{');
	ms_json_string(j, "ruleId", finding_rules[x->rule].id);
	ms_json_number(j, "ruleIndex", x->rule);
	ms_json_string(j, "level", finding_levels[x->level]);
	message(j, "message", x->message);
	ms_json_open(j, "locations", '[');
	if (at) {
		ms_json_open(j, NULL, '{');
		location(p, j, at, NULL);
		ms_json_close(j, '}');
	}
	ms_json_close(j, ']');
	if (x->site && x->site->stack != NONE && shared->number)
		code_flow(p, j, shared, x->site);
	else if (x->site && x->site->stack != NONE)
		stack(p, j, x->site);
	ms_json_open(j, "partialFingerprints", '{');
	ms_json_string(j, "memscope/v1", x->key);
	ms_json_close(j, '}');
	if (x->site) {
		ms_json_open(j, "properties", '{');
		MS_JSON_NUMBERS(j, {"site", (uint64_t)x->site->id},
				{"live_bytes", x->site->end.bytes},
				{"live_blocks", x->site->end.blocks});
		if (x->rule == RULE_UNREACHABLE)
			MS_JSON_NUMBERS(j, {"retained_bytes", x->site->leak.bytes},
					{"retained_blocks", x->site->leak.blocks});
		ms_json_close(j, '}');
	}
	ms_json_close(j, '}');
}

static void tool(struct ms_json *j)
{
	ms_json_open(j, "tool", '{');
	ms_json_open(j, "driver", '{');
	ms_json_string(j, "name", "MemScope");
	ms_json_string(j, "version", MS_VERSION);
	ms_json_open(j, "rules", '[');
	for (unsigned i = 0; i < RULE_COUNT; i++) {
		const struct rule *r = &finding_rules[i];
		ms_json_open(j, NULL, '{');
		ms_json_string(j, "id", r->id);
		message(j, "shortDescription", r->name);
		message(j, "fullDescription", r->text);
		ms_json_open(j, "defaultConfiguration", '{');
		ms_json_string(j, "level", finding_levels[r->level]);
		ms_json_close(j, '}');
		ms_json_close(j, '}');
	}
	ms_json_close(j, ']');
	ms_json_close(j, '}');
	ms_json_close(j, '}');
}

/* The program that ran. */
static void invocation(struct page *p, struct ms_json *j)
{
	const struct process *first = &p->m->processes.v[0];
	ms_json_open(j, "invocations", '[');
	ms_json_open(j, NULL, '{');
	ms_json_bool(j, "executionSuccessful", p->m->quality.complete);
	if (p->m->processes.n && say_date(p->m, first->started_ns, true))
		ms_json_string(j, "startTimeUtc", say_date(p->m, first->started_ns, true));
	if (p->m->processes.n && first->exit_status != UNKNOWN)
		ms_json_number(j, "exitCode", first->exit_status);
	ms_json_close(j, '}');
	ms_json_close(j, ']');
}

void sarif_report(struct page *p, struct out *o, const struct findings *f)
{
	struct ms_json j = out_json(o);
	ms_json_open(&j, NULL, '{');
	ms_json_string(&j, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
	ms_json_string(&j, "version", "2.1.0");
	ms_json_open(&j, "runs", '[');
	ms_json_open(&j, NULL, '{');
	tool(&j);
	invocation(p, &j);
	struct shared shared = shared_make(p, f);
	ms_json_open(&j, "results", '[');
	for (size_t i = 0; i < f->n; i++)
		result(p, &j, &shared, &f->v[i]);
	ms_json_close(&j, ']');
	if (shared.number)
		shared_put(p, &j, &shared);
	MS_FREE(shared.uses, shared.number, shared.stack);
	ms_json_close(&j, '}');
	ms_json_close(&j, ']');
	ms_json_close(&j, '}');
	out_char(o, '\n');
}
