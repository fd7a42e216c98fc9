/* SPDX-License-Identifier: MIT
 * Reads the headers of a core dump, and the memory in it.
 */
#include "dump_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/clock.h"
#include "libcommon/base/err.h"
#include "libcommon/base/order.h"
#include "ms-record/base/cpu.h"
#include "ms-record/base/descriptor.h"
#include "ms-record/guest/layout.h"

#define NOTES_MOST ((uint64_t)256 << 20)
#define SEGMENTS_AT_ONCE 64u
#define PAGE 4096u

static bool get(const struct dump_file *d, uint64_t offset, void *to, size_t bytes)
{
	if (offset > d->bytes || bytes > d->bytes - offset)
		return false;
	for (size_t done = 0; done < bytes;) {
		ssize_t n = pread(d->fd, (char *)to + done, bytes - done, (off_t)(offset + done));
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

/* ---- headers ---- */

static int refuse(const struct dump_file *d, const char *why, struct ms_err *err)
{
	return ms_err_set(err, "cannot read '%s': %s", d->path, why);
}

/* Returns why the file is no core dump that can be read; NULL = it is one. */
static const char *unfit(const struct dump_file *d, const uint8_t *start, const Elf64_Ehdr *h)
{
	static const uint8_t packed[][4] = {{0x28, 0xb5, 0x2f, 0xfd}, /* zstd, xz, lz4, gzip */
					    {0xfd, '7', 'z', 'X'},
					    {0x04, 0x22, 0x4d, 0x18},
					    {0x1f, 0x8b, 0x08}};
	for (size_t i = 0; i < sizeof packed / sizeof *packed; i++)
		if (!memcmp(start, packed[i], i == 3 ? 3 : 4))
			return "it is compressed: decompress it first, as 'coredumpctl dump' does";
	if (memcmp(start, ELFMAG, SELFMAG))
		return "it is not a core dump";
	if (start[EI_CLASS] != ELFCLASS64)
		return start[EI_CLASS] == ELFCLASS32 ? "it is of a 32-bit program"
						     : "its header is damaged";
	if (d->bytes < sizeof *h)
		return "it is cut within its header";
	if (h->e_type != ET_CORE)
		return h->e_type == ET_EXEC || h->e_type == ET_DYN
			       ? "it is a program or a library, not a core dump"
			       : "it is an ELF file, but not a core dump";
	if (h->e_machine != CPU_MACHINE)
		return "it is of a program for another processor";
	return h->e_phentsize == sizeof(Elf64_Phdr) ? NULL : "its header is damaged";
}

/* Returns the number of segments: where they are more than 65,534, section 0 has it. */
static uint64_t segments_of(const struct dump_file *d, const Elf64_Ehdr *h)
{
	Elf64_Shdr s;
	if (h->e_phnum != PN_XNUM)
		return h->e_phnum;
	return get(d, h->e_shoff, &s, sizeof s) ? s.sh_info : 0;
}

struct segment {
	uint64_t start, end;
	struct dump_contents contents;
	uint32_t flags;
};

struct segments {
	struct segment *v;
	size_t n, cap;
};

static void add_segment(struct dump_file *d, struct segments *s, const Elf64_Phdr *p)
{
	uint64_t start = p->p_vaddr, bytes = p->p_memsz;
	/* The kernel's page for old system calls lies above all others. */
	if (!bytes || start % PAGE || bytes % PAGE || start >= MG_ADDRESS_END ||
	    bytes > MG_ADDRESS_END - start)
		return;
	uint64_t said = p->p_filesz < bytes ? p->p_filesz : bytes;
	uint64_t left = p->p_offset < d->bytes ? d->bytes - p->p_offset : 0;
	uint64_t there = said < left ? said : left & ~(uint64_t)(PAGE - 1);
	d->missing += said - there;
	*MS_PUSH(s) = (struct segment){
		.start = start,
		.end = start + bytes,
		.contents = {.offset = p->p_offset, .bytes = there, .lacks = said - there},
		.flags = p->p_flags};
}

/* Reads the notes of a segment of notes, if it is the first one that has any. */
static void take_notes(struct dump_file *d, const Elf64_Phdr *p)
{
	uint64_t left = p->p_offset < d->bytes ? d->bytes - p->p_offset : 0;
	uint64_t bytes = p->p_filesz < left ? p->p_filesz : left;
	if (d->notes || !bytes)
		return;
	bytes = bytes < NOTES_MOST ? bytes : NOTES_MOST;
	d->notes = ms_xcalloc(bytes, 1);
	if (get(d, p->p_offset, d->notes, bytes))
		dump_read_notes(d, bytes);
}

/* Passes all segments of that type to `f`. */
static void each_segment(struct dump_file *d, const Elf64_Ehdr *h, uint32_t type,
			 struct segments *s)
{
	Elf64_Phdr p[SEGMENTS_AT_ONCE];
	uint64_t n = segments_of(d, h), at = h->e_phoff;
	for (size_t some; n && at <= d->bytes; n -= some, at += some * sizeof *p) {
		some = n < SEGMENTS_AT_ONCE ? (size_t)n : SEGMENTS_AT_ONCE;
		uint64_t there = (d->bytes - at) / sizeof *p;
		some = some < there ? some : (size_t)there;
		if (!some || !get(d, at, p, some * sizeof *p))
			return;
		for (size_t i = 0; i < some; i++)
			if (p[i].p_type == type && type == PT_LOAD)
				add_segment(d, s, &p[i]);
			else if (p[i].p_type == type)
				take_notes(d, &p[i]);
	}
}

static int by_start(const void *a, const void *b)
{
	const struct segment *x = a, *y = b;
	return MS_ORDER(x->start, y->start);
}

/* ---- mappings ---- */

/* Drops those that overlap an earlier one, as in a damaged file. */
static void order_segments(struct segments *s)
{
	size_t n = 0;
	MS_SORT(s->v, s->n, by_start);
	for (size_t i = 0; i < s->n; i++)
		if (!n || s->v[i].start >= s->v[n - 1].end)
			s->v[n++] = s->v[i];
	s->n = n;
}

/* Adds what is mapped of files where no segment is: gdb leaves out what it does not store. That is
 * nothing that the program wrote to. */
static void add_files(const struct dump_file *d, struct segments *s)
{
	size_t at = 0, n = s->n;
	for (size_t i = 0; i < d->file_count; i++) {
		const struct dump_mapped *f = &d->files[i];
		uint64_t from = f->start;
		while (at < n && s->v[at].end <= from)
			at++;
		for (size_t k = at; from < f->end; k++) {
			uint64_t to = k < n && s->v[k].start < f->end ? s->v[k].start : f->end;
			if (from < to)
				*MS_PUSH(s) = (struct segment){
					.start = from, .end = to, .flags = PF_R | PF_X};
			from = k < n && s->v[k].end > to ? s->v[k].end : to;
		}
	}
	order_segments(s);
}

/* Makes mappings of the segments. */
static void add_maps(struct dump_file *d, struct segments *s)
{
	order_segments(s);
	add_files(d, s);
	d->contents = ms_xcalloc(s->n + 1, sizeof *d->contents);
	for (size_t i = 0, at = 0; i < s->n; i++) {
		const struct segment *g = &s->v[i];
		while (at < d->file_count && d->files[at].end <= g->start)
			at++;
		const struct dump_mapped *f = at < d->file_count ? &d->files[at] : NULL;
		bool of = f && f->start <= g->start;
		/* gdb stores guards of stacks, and what heaps reserve, as memory that can be read. */
		bool guard = !of && !(g->flags & (PF_W | PF_X));
		d->contents[i] = g->contents;
		*MS_PUSH(&d->maps) =
			(struct attach_map){.start = g->start,
					    .end = g->end,
					    .offset = of ? f->offset + (g->start - f->start) : 0,
					    .read = g->flags & PF_R && !guard,
					    .write = g->flags & PF_W,
					    .exec = g->flags & PF_X,
					    .path = ms_xstrdup(of ? f->path : "")};
	}
}

static void name_map(struct dump_file *d, uint64_t address, const char *name)
{
	size_t i = MS_COUNT_UP_TO(d->maps.v, d->maps.n, end, address);
	if (!address || i == d->maps.n || d->maps.v[i].start > address || *d->maps.v[i].path)
		return;
	free(d->maps.v[i].path);
	d->maps.v[i].path = ms_xstrdup(name);
}

/* Finds the path of the program, and gives its mappings the path at which its file is now. */
static void find_program(struct dump_file *d, const char *exe)
{
	const struct attach_map *m = attach_maps_at(&d->maps, d->code);
	d->exe = ms_xstrdup(m ? m->path : "");
	char *now = exe ? realpath(exe, NULL) : NULL;
	for (size_t i = 0; now && *d->exe && i < d->maps.n; i++) {
		if (strcmp(d->maps.v[i].path, d->exe) != 0)
			continue;
		free(d->maps.v[i].path);
		d->maps.v[i].path = ms_xstrdup(now);
	}
	if (now && *d->exe) {
		free(d->exe);
		d->exe = ms_xstrdup(now);
	}
	free(now);
}

/* Compares the build-id of the program's file with the one in the dumped memory. */
static int check_program(const struct dump_file *d, const char *exe, struct ms_err *err)
{
	const struct attach_memory mem = dump_memory(d);
	struct ms_elf_reader file, was;
	uint8_t ids[2][MS_ELF_ID_MOST];
	size_t i = 0;
	int fd = open(exe, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return ms_err_sys(err, "cannot open '%s'", exe);
	bool elf = ms_elf_read(&file, ms_elf_in_file(fd));
	size_t n = elf ? ms_elf_build_id(&file, ids[0]) : 0;
	close(fd);
	if (!elf)
		return ms_err_set(err,
				  "cannot use '%s' as the program of '%s': it is not an ELF "
				  "file",
				  exe, d->path);
	while (i < d->maps.n && (d->maps.v[i].offset || strcmp(d->maps.v[i].path, d->exe) != 0))
		i++;
	if (i == d->maps.n || !*d->exe ||
	    !ms_elf_read(&was, attach_elf_at(&mem, d->maps.v[i].start)))
		return 0; /* it cannot be compared */
	size_t m = ms_elf_build_id(&was, ids[1]);
	if (m && (m != n || memcmp(ids[0], ids[1], n) != 0))
		return ms_err_set(err,
				  "cannot use '%s' as the program of '%s': it has another "
				  "build-id, so it is another program or another build",
				  exe, d->path);
	return 0;
}

int dump_open(struct dump_file *d, const char *path, const char *exe, struct ms_err *err)
{
	struct stat st;
	Elf64_Ehdr h = {0};
	struct segments s = {0};
	*d = (struct dump_file){.path = path, .uid = UINT64_MAX, .page_bytes = PAGE};
	d->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (d->fd < 0 || fstat(d->fd, &st))
		return ms_err_sys(err, "cannot open '%s'", path);
	if (!S_ISREG(st.st_mode))
		return refuse(d,
			      S_ISDIR(st.st_mode) ? "it is a folder" : "it is not a regular file",
			      err);
	d->bytes = (uint64_t)st.st_size;
	d->written_ns = (int64_t)ms_ns_of(st.st_mtim);
	if (!d->bytes)
		return refuse(d, "it is empty", err);
	get(d, 0, &h, d->bytes < sizeof h ? d->bytes : sizeof h);
	const char *why = unfit(d, h.e_ident, &h);
	if (why)
		return refuse(d, why, err);
	each_segment(d, &h, PT_NOTE, NULL);
	each_segment(d, &h, PT_LOAD, &s);
	add_maps(d, &s);
	free(s.v);
	if (!d->maps.n || !d->thread_count)
		return refuse(d, !d->maps.n ? "it has no memory in it" : "it has no threads in it",
			      err);
	if (d->page_bytes != PAGE)
		return refuse(d, "its pages are not of 4 KiB", err);
	name_map(d, d->vdso, "[vdso]");
	name_map(d, d->stack, "[stack]");
	find_program(d, exe);
	return exe ? check_program(d, exe, err) : 0;
}

void dump_close(struct dump_file *d)
{
	attach_maps_free(&d->maps);
	MS_FREE(d->contents, d->notes, d->files, d->threads, d->exe);
	descriptor_close(d->fd);
	d->fd = -1;
}

/* ---- memory ---- */

/* Reads memory. What the dump leaves out of a mapping was never touched, or is what a file has, and
 * then has not been changed. */
static bool read_memory(void *arg, uint64_t address, void *to, size_t bytes)
{
	const struct dump_file *d = arg;
	size_t i = MS_COUNT_UP_TO(d->maps.v, d->maps.n, end, address);
	for (char *p = to; bytes; i++) {
		if (i == d->maps.n || d->maps.v[i].start > address)
			return false;
		const struct attach_map *m = &d->maps.v[i];
		const struct dump_contents *c = &d->contents[i];
		uint64_t into = address - m->start;
		size_t n = m->end - address < bytes ? (size_t)(m->end - address) : bytes;
		size_t there = into >= c->bytes      ? 0
			       : c->bytes - into < n ? (size_t)(c->bytes - into)
						     : n;
		if (there && !get(d, c->offset + into, p, there))
			return false;
		if (there < n && (c->lacks || m->path[0] == '/' || !m->read))
			return false;
		memset(p + there, 0, n - there);
		p += n;
		address += n;
		bytes -= n;
	}
	return true;
}

struct attach_memory dump_memory(const struct dump_file *d)
{
	return (struct attach_memory){read_memory, (void *)(uintptr_t)d};
}

/* Narrows [*start, *end), contents of a mapping at `offset` of the file, to what is no hole: a dump has
 * holes where pages are zero. */
static bool skip_holes(const struct dump_file *d, uint64_t offset, uint64_t *start, uint64_t *end)
{
	uint64_t shift = offset - *start;
	off_t data = lseek(d->fd, (off_t)offset, SEEK_DATA);
	if (data < 0)
		return errno != ENXIO;
	if ((uint64_t)data - shift >= *end)
		return false;
	off_t hole = lseek(d->fd, data, SEEK_HOLE);
	uint64_t from = ((uint64_t)data - shift) & ~(uint64_t)(PAGE - 1);
	uint64_t to = hole < 0 ? *end : ((uint64_t)hole - shift + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	*start = from > *start ? from : *start;
	*end = to < *end ? to : *end;
	return *start < *end;
}

bool dump_part(const struct dump_file *d, uint64_t *start, uint64_t *end)
{
	size_t i = MS_COUNT_UP_TO(d->maps.v, d->maps.n, end, *start);
	for (; i < d->maps.n && d->maps.v[i].start < *end; i++) {
		const struct attach_map *m = &d->maps.v[i];
		const struct dump_contents *c = &d->contents[i];
		uint64_t from = m->start > *start ? m->start : *start;
		uint64_t to = m->start + c->bytes < *end ? m->start + c->bytes : *end;
		if (from >= to || !skip_holes(d, c->offset + (from - m->start), &from, &to))
			continue;
		*start = from;
		*end = to;
		return true;
	}
	return false;
}
