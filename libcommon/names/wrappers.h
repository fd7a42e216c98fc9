/* SPDX-License-Identifier: MIT
 * Recognizes functions that only pass on the allocator's result (xmalloc, g_malloc): a site is
 * named after their caller.
 */
#pragma once

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

#include "libcommon/base/cli.h"

/* Holds the wrapper functions given by --wrapper, in addition to the built-in ones. Zero = none. */
struct ms_wrappers {
	struct ms_wrapper {
		const char *text;
		regex_t regex;
		_Atomic bool met; /* some function matched the expression */
	} * v;
	size_t n, cap;
};

/* Appends a regular expression to a struct ms_wrappers. -1 with `err` set if it is invalid. */
ms_cli_take ms_wrapper_take;
/* Reports the expressions of --wrapper that matched no function. */
void ms_wrappers_tell(const struct ms_wrappers *w, const struct ms_cli *cli);
void ms_wrappers_free(struct ms_wrappers *w);

/* Tells whether a demangled function is a known wrapper, or one of `also` (NULL = none). False for
 * NULL. */
bool ms_is_wrapper(const char *function, const struct ms_wrappers *also);

/* Lists the classes of function names. */
enum ms_wrapper_hint {
	MS_HINT_NONE,
	MS_HINT_GROW,  /* by its name, a function that grows a pool or an arena */
	MS_HINT_ALLOC, /* by its name, an allocation function: pool_alloc, AcquireAlignedMemory */
	MS_HINT_MALLOC /* named like a function of the C library: my_malloc, mosquitto__strdup */
};
/* Returns the class of a demangled name, or of NULL. A name alone proves nothing: a function that
 * allocates only one type of object may have such a name too. */
enum ms_wrapper_hint ms_wrapper_hint(const char *function);
