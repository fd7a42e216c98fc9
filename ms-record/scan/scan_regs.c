/* SPDX-License-Identifier: MIT
 * Registers of stopped threads: all of them can hold pointers.
 */
#include <string.h>

#include "libcommon/base/arena.h"
#include "scan_work.h"

struct scan_thread *scan_registers(const struct hijack_stop *s, size_t *count)
{
	struct scan_thread *v = ms_xrealloc(NULL, s->threads.n + 1, sizeof *v);
	size_t n = 0;
	for (size_t i = 0; i < s->threads.n; i++) {
		const struct hijack_thread *t = &s->threads.v[i];
		if (t->gone)
			continue;
		struct scan_thread *to = &v[n++];
		unsigned general = sizeof t->regs.all / 8;
		memcpy(to->regs, &t->regs.all, sizeof t->regs.all);
		size_t rest =
			cpu_vectors_get(t->tid, to->regs + general, (SCAN_REGS - general) * 8);
		to->reg_count = general + (unsigned)(rest / 8);
		to->sp = t->regs.sp;
		to->tp = t->regs.tp;
	}
	*count = n;
	return v;
}
