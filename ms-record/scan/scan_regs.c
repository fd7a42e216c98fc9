/* SPDX-License-Identifier: MIT
 * Registers of stopped threads: all of them can hold pointers.
 */
#include <elf.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

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
		unsigned general = sizeof t->regs / 8;
		memcpy(to->regs, &t->regs, sizeof t->regs);
		struct iovec rest = {to->regs + general, (SCAN_REGS - general) * 8};
		if (ptrace(PTRACE_GETREGSET, t->tid, (void *)NT_X86_XSTATE, &rest))
			rest.iov_len = 0;
		to->reg_count = general + (unsigned)(rest.iov_len / 8);
		to->sp = t->regs.rsp;
		to->tp = t->regs.fs_base;
	}
	*count = n;
	return v;
}
