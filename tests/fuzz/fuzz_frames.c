/* SPDX-License-Identifier: MIT
 * Fuzzes what lists the functions of modules without .eh_frame_hdr: the builder, the guess where
 * .eh_frame is, and both on a whole program; and the guest's reader with what comes out.
 *
 * Input: one byte of what is asked, then a program's file, which is its memory too.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "libcommon/base/io.h"
#include "ms-record/ptrace/attach_elf.h"
#include "ms-record/code/frames.h"
#include "ms-record/guest/eh_frame.c"
#include "ms-record/guest/x86_64_code.c"

#define AROUND 65536u /* code that lies in front */

struct memory {
	uint64_t start;
	const uint8_t *bytes;
	size_t n;
};

static bool read_memory(void *arg, uint64_t address, void *to, size_t bytes)
{
	const struct memory *m = arg;
	uint64_t into = address - m->start;
	if (into > m->n || bytes > m->n - into)
		return false;
	memcpy(to, m->bytes + into, bytes);
	return true;
}

/* Sorted, none twice, all in reach; the guest finds its way with it. */
static void judge(const struct frames_table *t, const struct frames_code *code,
		  const struct frames_section *s)
{
	struct mg_unwind_info image = {.start = code->base, .low = s->address};
	image.high = s->address + s->n;
	image.frames = t->entries.v;
	image.frame_count = (uint32_t)t->entries.n;
	for (size_t i = 0; i < t->entries.n; i++) {
		const struct mg_frames_entry *e = &t->entries.v[i];
		uint64_t start = code->base + (uint64_t)e->start;
		if (e->start < 0 || e->fde < 0 || (i && e->start <= e[-1].start) ||
		    start < code->low || start >= code->high ||
		    (uint64_t)e->fde + code->base - s->address >= s->n)
			abort();
		if (i > 1000)
			continue;
		uint32_t type = MG_RULE_TYPE(mg_eh_frame_rule(&image, start + 1));
		if (type < MG_RULE_FROM_SP || type >= MG_RULE_UNKNOWN)
			abort();
		mg_eh_frame_rule(&image, start | MG_EXACT_IP);
	}
}

static void build(const struct frames_section *s, const struct frames_code *code)
{
	struct frames_table t = {0};
	frames_build(s, code, &t);
	judge(&t, code, s);
	free(t.entries.v);
}

static void guess(const struct frames_section *s, const struct frames_code *code)
{
	size_t at = 0, n = 0;
	if (!frames_guess(s, code, &at, &n))
		return;
	if (at > s->n || n > s->n - at)
		abort();
	build(&(struct frames_section){s->bytes + at, n, s->address + at}, code);
}

static void find(const uint8_t *data, size_t n, bool sections)
{
	struct memory m = {(uint64_t)data, data, n};
	const struct attach_memory mem = {read_memory, &m};
	struct frames_table t;
	int fd = sections ? memfd_create("frames", 0) : -1;
	if (sections && (fd < 0 || ms_write_all(fd, data, n) != 0))
		exit(2);
	if (frames_find_in(&mem, fd, m.start, &t)) {
		if (t.low < m.start || t.high < t.low || t.high - m.start > n || !t.entries.n)
			abort();
		free(t.entries.v);
	}
	if (fd >= 0)
		close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	if (n < 2 || n > 1 << 20)
		return 0;
	uint8_t what = *data, *copy = malloc(n - 1);
	if (!copy)
		exit(2);
	memcpy(copy, data + 1, --n);
	/* The guest reads where things are. */
	struct frames_section s = {copy, n, (uint64_t)copy};
	struct frames_code code = {s.address - AROUND, s.address + n, s.address - AROUND};
	code.low += what >> 4;
	if (what & 1)
		find(copy, n, what & 2);
	else if (what & 2)
		guess(&s, &code);
	else
		build(&s, &code);
	free(copy);
	return 0;
}
