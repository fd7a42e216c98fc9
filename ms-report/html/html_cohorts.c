/* SPDX-License-Identifier: MIT
 * Writes cohorts for the heat map of a page.
 */
#include "html_data.h"

#include "ms-report/words/cohorts.h"
#include "ms-report/words/page.h"

#include "libcommon/base/json_writer.h"

#define ENDS 48u   /* no ends are merged */
#define LABELS 50u /* rows of labels at most, the first by name */

void html_cohorts_write(struct page *p, struct ms_json *j)
{
	ms_json_open(j, "cohorts", '[');
	for (int kind = 0; kind < COHORT_KINDS; kind++) {
		struct cohorts c = cohorts_read(p->m, kind, NULL, ENDS);
		if (!c.n)
			continue;
		ms_json_format(j, "{kind:%s pid:%lu ends:[", c.kind, c.pid);
		for (size_t i = 0; i < c.end_count; i++)
			ms_json_number(j, NULL, c.ends[i].ns);
		ms_json_format(j, "] rows:[");
		for (size_t i = 0; i < c.n && (kind != COHORT_LABEL || i < LABELS); i++) {
			const struct cohort *x = &c.rows[i];
			ms_json_format(
				j, "{name:%s before:%d from_ns:%lu to_ns:%lu allocated:%lu live:[",
				html_text(p, x->name), kind != COHORT_LABEL && !x->part, x->from_ns,
				x->to_ns, x->allocated);
			for (size_t k = 0; k < c.end_count; k++)
				ms_json_number(j, NULL, x->live[k]);
			ms_json_format(j, "]}");
		}
		ms_json_format(j, "]}");
	}
	ms_json_close(j, ']');
}
