/* SPDX-License-Identifier: MIT
 * Reads the notes of a core dump: threads with their registers, files that are mapped, what the kernel
 * told the program at its start.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>

#include "dump_file.h"
#include "libcommon/base/arena.h"
#include "ms-record/base/cpu.h"
#include "ms-record/guest/layout.h"

#define THREADS_MOST 65536u
#define ALIGN4(n) (((n) + 3) & ~UINT64_C(3))

/* Describes a note; `data` has `bytes` bytes. */
struct note {
	uint32_t type;
	const uint8_t *data;
	size_t bytes;
};

static struct dump_thread *last_thread(struct dump_file *d)
{
	return d->thread_count ? &d->threads[d->thread_count - 1] : NULL;
}

static void take_thread(struct dump_file *d, const struct note *n)
{
	struct elf_prstatus s;
	if (n->bytes < sizeof s || d->thread_count == THREADS_MOST)
		return;
	memcpy(&s, n->data, sizeof s);
	struct dump_thread *t = MS_APPEND(d->threads, d->thread_count, d->thread_room);
	*t = (struct dump_thread){.tid = s.pr_pid};
	_Static_assert(sizeof s.pr_reg == sizeof t->regs.all, "the dump's registers are ptrace's");
	memcpy(&t->regs.all, &s.pr_reg, sizeof s.pr_reg);
	cpu_regs_sort(&t->regs);
	if (d->thread_count == 1)
		d->signal = s.pr_cursig;
}

static void take_process(struct dump_file *d, const struct note *n)
{
	struct elf_prpsinfo p;
	if (n->bytes < sizeof p)
		return;
	memcpy(&p, n->data, sizeof p);
	d->pid = p.pr_pid;
	d->ppid = p.pr_ppid;
	d->uid = p.pr_uid;
	memcpy(d->name, p.pr_fname, sizeof p.pr_fname);
	memcpy(d->args, p.pr_psargs, sizeof p.pr_psargs);
}

static void take_auxv(struct dump_file *d, const struct note *n)
{
	uint64_t pair[2];
	for (size_t at = 0; at + sizeof pair <= n->bytes; at += sizeof pair) {
		memcpy(pair, n->data + at, sizeof pair);
		uint64_t *to = pair[0] == AT_PAGESZ         ? &d->page_bytes
			       : pair[0] == AT_ENTRY        ? &d->code
			       : pair[0] == AT_SYSINFO_EHDR ? &d->vdso
			       : pair[0] == AT_RANDOM       ? &d->stack
							    : NULL;
		if (to)
			*to = pair[1];
	}
}

/* Lists the mapped files. The note has a count, a unit, for each file the start and end of a mapping and
 * its offset in units, and then the paths. */
static void take_files(struct dump_file *d, const struct note *n)
{
	uint64_t head[2], file[3], last = 0;
	const uint8_t *end = n->data + n->bytes;
	if (n->bytes < sizeof head)
		return;
	memcpy(head, n->data, sizeof head);
	if (head[0] > (n->bytes - sizeof head) / (sizeof file + 1))
		return;
	const uint8_t *at = n->data + sizeof head, *path = at + head[0] * sizeof file;
	for (uint64_t i = 0; i < head[0] && path < end; i++, at += sizeof file) {
		const uint8_t *stop = memchr(path, '\0', (size_t)(end - path));
		memcpy(file, at, sizeof file);
		/* They come in the order of their addresses. */
		if (!stop || file[0] < last || file[1] < file[0] || file[1] >= MG_ADDRESS_END)
			return;
		last = file[1];
		*MS_APPEND(d->files, d->file_count, d->file_room) = (struct dump_mapped){
			file[0], file[1], file[2] * head[1], (const char *)path};
		path = stop + 1;
	}
}

static void take(struct dump_file *d, const struct note *n)
{
	struct dump_thread *t = last_thread(d);
	if (n->type == NT_PRSTATUS)
		take_thread(d, n);
	else if (n->type == NT_PRPSINFO)
		take_process(d, n);
	else if (n->type == NT_AUXV)
		take_auxv(d, n);
	else if (n->type == NT_FILE)
		take_files(d, n);
	else if (n->type == NT_ARM_TLS && t && n->bytes >= sizeof t->regs.tp)
		memcpy(&t->regs.tp, n->data, sizeof t->regs.tp);
	else if ((n->type == CPU_VECTOR_NOTE || (n->type == NT_FPREGSET && !t->vector_bytes)) &&
		 t) {
		t->vectors = (uint64_t)(n->data - d->notes);
		t->vector_bytes = n->bytes;
	}
}

void dump_read_notes(struct dump_file *d, size_t bytes)
{
	Elf64_Nhdr h;
	for (uint64_t at = 0; at + sizeof h <= bytes;) {
		memcpy(&h, d->notes + at, sizeof h);
		uint64_t data = at + sizeof h + ALIGN4((uint64_t)h.n_namesz);
		uint64_t next = data + ALIGN4((uint64_t)h.n_descsz);
		if (data > bytes || h.n_descsz > bytes - data)
			return;
		take(d, &(struct note){h.n_type, d->notes + data, h.n_descsz});
		at = next;
	}
}
