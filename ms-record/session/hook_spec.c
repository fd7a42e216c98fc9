/* SPDX-License-Identifier: MIT
 * What --hook says.
 */
#include "hook_spec.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"

#define ARGUMENTS_MOST 16u
#define HOOKS_ASKED_MOST 64u
#define BLANKS " \t\n\v\f\r"

static int bad(const struct hook_spec *h, const char *why, struct ms_err *err)
{
	return ms_err_set(err, "bad --hook '%s': %s", h->text, why);
}

/* Shrinks [*from, *to) so that it neither begins nor ends with blanks. */
static void trim(const char **from, const char **to)
{
	while (*from < *to && strchr(BLANKS, **from))
		++*from;
	while (*to > *from && strchr(BLANKS, (*to)[-1]))
		--*to;
}

/* Copies the text [from, to) without blanks at its ends. malloc'ed. */
static char *copy(const char *from, const char *to)
{
	trim(&from, &to);
	return ms_xstrndup(from, (size_t)(to - from));
}

static bool is(const char *from, const char *to, const char *word)
{
	return (size_t)(to - from) == strlen(word) && !strncmp(from, word, strlen(word));
}

/* ---- arguments ---- */

static int take_argument(struct hook_spec *h, const char *from, const char *to, uint8_t n,
			 struct ms_err *err)
{
	struct mg_custom *c = &h->custom;
	const struct {
		const char *name;
		uint8_t *where;
		uint8_t flag;
	} names[] = {{"size", &c->size, 0},   {"size32", &c->size, MG_CUSTOM_SIZE32},
		     {"nmemb", &c->nmemb, 0}, {"nmemb32", &c->nmemb, MG_CUSTOM_NMEMB32},
		     {"ptr", &c->block, 0},   {"out", &c->block, MG_CUSTOM_OUT},
		     {"pool", &c->pool, 0}};
	trim(&from, &to);
	if (is(from, to, "_"))
		return 0;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (!is(from, to, names[i].name))
			continue;
		if (*names[i].where)
			return ms_err_set(err, "bad --hook '%s': argument '%s' is given twice",
					  h->text, names[i].name);
		*names[i].where = n;
		c->flags |= names[i].flag;
		return 0;
	}
	return ms_err_set(
		err,
		"bad --hook '%s': an argument must be size, nmemb, ptr, out, pool or _, not "
		"'%.*s'",
		h->text, (int)(to - from), from);
}

static int take_arguments(struct hook_spec *h, const char *from, const char *to, struct ms_err *err)
{
	const char *end;
	trim(&from, &to);
	if (from == to)
		return 0;
	for (unsigned n = 1; from <= to; n++, from = end + 1) {
		end = memchr(from, ',', (size_t)(to - from));
		if (!end)
			end = to;
		if (n > ARGUMENTS_MOST)
			return bad(h, "at most 16 arguments are allowed", err);
		if (take_argument(h, from, end, (uint8_t)n, err))
			return -1;
	}
	return 0;
}

/* ---- what stands behind them ---- */

static const char *word_end(const char *s)
{
	return s + strcspn(s, BLANKS);
}

static const char *skip(const char *s)
{
	return s + strspn(s, BLANKS);
}

enum result { NOTHING, A_BLOCK, A_POOL };

static int take_rest(struct hook_spec *h, const char *s, enum result *result, struct ms_err *err)
{
	*result = NOTHING;
	for (s = skip(s); *s; s = skip(s)) {
		const char *end = word_end(s);
		if (s[0] == '-' && s[1] == '>') {
			s = skip(s + 2);
			end = word_end(s);
			*result = is(s, end, "ptr")    ? A_BLOCK
				  : is(s, end, "pool") ? A_POOL
						       : NOTHING;
			if (*result == NOTHING)
				return bad(h, "a result is '-> ptr' or '-> pool'", err);
		} else if (is(s, end, "in")) {
			s = skip(end);
			end = word_end(s);
			if (s == end || h->heap)
				return bad(h, "'in' needs exactly one heap name", err);
			h->heap = copy(s, end);
		} else if (is(s, end, "hide")) {
			h->custom.flags |= MG_CUSTOM_HIDE;
		} else if (!is(s, end, "apart")) {
			return ms_err_set(err, "bad --hook '%s': '%s' is not understood", h->text,
					  s);
		}
		s = end;
	}
	return 0;
}

static int choose(struct hook_spec *h, enum result result, struct ms_err *err)
{
	struct mg_custom *c = &h->custom;
	if (result == NOTHING && c->flags & MG_CUSTOM_OUT) {
		c->what = MG_CUSTOM_ALLOC;
		return c->size ? 0 : bad(h, "one argument must be the size", err);
	}
	if (c->flags & MG_CUSTOM_OUT)
		return bad(h, "a block is either returned or stored through 'out', not both", err);
	if (result == A_BLOCK) {
		if (!c->size)
			return bad(h, "one argument must be the size", err);
		c->what = c->block ? MG_CUSTOM_REALLOC : MG_CUSTOM_ALLOC;
		return 0;
	}
	if (result == A_POOL) {
		c->what = MG_CUSTOM_CREATE;
		return c->block || c->pool || c->size ? bad(h,
							    "a function that makes a pool must not "
							    "have a size, ptr or pool argument",
							    err)
						      : 0;
	}
	c->what = c->block ? MG_CUSTOM_FREE : MG_CUSTOM_RESET;
	if (!c->block && !c->pool)
		return bad(h,
			   c->size ? "a function with a size must have a result (-> ptr)"
				   : "one argument must be the block to free (ptr), or the pool",
			   err);
	c->size = c->nmemb = 0;
	return 0;
}

/* Returns the opening parenthesis that matches the one at `close`; NULL = none. */
static const char *opening(const char *s, const char *close)
{
	int depth = 0;
	for (const char *p = close; p >= s; p--) {
		depth += (*p == ')') - (*p == '(');
		if (!depth)
			return p;
	}
	return NULL;
}

int hook_spec_read(struct hook_spec *h, const char *text, struct ms_err *err)
{
	enum result result;
	*h = (struct hook_spec){.text = text};
	const char *close = strrchr(text, ')'), *open = close ? opening(text, close) : NULL;
	if (!open)
		return bad(h, "NAME(ARGUMENTS) [-> ptr] is needed, as in 'f(_, size) -> ptr'", err);
	const char *module = memchr(text, '!', (size_t)(open - text));
	if (module && module - text >= 8 && !strncmp(module - 8, "operator", 8))
		module = NULL;
	if (module)
		h->module = copy(text, module);
	h->name = copy(module ? module + 1 : text, open);
	if (!*h->name || take_arguments(h, open + 1, close, err) ||
	    take_rest(h, close + 1, &result, err) || choose(h, result, err)) {
		int rc = *h->name ? -1 : bad(h, "it names no function", err);
		hook_spec_free(h);
		return rc;
	}
	if (!h->heap)
		h->heap = copy(h->name, h->name + strlen(h->name));
	return 0;
}

void hook_spec_free(struct hook_spec *h)
{
	MS_FREE(h->module, h->name, h->heap);
	h->module = h->name = h->heap = NULL;
}

int hooks_add(struct hooks *all, const char *text, struct ms_err *err)
{
	struct hook_spec h;
	size_t i = 0;
	if (hook_spec_read(&h, text, err) || !h.heap)
		return -1;
	if (all->n == HOOKS_ASKED_MOST) {
		hook_spec_free(&h);
		return ms_err_set(err, "too many --hook: at most %u are allowed", HOOKS_ASKED_MOST);
	}
	bool own = strcmp(h.heap, "malloc") != 0 || !strcmp(h.name, "malloc");
	while (own && i < all->heaps.n && strcmp(all->heaps.v[i], h.heap) != 0)
		i++;
	if (own && i == all->heaps.n)
		*MS_PUSH(&all->heaps) = h.heap;
	h.custom.heap = own ? (uint16_t)(i + 1) : 0;
	*MS_PUSH(all) = h;
	return 0;
}

void hooks_free(struct hooks *all)
{
	for (size_t i = 0; i < all->n; i++)
		hook_spec_free(&all->v[i]);
	MS_FREE(all->v, all->heaps.v);
	*all = (struct hooks){0};
}
