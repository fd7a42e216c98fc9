/* SPDX-License-Identifier: MIT
 * SARIF 2.1.0 (OASIS), as code scanning services take it.
 */
#include "ci.h"

#include "ms-report/output/out.h"
#include "ms-report/words/page.h"
#include "ms-report/words/say.h"

#include "libcommon/base/json_writer.h"

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

static void stack(struct page *p, struct ms_json *j, const struct site *s)
{
	const struct model *m = p->m;
	ms_json_open(j, "stacks", '[');
	ms_json_open(j, NULL, '{');
	message(j, "message", "call stack of the allocation, innermost first");
	ms_json_open(j, "frames", '[');
	for (uint32_t n = s->stack; n != NONE; n = m->nodes.v[n].parent) {
		const struct frame *f = model_frame(m, n);
		const char *path = f->module == NONE ? NULL : m->modules.v[f->module].path;
		ms_json_open(j, NULL, '{');
		ms_json_open(j, "location", '{');
		location(p, j, f, ci_frame(p, f));
		ms_json_close(j, '}');
		if (path)
			ms_json_string(j, "module", base_name(path));
		ms_json_close(j, '}');
	}
	ms_json_close(j, ']');
	ms_json_close(j, '}');
	ms_json_close(j, ']');
}

static void result(struct page *p, struct ms_json *j, const struct finding *x)
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
	if (x->site && x->site->stack != NONE)
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
	ms_json_open(&j, "results", '[');
	for (size_t i = 0; i < f->n; i++)
		result(p, &j, &f->v[i]);
	ms_json_close(&j, ']');
	ms_json_close(&j, '}');
	ms_json_close(&j, ']');
	ms_json_close(&j, '}');
	out_char(o, '\n');
}
