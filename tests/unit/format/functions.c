/* SPDX-License-Identifier: MIT
 * The list of hooked functions keeps the order that its readers count on, and has no name twice.
 */
#include <assert.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof *(list))

static const char *const malloc_like[] = {
#define MS_HOOK_ALLOC(name, ...) #name,
#define MS_HOOK_FREE(name, ...) #name,
#define MS_HOOK_PREFIXED(name, ...) #name,
#include "format/functions.def"
};
static const char *const operators[] = {
#define MS_HOOK_NEW(name) #name,
#define MS_HOOK_DELETE(name) #name,
#include "format/functions.def"
};
static const char *const known[] = {
#define MS_HOOK_KNOWN(name, ...) #name,
#include "format/functions.def"
};

static void check_once(const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			assert(strcmp(list[i], list[k]));
}

int main(void)
{
	/* The attachment's plan and families of a prefix have these by number. */
	static const char *const first[] = {"malloc", "free", "calloc", "realloc"};
	for (size_t i = 0; i < COUNT(first); i++)
		assert(!strcmp(malloc_like[i], first[i]));
	/* Operators that allocate have the lower numbers. */
	assert(COUNT(operators) == 20);
	for (size_t i = 0; i < COUNT(operators); i++)
		assert(!strncmp(operators[i], i < 8 ? "_Zn" : "_Zd", 3));
	check_once(malloc_like, COUNT(malloc_like));
	check_once(operators, COUNT(operators));
	check_once(known, COUNT(known));
	return 0;
}
