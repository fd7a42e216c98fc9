/* SPDX-License-Identifier: MIT
 * Images of one process that replaced each other by exec: which one a figure is of.
 */
#include "images.h"

#include "model_rows.h"

#include "names.h"
#include "say.h"

#include "libcommon/base/json_writer.h"

void images_link(struct model *m)
{
	uint32_t last = NONE;
	m->images = 0;
	m->peak_image = m->end_image = NONE;
	for (uint32_t i = 0; i < m->processes.n; i++) {
		struct process *p = &m->processes.v[i];
		p->became = p->became_row > 0 ? MODEL_FIND(m->processes, p->became_row) : NONE;
		p->became = p->became > i ? p->became : NONE; /* so that following it ends */
		m->images += p->became != NONE;
		last = p->became == NONE ? i : last;
		if (p->at_sum_peak == m->sum_peak_bytes && p->at_sum_peak)
			m->peak_image = i;
	}
	if (m->sum_peak_bytes == UNKNOWN || m->processes.n < 2)
		m->peak_image = NONE;
	if (m->images && m->images + 1 == m->processes.n)
		m->end_image = last;
}

const struct process *images_last(const struct model *m, const struct process *p)
{
	while (p->became != NONE)
		p = &m->processes.v[p->became];
	return p;
}

#define SAY(...) ms_arena_printf(&m->arena, __VA_ARGS__)

/* The image by its number among those of its process, or by its process. */
static const char *image_of(struct model *m, uint32_t image)
{
	if (image == NONE)
		return NULL;
	const struct process *p = &m->processes.v[image];
	size_t number = 1, all = 1;
	for (uint32_t at = image, i = image; i-- > 0;)
		if (m->processes.v[i].became == at) {
			at = i;
			number++;
			all++;
		}
	for (const struct process *q = p; q->became != NONE; all++)
		q = &m->processes.v[q->became];
	const char *name = p->exe ? name_clean(&m->arena, base_name(p->exe), false) : "unknown";
	if (all > 1)
		return SAY(", of image %zu of %zu, %s", number, all, name);
	return SAY(", of %s (pid %llu)", name, (unsigned long long)p->pid);
}

const char *images_of_peak(struct model *m)
{
	return image_of(m, m->peak_image);
}

const char *images_of_end(struct model *m)
{
	return image_of(m, m->end_image);
}

const char *images_gone(struct model *m)
{
	if (!m->images)
		return NULL;
	return SAY("%s in %s, gone with %s", say_size(m, m->totals.exec_bytes),
		   say_things(m, m->totals.exec_blocks, "block", "blocks"),
		   m->images == 1
			   ? "the image that became another"
			   : SAY("the %s images that became others", say_count(m, m->images)));
}

static uint64_t row(const struct model *m, uint32_t image)
{
	return image == NONE ? UNKNOWN : (uint64_t)m->processes.v[image].id;
}

void images_json(const struct model *m, struct ms_json *j)
{
	const struct totals *t = &m->totals;
	bool one = m->processes.n == 1;
	uint32_t peak = one ? 0 : m->peak_image, end = one ? 0 : m->end_image;
	ms_json_number(j, "peak_process", row(m, t->peak_bytes == UNKNOWN ? NONE : peak));
	ms_json_number(j, "unfreed_process", row(m, t->unfreed_bytes == UNKNOWN ? NONE : end));
}
