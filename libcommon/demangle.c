/* SPDX-License-Identifier: MIT
 * Readable names for mangled C++ and Rust ones, by libiberty's demangler.
 */
#include "symbols.h"

#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

/* The demangler's time and recursion grow with the name; no compiler emits longer ones. */
enum { MAX_MANGLED = 1 << 16 };

char *ms_demangle(const char *name)
{
	/* Only what looks mangled: "_Z" (C++, Rust's old scheme) and "_R" (Rust's v0); Mach-O like
	 * "__Z" does not occur in ELF. */
	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R') || strlen(name) > MAX_MANGLED)
		return NULL;
	return cplus_demangle(name, DMGL_AUTO | DMGL_PARAMS | DMGL_ANSI);
}
