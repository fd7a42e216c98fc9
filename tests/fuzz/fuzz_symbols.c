/* SPDX-License-Identifier: MIT
 * Fuzzes the symbolizer with a program's file, all of it: DWARF through libdw, symbols, and the
 * same file as a package of split DWARF and as a .dwo.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "mutate_elf.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/io.h"
#include "libcommon/symbols/symbols.h"
#include "libcommon/symbols/symbols_elf.h"
#include "libcommon/symbols/symbols_package.h"

static volatile size_t sum; /* so that every byte is really read */

static void read_location(const struct ms_location *l)
{
	sum += (l->function ? strlen(l->function) : 0) + (l->file ? strlen(l->file) : 0);
}

/* Every 8th byte of the first 4 KiB of each section with code, and what lies around. */
static void find_all(struct ms_symbols *s, int module, const char *path)
{
	enum { STEP = 8, MOST = 4096 };
	struct ms_location l[16];
	struct ms_elf *e = ms_elf_open(path);
	for (unsigned i = 0; e && i < e->section_count && i < 64; i++) {
		const struct ms_elf_section *c = &e->sections[i];
		if (!(c->flags & 4))
			continue;
		for (uint64_t at = 0; at < c->size + STEP && at < MOST; at += STEP) {
			size_t n = ms_symbols_find(s, module, c->address + at, l, 16);
			if (n < 1 || n > 16)
				abort();
			while (n--)
				read_location(&l[n]);
		}
	}
	ms_elf_close(e);
}

/* Every 4th byte of the first 4 KiB of each section in memory, and of thread-local storage. */
static void find_variables(struct ms_symbols *s, int module, const char *path)
{
	enum { STEP = 4, MOST = 4096 };
	struct ms_variable v;
	struct ms_elf *e = ms_elf_open(path);
	for (unsigned i = 0; e && i < e->section_count && i < 64; i++) {
		const struct ms_elf_section *c = &e->sections[i];
		for (uint64_t at = 0; c->flags & 2 && at < c->size && at < MOST; at += STEP)
			for (unsigned in_thread = 0; in_thread < 2; in_thread++)
				if (ms_symbols_variable(s, module, in_thread ? at : c->address + at,
							in_thread, &v))
					sum += (v.type ? strlen(v.type) : 0) +
					       (v.file ? strlen(v.file) : 0) + v.line;
	}
	ms_elf_close(e);
}

static void read_package(const char *path)
{
	struct ms_package *p = ms_package_open(ms_elf_open(path));
	for (uint64_t i = 0; p && i < 64; i++) {
		struct ms_bytes of[MS_PART_COUNT];
		if (!ms_package_find(p, ms_package_number(p, (uint32_t)i), of))
			continue;
		for (size_t k = 0; k < MS_PART_COUNT; k++)
			for (uint64_t at = 0; at < of[k].size; at++)
				sum += of[k].data[at];
	}
	ms_package_close(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char path[64];
	int fd = memfd_create("program", 0);
	if (fd < 0 || ms_write_all(fd, data, n) != 0)
		exit(2);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	struct ms_symbols *s = ms_symbols_new(NULL);
	int module = ms_symbols_module_of(s, &(struct ms_symbols_module){.path = path});
	find_all(s, module, path);
	find_variables(s, module, path);
	sum += (size_t)ms_symbols_module_state(s, module, NULL);
	ms_symbols_free(s);
	read_package(path);
	close(fd);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	return mutate_elf(data, size, max, &seed);
}
