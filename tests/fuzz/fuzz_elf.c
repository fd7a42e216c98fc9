/* SPDX-License-Identifier: MIT
 * Fuzzes the reader of ELF headers from a file, and the symbol module's, which adds contents.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "mutate_elf.h"
#include "libcommon/base/elf_reader.h"
#include "libcommon/base/io.h"
#include "libcommon/symbols/symbols_elf.h"

static volatile unsigned sum; /* so that every byte is really read */

static void add_up(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sum += p[i];
}

static void read_symbols(struct ms_elf *e)
{
	uint64_t last = 0;
	for (unsigned i = 0; i < e->section_count; i++) {
		struct ms_elf_section *s = &e->sections[i];
		sum += (unsigned)strlen(s->name);
		const uint8_t *p = ms_elf_data(s);
		if (p)
			add_up(p, s->size < 1 << 20 ? s->size : 1 << 20);
	}
	for (size_t i = 0, n = ms_elf_symbols(e); i < n; i++) {
		const struct ms_elf_symbol *y = &e->symbols[i];
		if ((i && y->address <= last) || !y->name[0])
			abort();
		last = y->address;
		sum += ms_elf_symbol(e, y->address) != NULL;
		sum += ms_elf_symbol(e, y->address + y->size) != NULL;
	}
	add_up(e->build_id, e->build_id_size);
	sum += ms_elf_has_dwarf(e) + ms_elf_is(e, "", 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char path[64];
	int fd = memfd_create("elf", 0);
	if (fd < 0 || ms_write_all(fd, data, n) != 0)
		exit(2);
	struct ms_elf_reader r;
	uint8_t id[MS_ELF_ID_MOST];
	if (ms_elf_read(&r, ms_elf_in_file(fd)))
		ms_elf_read_sections(&r);
	if (r.segment_count > MS_ELF_SEGMENTS ||
	    (r.names && r.names >= r.sections + r.section_count))
		abort();
	add_up(id, ms_elf_build_id(&r, id));
	sum += ms_elf_named(&r, ".text") != NULL;
	ms_elf_reader_free(&r);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	struct ms_elf *e = ms_elf_open(path);
	if (e)
		read_symbols(e);
	ms_elf_close(e);
	close(fd);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	return mutate_elf(data, size, max, &seed);
}
