/* SPDX-License-Identifier: MIT
 * Finds the files that describe a module: itself, its separate debug file, and that one's
 * supplementary file. Part of the symbol module.
 */
#pragma once

#include <stdbool.h>

#include "libcommon/base/arena.h"
#include "symbols.h"
#include "symbols_elf.h"

struct ms_module_files {
	struct ms_elf *binary; /* the module, or NULL */
	struct ms_elf *debug;  /* its separate debug file, or NULL */
	struct ms_elf *alt;    /* supplementary file (dwz) of whichever has DWARF, or NULL */
	bool mismatch;         /* a file of that name is there, but it is another one */
	bool damaged;          /* that is it, but parts of it are not there */
	bool refused;          /* debug files of its name were there, but none of its build */
};

struct ms_debuginfod;

/* Looks for all three, at last on `servers`, if that is not NULL. Without build-id a file is the
 * one unless size or time deny it. */
struct ms_module_files ms_module_files(const struct ms_symbols_options *opt,
				       struct ms_debuginfod *servers,
				       const struct ms_symbols_module *m);
/* The first of them alone, of a module that is a file; to be closed. */
struct ms_elf *ms_module_binary(const struct ms_symbols_options *opt,
				const struct ms_symbols_module *m);
void ms_module_files_close(struct ms_module_files *f);
