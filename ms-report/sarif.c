/* SPDX-License-Identifier: MIT
 * SARIF 2.1.0 (OASIS), as code scanning services take it.
 */
#include "ci.h"

#include "json_writer.h"
#include "links.h"
#include "names.h"
#include "out.h"
#include "text.h"

#define SAY(...) ms_arena_printf(&p->m->arena, __VA_ARGS__)

/* Within the repository relative to its root, which the service knows; else a file: address. */
static void location(struct page *p, struct json *j, const struct frame *f, const char *text)
{
	const char *inside = links_file(p->m, &p->links, f);
	const char *outside = !inside && f->file && *f->file == '/' ? f->file : NULL;
	if (inside || outside) {
		json_open(j, "physicalLocation", '{');
		json_open(j, "artifactLocation", '{');
		json_string(j, "uri",
			    inside ? links_uri(p->m, inside)
				   : SAY("file://%s", links_uri(p->m, outside)));
		if (inside)
			json_string(j, "uriBaseId", "%SRCROOT%");
		json_close(j, '}');
		if (f->line) {
			json_open(j, "region", '{');
			json_number(j, "startLine", f->line);
			json_close(j, '}');
		}
		json_close(j, '}');
	}
	json_open(j, "logicalLocations", '[');
	json_open(j, NULL, '{');
	json_string(j, "fullyQualifiedName", frame_name(&p->m->arena, p->m, f));
	json_string(j, "kind", "function");
	json_close(j, '}');
	json_close(j, ']');
	if (text) {
		json_open(j, "message", '{');
		json_string(j, "text", text);
		json_close(j, '}');
	}
}

static void stack(struct page *p, struct json *j, const struct site *s)
{
	uint32_t node = s->stack;
	json_open(j, "stacks", '[');
	json_open(j, NULL, '{');
	json_open(j, "message", '{');
	json_string(j, "text", "call stack of the allocation, innermost first");
	json_close(j, '}');
	json_open(j, "frames", '[');
	for (const struct frame *f; (f = ci_next(p->m, &node));) {
		const char *path = f->module == NONE ? NULL : p->m->modules.v[f->module].path;
		json_open(j, NULL, '{');
		json_open(j, "location", '{');
		location(p, j, f, ci_frame(p, f));
		json_close(j, '}');
		if (path)
			json_string(j, "module", base_name(path));
		json_close(j, '}');
	}
	json_close(j, ']');
	json_close(j, '}');
	json_close(j, ']');
}

static void result(struct page *p, struct json *j, const struct finding *x)
{
	const struct frame *at = x->site ? site_frame(p->m, x->site) : NULL;
	json_open(j, NULL, '{');
	json_string(j, "ruleId", finding_rules[x->rule].id);
	json_number(j, "ruleIndex", x->rule);
	json_string(j, "level", finding_rules[x->rule].error ? "error" : "warning");
	json_open(j, "message", '{');
	json_string(j, "text", x->message);
	json_close(j, '}');
	json_open(j, "locations", '[');
	if (at) {
		json_open(j, NULL, '{');
		location(p, j, at, NULL);
		json_close(j, '}');
	}
	json_close(j, ']');
	if (x->site && x->site->stack != NONE)
		stack(p, j, x->site);
	json_open(j, "partialFingerprints", '{');
	json_string(j, "memscope/v1", x->key);
	json_close(j, '}');
	if (x->site) {
		json_open(j, "properties", '{');
		json_number(j, "site", (uint64_t)x->site->id);
		json_number(j, "live_bytes", x->site->end.bytes);
		json_number(j, "live_blocks", x->site->end.blocks);
		json_close(j, '}');
	}
	json_close(j, '}');
}

static void tool(struct json *j)
{
	json_open(j, "tool", '{');
	json_open(j, "driver", '{');
	json_string(j, "name", "MemScope");
	json_string(j, "version", MS_VERSION);
	json_open(j, "rules", '[');
	for (unsigned i = 0; i < RULE_COUNT; i++) {
		const struct rule *r = &finding_rules[i];
		json_open(j, NULL, '{');
		json_string(j, "id", r->id);
		json_open(j, "shortDescription", '{');
		json_string(j, "text", r->name);
		json_close(j, '}');
		json_open(j, "fullDescription", '{');
		json_string(j, "text", r->text);
		json_close(j, '}');
		json_open(j, "defaultConfiguration", '{');
		json_string(j, "level", r->error ? "error" : "warning");
		json_close(j, '}');
		json_close(j, '}');
	}
	json_close(j, ']');
	json_close(j, '}');
	json_close(j, '}');
}

/* The program that ran. */
static void invocation(struct page *p, struct json *j)
{
	const struct process *first = &p->m->processes.v[0];
	json_open(j, "invocations", '[');
	json_open(j, NULL, '{');
	json_bool(j, "executionSuccessful", p->m->quality.complete);
	if (p->m->processes.n && say_date(p->m, first->started_ns, true))
		json_string(j, "startTimeUtc", say_date(p->m, first->started_ns, true));
	if (p->m->processes.n && first->exit_status != UNKNOWN)
		json_number(j, "exitCode", first->exit_status);
	json_close(j, '}');
	json_close(j, ']');
}

void sarif_report(struct page *p, struct out *o, const struct findings *f)
{
	struct json j = {.o = o};
	json_open(&j, NULL, '{');
	json_string(&j, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
	json_string(&j, "version", "2.1.0");
	json_open(&j, "runs", '[');
	json_open(&j, NULL, '{');
	tool(&j);
	invocation(p, &j);
	json_open(&j, "results", '[');
	for (size_t i = 0; i < f->n; i++)
		result(p, &j, &f->v[i]);
	json_close(&j, ']');
	json_close(&j, '}');
	json_close(&j, ']');
	json_close(&j, '}');
	out_char(o, '\n');
}
