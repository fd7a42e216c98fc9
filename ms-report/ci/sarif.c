/* SPDX-License-Identifier: MIT
 * Writes SARIF 2.1.0 (OASIS) as code scanning services expect it.
 *
 * Call stacks are "stacks" of the results. If that would take many megabytes, each frame is written
 * once, in run.threadFlowLocations, and each result has a "codeFlow" of frame numbers, from the
 * program's entry onwards, because "stacks" cannot share frames.
 */
#include "ci.h"

#include "ms-report/output/out.h"
#include "ms-report/words/page.h"
#include "ms-report/words/say.h"

#include "libcommon/base/json_writer.h"

#define STACKS_MOST 16000000 /* maximum bytes of call stacks in results */
#define SAY(...) ms_arena_printf(&p->m->arena, __VA_ARGS__)

/* Writes a location. A file of the repository is named relative to the repository's root
 * (%SRCROOT%), another file by a file: URI. */
static void location(struct page *p, struct ms_json *j, const struct frame *f, const char *text)
{
	const char *inside = links_file(p->m, &p->links, f);
	const char *outside = !inside && f->file && *f->file == '/' ? f->file : NULL;
	if (inside || outside) {
		ms_json_format(j, "physicalLocation:{artifactLocation:{uri:%s",
			       inside ? links_uri(p->m, inside)
				      : SAY("file://%s", links_uri(p->m, outside)));
		if (inside)
			ms_json_string(j, "uriBaseId", "%SRCROOT%");
		ms_json_close(j, '}');
		if (f->line)
			ms_json_format(j, "region:{startLine:%lu}", (uint64_t)f->line);
		ms_json_close(j, '}');
	}
	ms_json_format(j, "logicalLocations:[{fullyQualifiedName:%s kind:%s}]",
		       frame_name(&p->m->arena, p->m, f), "function");
	if (text)
		ms_json_format(j, "message:{text:%s}", text);
}

/* ---- call stacks ---- */

/* Writes an element of a stack, or of run.threadFlowLocations. */
static void put_frame(struct page *p, struct ms_json *j, const struct frame *f)
{
	const char *path = f->module == NONE ? NULL : p->m->modules.v[f->module].path;
	ms_json_format(j, "{location:{");
	location(p, j, f, ci_frame(p, f));
	ms_json_close(j, '}');
	if (path)
		ms_json_string(j, "module", base_name(path));
	ms_json_close(j, '}');
}

static void stack(struct page *p, struct ms_json *j, const struct site *s)
{
	const struct model *m = p->m;
	ms_json_format(j, "stacks:[{message:{text:%s} frames:[",
		       "call stack of the allocation, innermost first");
	for (uint32_t n = s->stack; n != NONE; n = m->nodes.v[n].parent)
		put_frame(p, j, model_frame(m, n));
	ms_json_format(j, "]}]");
}

/* Describes the table of frames that results refer to. The arrays are indexed by frame of the
 * model: number of uses, and index in the table. */
struct shared {
	uint64_t *uses, *number; /* number NULL = each result contains its whole stack */
	uint32_t *stack;         /* buffer for the frames of one stack */
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
	ms_json_format(j, "codeFlows:[{message:{text:%s} threadFlows:[{locations:[",
		       "calls that lead to the allocation");
	for (size_t n = model_stack(p->m, s->stack, shared->stack); n-- > 0;)
		ms_json_format(j, "{index:%lu}", shared->number[shared->stack[n]]);
	ms_json_format(j, "]}]}]");
}

static void result(struct page *p, struct ms_json *j, const struct shared *shared,
		   const struct finding *x)
{
	const struct frame *at = x->site ? site_frame(p->m, x->site) : NULL;
	ms_json_format(j, "{ruleId:%s ruleIndex:%lu level:%s message:{text:%s} locations:[",
		       finding_rules[x->rule].id, (uint64_t)x->rule, finding_levels[x->level],
		       x->message);
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
	ms_json_format(j, "partialFingerprints:{memscope/v1:%s}", x->key);
	if (x->site) {
		ms_json_format(j, "properties:{site:%lu live_bytes:%lu live_blocks:%lu",
			       (uint64_t)x->site->id, x->site->end.bytes, x->site->end.blocks);
		if (x->rule == RULE_UNREACHABLE)
			ms_json_format(j, "retained_bytes:%lu retained_blocks:%lu",
				       x->site->leak.bytes, x->site->leak.blocks);
		ms_json_close(j, '}');
	}
	ms_json_close(j, '}');
}

static void tool(struct ms_json *j)
{
	ms_json_format(j, "tool:{driver:{name:%s version:%s rules:[", "MemScope", MS_VERSION);
	for (unsigned i = 0; i < RULE_COUNT; i++) {
		const struct rule *r = &finding_rules[i];
		ms_json_format(j,
			       "{id:%s shortDescription:{text:%s} fullDescription:{text:%s}"
			       " defaultConfiguration:{level:%s}}",
			       r->id, r->name, r->text, finding_levels[r->level]);
	}
	ms_json_format(j, "]}}");
}

/* Writes the start time and the exit code of the program that ran. */
static void invocation(struct page *p, struct ms_json *j)
{
	const struct process *first = &p->m->processes.v[0];
	ms_json_format(j, "invocations:[{executionSuccessful:%d", p->m->quality.complete);
	if (p->m->processes.n && say_date(p->m, first->started_ns, true))
		ms_json_string(j, "startTimeUtc", say_date(p->m, first->started_ns, true));
	if (p->m->processes.n && first->exit_status != UNKNOWN)
		ms_json_number(j, "exitCode", first->exit_status);
	ms_json_format(j, "}]");
}

void sarif_report(struct page *p, struct out *o, const struct findings *f)
{
	struct ms_json j = out_json(o);
	ms_json_format(&j, "{$schema:%s version:%s runs:[{",
		       "https://json.schemastore.org/sarif-2.1.0.json", "2.1.0");
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
	ms_json_format(&j, "}]}");
	out_char(o, '\n');
}
