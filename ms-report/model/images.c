/* SPDX-License-Identifier: MIT
 * Images of one process that replaced each other by exec: which one a figure is of.
 */
#include "facts.h"

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

uint64_t images_row(const struct model *m, uint32_t image, uint64_t figure)
{
	image = figure == UNKNOWN ? NONE : m->processes.n == 1 ? 0 : image;
	return image == NONE ? UNKNOWN : (uint64_t)m->processes.v[image].id;
}
