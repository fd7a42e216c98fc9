/* SPDX-License-Identifier: MIT
 * Finds the files that describe a module: the module itself, its separate debug file, and the debug
 * file's supplementary file. Part of the symbol module.
 */
#pragma once

#include <stdbool.h>

#include "libcommon/base/arena.h"
#include "symbols.h"
#include "symbols_elf.h"

struct ms_module_files {
	struct ms_elf *binary; /* the module, or NULL */
	struct ms_elf *debug;  /* its separate debug file, or NULL */
	struct ms_elf *alt;    /* supplementary file (dwz) of the file with DWARF, or NULL */
	bool mismatch;         /* there is a file of that name, but a different one */
	bool damaged;          /* the right file was found, but parts of it are missing */
	bool refused;          /* debug files of its name were found, but none of its build */
};

struct ms_debuginfod;

/* Searches for all three files, and finally asks `servers` unless it is NULL. Without a build-id a
 * file is accepted unless its size or time differs. */
struct ms_module_files ms_module_files(const struct ms_symbols_options *opt,
				       struct ms_debuginfod *servers,
				       const struct ms_symbols_module *m);
/* Finds only the binary of a module that is a file; the caller closes it. */
struct ms_elf *ms_module_binary(const struct ms_symbols_options *opt,
				const struct ms_symbols_module *m);
void ms_module_files_close(struct ms_module_files *f);
