/* SPDX-License-Identifier: MIT
 * Names of allocator functions, from format/functions.def.
 */
#include "hook_names.h"

#include <stddef.h>
#include <string.h>

/* Signatures of allocation functions, in the syntax of --hook. */
#define FORM_MALLOC "(size) -> ptr"
#define FORM_CALLOC "(nmemb, size) -> ptr"
#define FORM_REALLOC "(ptr, size) -> ptr"
#define FORM_REALLOCARRAY "(ptr, nmemb, size) -> ptr"
#define FORM_MEMALIGN "(_, size) -> ptr"
#define FORM_POSIX_MEMALIGN "(out, _, size)"
#define FORM_FREE "(ptr)"
#define FORM_FREE_SIZED "(ptr, _)"
#define FORM_FREE_ALIGNED_SIZED "(ptr, _, _)"

const struct hook_name hook_prefixed_names[] = {
#define MS_HOOK_ALLOC(name, form, ...) {#name, FORM_##form},
#define MS_HOOK_FREE(name, form, ...) {#name, FORM_##form},
#define MS_HOOK_PREFIXED(name, arguments) {#name, #arguments},
#include "format/functions.def"
};
const unsigned hook_prefixed_count = sizeof hook_prefixed_names / sizeof *hook_prefixed_names;

const struct hook_name hook_operators[] = {
#define MS_HOOK_NEW(name) {#name, FORM_MALLOC},
#define MS_HOOK_DELETE(name) {#name, FORM_FREE},
#include "format/functions.def"
};
const unsigned hook_operator_count = sizeof hook_operators / sizeof *hook_operators;

const char *hook_known_arguments(const char *name)
{
	static const struct hook_name known[] = {
#define MS_HOOK_KNOWN(name, arguments) {#name, #arguments},
#include "format/functions.def"
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (*name == *known[i].name && !strcmp(name, known[i].name))
			return known[i].arguments;
	return NULL;
}
