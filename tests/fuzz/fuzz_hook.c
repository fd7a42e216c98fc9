/* SPDX-License-Identifier: MIT
 * Fuzzes what --hook and --tell are given, which a recorder hears from a socket too.
 *
 * Input: words, each ended by a NUL.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "ms-record/session/hook_spec.h"
#include "ms-record/control/tell.h"

static bool is_trimmed(const char *s)
{
	size_t n = strlen(s);
	return !n || (!isspace((unsigned char)s[0]) && !isspace((unsigned char)s[n - 1]));
}

/* Checks that a hook that was parsed can be placed. */
static void check(const struct hooks *all, const struct hook_spec *h)
{
	const struct mg_custom *c = &h->custom;
	bool makes = c->what == MG_CUSTOM_ALLOC || c->what == MG_CUSTOM_REALLOC;
	bool takes = c->what == MG_CUSTOM_FREE || c->what == MG_CUSTOM_REALLOC;
	if (!h->name[0] || !is_trimmed(h->name) || !h->heap || !is_trimmed(h->heap) ||
	    (h->module && !is_trimmed(h->module)))
		abort();
	if (makes != (c->size != 0) || (takes && !c->block) ||
	    (c->what == MG_CUSTOM_RESET && !c->pool))
		abort();
	if (c->size > 16 || c->nmemb > 16 || c->block > 16 || c->pool > 16)
		abort();
	if (!c->heap || c->heap > all->heaps.n || strcmp(all->heaps.v[c->heap - 1], h->heap) != 0)
		abort();
}

static void tell(const char *word)
{
	struct ms_err err = {0};
	enum tell_verb verb;
	const char *name = NULL;
	if (tell_parse(word, &verb, &name, &err)) {
		if (!err.text[0])
			abort();
		return;
	}
	if (verb > TELL_RESIDENT || (verb == TELL_MARK && !name[0]) ||
	    (name[0] && verb != TELL_MARK && verb != TELL_RESIDENT) ||
	    strlen(name) >= sizeof((struct tell_job *)0)->name)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct ms_arena a = {0};
	struct hooks all = {0};
	if (n > 8192)
		return 0;
	for (const uint8_t *end; n; data = end + 1) {
		struct ms_err err = {0};
		end = memchr(data, 0, n);
		if (!end)
			end = data + n;
		const char *word = ms_arena_strndup(&a, (const char *)data, (size_t)(end - data));
		if ((hooks_add(&all, word, &err) != 0) != (err.text[0] != '\0'))
			abort();
		tell(word);
		n -= (size_t)(end - data);
		n -= n != 0;
	}
	for (size_t i = 0; i < all.n; i++)
		check(&all, &all.v[i]);
	hooks_free(&all);
	ms_arena_free(&a);
	return 0;
}
