/* SPDX-License-Identifier: MIT
 * Writes the resident memory at moments: tables resident, resident_site and resident_file.
 */
#include "format/trace.h"
#include "snapshot_insert.h"
#include "snapshot_private.h"

static int put_moments(struct ms_fill *w)
{
	static const struct {
		const char *column;
		unsigned field;
	} figures[] = {{"time_ns", MS_RESIDENT_TIME},
		       {"event", MS_RESIDENT_EVENT},
		       {"pause_ns", MS_RESIDENT_PAUSE},
		       {"blocks", MS_RESIDENT_BLOCKS},
		       {"bytes", MS_RESIDENT_BYTES},
		       {"rss_bytes", MS_RESIDENT_RSS},
		       {"swap_bytes", MS_RESIDENT_SWAP},
		       {"live_bytes", MS_RESIDENT_LIVE},
		       {"slack_bytes", MS_RESIDENT_SLACK},
		       {"free_bytes", MS_RESIDENT_FREE},
		       {"other_bytes", MS_RESIDENT_OTHER},
		       {"stack_bytes", MS_RESIDENT_STACKS},
		       {"file_bytes", MS_RESIDENT_FILES},
		       {"shared_bytes", MS_RESIDENT_SHARED},
		       {"huge_bytes", MS_RESIDENT_HUGE},
		       {"recorder_bytes", MS_RESIDENT_RECORDER},
		       {"untouched_bytes", MS_RESIDENT_UNTOUCHED},
		       {"pinned_bytes", MS_RESIDENT_PINNED},
		       {"trim_bytes", MS_RESIDENT_TRIM},
		       {"arenas", MS_RESIDENT_ARENAS},
		       {"arena_free_bytes", MS_RESIDENT_ARENA_FREE},
		       {"gap_bytes", MS_RESIDENT_GAPS},
		       {"wide", MS_RESIDENT_WIDE}};
	struct ms_insert in = ms_rows(w, "resident");
	for (size_t i = 0; i < w->t->moments.n; i++) {
		const struct ms_fields *h = &w->t->moments.v[i];
		if (h->number[MS_RESIDENT_TIME] > w->p->to_ns)
			continue;
		ms_put(&in, ms_int("process", w->p->id),
		       ms_int("moment", h->number[MS_RESIDENT_MOMENT]),
		       ms_text("label", h->text[MS_RESIDENT_LABEL]),
		       ms_text("state", ms_scan_state_name(h->number[MS_RESIDENT_STATE])));
		for (size_t k = 0; k < sizeof figures / sizeof *figures; k++) {
			struct ms_value v = MS_FIELD(figures[k].column, h, figures[k].field);
			ms_put_values(&in, &v, 1);
		}
		ms_end_row(&in);
	}
	return ms_insert_close(&in);
}

static int put_sites(struct ms_fill *w)
{
	struct ms_insert in = ms_rows(w, "resident_site");
	for (size_t i = 0; i < w->t->resident.n; i++) {
		const struct ms_row *r = &w->t->resident.v[i];
		uint64_t node = r->number[MS_RESIDENT_STACK];
		uint32_t site = !r->text[MS_RESIDENT_FILE - 2] && node < w->r->node_count
					? w->r->site_of_node[node]
					: 0;
		if (site)
			ms_put_row(&in, ms_int("site", w->row_of_site[site - 1]),
				   ms_int("moment", r->number[MS_RESIDENT_MOMENT]),
				   ms_int("blocks", r->number[MS_RESIDENT_BLOCKS]),
				   ms_int("bytes", r->number[MS_RESIDENT_BYTES]),
				   ms_int("live_bytes", r->number[MS_RESIDENT_LIVE]),
				   ms_int("untouched_bytes", r->number[MS_RESIDENT_UNTOUCHED]),
				   ms_int("pinned_bytes", r->number[MS_RESIDENT_PINNED]),
				   ms_int("alone_bytes", r->number[MS_RESIDENT_ALONE]));
	}
	return ms_insert_close(&in);
}

static int put_files(struct ms_fill *w)
{
	struct ms_insert in = ms_rows(w, "resident_file");
	for (size_t i = 0; i < w->t->resident.n; i++) {
		const struct ms_row *r = &w->t->resident.v[i];
		const char *file = r->text[MS_RESIDENT_FILE - 2];
		if (file)
			ms_put_row(&in, ms_int("process", w->p->id),
				   ms_int("moment", r->number[MS_RESIDENT_MOMENT]),
				   ms_text("file", file),
				   ms_int("shared", r->number[MS_RESIDENT_NO_FILE] != 0),
				   ms_int("bytes", r->number[MS_RESIDENT_BYTES]));
	}
	return ms_insert_close(&in);
}

int ms_fill_resident(struct ms_fill *w)
{
	return put_moments(w) || put_sites(w) || put_files(w) ? -1 : 0;
}
