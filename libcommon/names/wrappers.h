/* SPDX-License-Identifier: MIT
 * Which functions only hand on what the allocator gives (xmalloc, g_malloc): a site is named after
 * what called them.
 */
#pragma once

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

#include "libcommon/base/cli.h"

/* Functions that --wrapper names, besides the known ones. Zero = none. */
struct ms_wrappers {
	struct ms_wrapper {
		const char *text;
		regex_t regex;
		_Atomic bool met; /* some function matched */
	} * v;
	size_t n, cap;
};

/* Onto a struct ms_wrappers: a regular expression. -1 with `err` set where it is none. */
ms_cli_take ms_wrapper_take;
/* Says which of them matched no function. */
void ms_wrappers_tell(const struct ms_wrappers *w, const struct ms_cli *cli);
void ms_wrappers_free(struct ms_wrappers *w);

/* Is a function, as demangled, a known wrapper, or one of `also` (NULL = none)? Of NULL false. */
bool ms_is_wrapper(const char *function, const struct ms_wrappers *also);

/* Classifies the name of a function. */
enum ms_wrapper_hint {
	MS_HINT_NONE,
	MS_HINT_GROW,  /* grows a pool or an arena */
	MS_HINT_ALLOC, /* allocates: pool_alloc, AcquireAlignedMemory */
	MS_HINT_MALLOC /* named after a function of the C library: my_malloc, mosquitto__strdup */
};
/* Returns the class of a demangled name, or of NULL. A name alone proves nothing: a function that
 * makes one kind of object may have such a name too. */
enum ms_wrapper_hint ms_wrapper_hint(const char *function);
