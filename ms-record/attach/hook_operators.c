/* SPDX-License-Identifier: MIT
 * Tells whether a program defines an operator new that allocates by itself.
 *
 * An operator that calls malloc is recorded by that call. Whether it does is read from its code
 * (hook_calls.h).
 */
#include "hook_families.h"

#include <fcntl.h>
#include <string.h>

#include "hook_calls.h"
#include "hook_symbols.h"
#include "ms-record/base/cpu.h"
#include "ms-record/base/descriptor.h"
#include "ms-record/base/held_files.h"

static const Elf64_Sym *find(const struct hook_code *c, const char *wanted)
{
	for (unsigned i = 0; i < c->n; i++)
		for (size_t k = 0; k < c->tables[i].count; k++) {
			const Elf64_Sym *y = &c->tables[i].symbols[k];
			if (y->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(y->st_info) == STT_FUNC &&
			    !strcmp(elfmap_name(&c->tables[i], y), wanted))
				return y;
		}
	return NULL;
}

static bool is_allocation(const void *unused, const char *name, bool imported)
{
	static const char *const names[] = {
#define MS_HOOK_ALLOC(name, ...) #name,
#include "format/functions.def"
		"mallocx", "__libc_malloc"};
	(void)unused, (void)imported;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static bool look(const struct hook_symbols *file)
{
	const struct hook_code c = {&file->file, file->tables, file->n};
	const Elf64_Sym *y = find(&c, "_Znwm");
	return y && file->file.elf.head.e_machine == CPU_MACHINE && !find(&c, "malloc") &&
	       !hook_calls(&c, y->st_value, HOOK_CALLS_DEEP, is_allocation, NULL);
}

bool hook_operators_own(int proc)
{
	struct hook_symbols file;
	int fd = openat(proc, "exe", O_RDONLY | O_CLOEXEC);
	uint8_t *note = held_file_note(fd, HELD_NOTE_OPERATORS);
	bool noted = note && *note;
	bool own = noted ? *note & 1 : hook_symbols_open_file(&file, fd) && look(&file);
	if (!noted)
		hook_symbols_close(&file);
	if (note)
		*note = (uint8_t)(HELD_NOTED | own);
	descriptor_close(fd);
	return own;
}
