/* SPDX-License-Identifier: MIT
 * Reads the registers of stopped threads, all of which can hold pointers.
 */
#include <string.h>
#include <sys/syscall.h>

#include "libcommon/base/arena.h"
#include "scan_work.h"

static void leave_end(struct scan_thread *t, const struct mg_end_frame *f)
{
	t->sp = f->sp;
	t->calls = true;
	t->reg_count = MG_KEPT + 1;
	memcpy(t->regs, f->regs, sizeof f->regs);
}

void scan_leave_ends(struct scan_thread *v, size_t n, const struct mg_session *s, bool traced)
{
	for (size_t i = 0; i < n; i++)
		for (unsigned k = 0; k <= MG_END_FRAMES; k++) {
			const struct mg_end_frame *f = &s->end_frames[k];
			if (f->tp == v[i].tp && f->sp > v[i].sp && (v[i].exits || !traced))
				leave_end(&v[i], f);
		}
}

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
		to->ip = t->regs.ip;
		to->exits = t->regs.call == SYS_exit_group;
		to->calls = false;
		to->tid = (uint32_t)t->tid;
		to->inner = false;
	}
	*count = n;
	return v;
}
