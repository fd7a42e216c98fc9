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
	struct ms_elf *debug;  /* separate debug file of `binary`, or NULL */
	struct ms_elf *alt;    /* supplementary file (dwz) of the file with DWARF, or NULL */
	bool mismatch;         /* a file with the module's name was found, but of another build */
	bool damaged;          /* the module's file was found, but parts of it are missing */
	bool refused;          /* debug files with the right name were found, but none of the same
				  build */
};

struct ms_debuginfod;

/* Searches for the module, its debug file and the supplementary file; finally asks `servers`,
 * unless NULL. Without a build-id a file is accepted unless its size or time differs. */
struct ms_module_files ms_module_files(const struct ms_symbols_options *opt,
				       struct ms_debuginfod *servers,
				       const struct ms_symbols_module *m);
/* Finds only the binary of a module, which must be a file (not the vDSO or code made at run time);
 * the caller closes it. */
struct ms_elf *ms_module_binary(const struct ms_symbols_options *opt,
				const struct ms_symbols_module *m);
void ms_module_files_close(struct ms_module_files *f);
