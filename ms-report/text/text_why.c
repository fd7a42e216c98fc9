/* SPDX-License-Identifier: MIT
 * What keeps the blocks of a place alive: a title, and labelled texts below it.
 */
#include "text.h"

#include "ms-report/output/out.h"

void text_why(struct page *p, struct out *o, const char *place, size_t limit)
{
	const struct kept_why *v;
	size_t n = kept_why(p->m, place, limit, &p->style, &v);
	for (size_t i = 0; i < n; i++) {
		if (i)
			out_char(o, '\n');
		text_title(p, o, v[i].title);
		for (size_t k = 0; k < v[i].n; k++) {
			const struct kept_fact *f = &v[i].v[k];
			text_under(p, o, ms_arena_printf(&p->m->arena, "  %s", f->label), f->text,
				   14);
		}
	}
}

void markdown_why(struct page *p, struct out *o, const char *place, size_t limit)
{
	const struct kept_why *v;
	size_t n = kept_why(p->m, place, limit, &p->style, &v);
	for (size_t i = 0; i < n; i++) {
		out_str(o, "#### ");
		markdown_plain(p, o, v[i].title);
		out_str(o, "\n\n");
		for (size_t k = 0; k < v[i].n; k++) {
			out_printf(o, "- **%s** ", v[i].v[k].label);
			markdown_plain(p, o, v[i].v[k].text);
			out_char(o, '\n');
		}
		out_str(o, v[i].n ? "\n" : "");
	}
}
