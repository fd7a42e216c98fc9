/* SPDX-License-Identifier: MIT
 * Names of the roots of a retention scan, and of types, from their symbols.
 */
#include "frame_places.h"

#include "format/trace.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/path.h"

#include <stdlib.h>
#include <string.h>

/* Cuts what compilers append to names: "[abi:cxx11]", and Rust's "::h0123456789abcdef". */
static void cut_suffixes(char *name)
{
	for (char *tag; (tag = strstr(name, "[abi:")) && strchr(tag, ']');) {
		const char *rest = strchr(tag, ']') + 1;
		memmove(tag, rest, strlen(rest) + 1);
	}
	size_t n = strlen(name);
	if (n > 19 && !memcmp(name + n - 19, "::h", 3) &&
	    strspn(name + n - 16, "0123456789abcdef") == 16)
		name[n - 19] = '\0';
}

const char *ms_symbol_plain(struct ms_arena *a, const char *symbol)
{
	static const char vtable[] = "vtable for ";
	char *plain = ms_demangle(symbol), *name = ms_arena_strdup(a, plain ? plain : symbol);
	free(plain);
	if (!strncmp(name, vtable, sizeof vtable - 1))
		name += sizeof vtable - 1;
	cut_suffixes(name);
	return *name ? name : NULL;
}

const char *ms_root_name(struct ms_arena *a, const struct ms_retention_root *root,
			 const char *module)
{
	bool section = root->kind == MS_KEEPER_SECTION ||
		       (root->kind == MS_KEEPER_THREAD_LOCAL && *root->name == '.');
	if (section && module)
		return ms_arena_printf(a, "%s %s", ms_base_name(module), root->name);
	return ms_symbol_plain(a, root->name);
}
