/* SPDX-License-Identifier: MIT
 * The guest's .eh_frame reader on this program's own tables, whole, with bytes changed and cut
 * short: it stays inside them.
 */
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ms-record/guest/eh_frame.c"
#include "ms-record/guest/x86_64_code.c"

struct found {
	uint64_t hdr, low, high, code_low, code_high;
};

/* The main program: its header, the segment that holds it, and its code. */
static int find(struct dl_phdr_info *info, size_t size, void *out)
{
	struct found *f = out;
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
			f->hdr = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t low = info->dlpi_addr + p->p_vaddr;
		if (p->p_type == PT_LOAD && f->hdr - low < p->p_filesz) {
			f->low = low;
			f->high = low + p->p_filesz;
		}
		if (p->p_type == PT_LOAD && p->p_flags & PF_X) {
			f->code_low = low;
			f->code_high = low + p->p_filesz;
		}
	}
	return 1;
}

static uint32_t seed = 12345;
static uint32_t next(void)
{
	seed = seed * 1664525 + 1013904223;
	return seed >> 8;
}

/* Reads the program's constants across the gaps that a sanitizer keeps between them. */
__attribute__((no_sanitize_address)) static void copy_segment(unsigned char *to, uint64_t from,
							      size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = ((const volatile unsigned char *)from)[i];
}

int main(void)
{
	struct found f = {0};
	dl_iterate_phdr(find, &f);
	size_t bytes = f.high - f.low, at_hdr = f.hdr - f.low;
	unsigned char *copy = malloc(bytes), *whole = malloc(bytes);
	if (!copy || !whole || !f.hdr)
		return 1;
	/* Everything in the tables is relative, so the copy speaks of code at the same distance. */
	uint64_t delta = (uint64_t)copy - f.low;
	struct mg_unwind_info image = {.low = (uint64_t)copy,
				       .high = (uint64_t)copy + bytes,
				       .hdr = (uint64_t)copy + at_hdr};
	unsigned simple = 0, all = 0;
	copy_segment(whole, f.low, bytes);
	memcpy(copy, whole, bytes);
	for (uint64_t ip = f.code_low + 1; ip < f.code_high; ip += 3, all++)
		simple += MG_RULE_TYPE(mg_eh_frame_rule(&image, ip + delta)) <= MG_RULE_DEREF;
	if (simple < all / 2) {
		printf("only %u of %u rules are simple\n", simple, all);
		return 1;
	}
	for (int round = 0; round < 3000; round++) {
		memcpy(copy, whole, bytes);
		for (int i = 0; i < 20; i++) /* near the header and anywhere */
			copy[i % 2 ? next() % bytes : at_hdr + next() % (bytes - at_hdr)] =
				(unsigned char)next();
		if (round % 3 == 0)
			copy[at_hdr + next() % 12] = (unsigned char)next();
		if (round % 5 == 0)
			image.high = (uint64_t)copy + at_hdr + next() % (bytes - at_hdr);
		for (int i = 0; i < 60; i++) {
			uint64_t ip = f.code_low + next() % (f.code_high - f.code_low);
			mg_eh_frame_rule(&image, (ip + delta) | (i % 4 ? 0 : MG_EXACT_IP));
		}
		image.high = (uint64_t)copy + bytes;
	}
	free(copy);
	free(whole);
	return 0;
}
