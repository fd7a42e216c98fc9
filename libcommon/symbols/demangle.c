/* SPDX-License-Identifier: MIT
 * Demangles C++, Rust, D and Ada names with libiberty.
 *
 * By default libiberty refuses names of more than 1,024 characters, which templates reach easily,
 * because it recurses. And a crafted name of a hundred characters can have an endless result, if
 * each part repeats the one before twice. So long names are demangled on a stack of their own,
 * large enough for the deepest nesting, and output stops at a length that no compiler's name
 * reaches. D's demangler cannot be stopped, so a D name is left mangled if its back references,
 * each of which may double it, could make it too long.
 */
#include "symbols.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/thread.h"

/* MAX_MANGLED: no compiler emits longer names. LONG: libiberty's own limit. STACK_BYTES: enough for
 * names of MAX_MANGLED, at several hundred bytes per character. */
enum { MAX_MANGLED = 1 << 16, MAX_PLAIN = 1 << 20, LONG = 1024, STACK_BYTES = 256 << 20 };

struct demangling {
	const char *name;
	int options;
	jmp_buf enough;
	char *text;
	size_t n, room;
	bool done;
};

static void take(const char *s, size_t n, void *opaque)
{
	struct demangling *d = opaque;
	if (n > MAX_PLAIN - d->n)
		longjmp(d->enough, 1);
	while (d->n + n + 1 > d->room)
		d->text = ms_xrealloc(d->text, d->room = d->room ? d->room * 2 : 256, 1);
	memcpy(d->text + d->n, s, n);
	d->n += n;
}

/* Tells whether `q` is a back reference to a type; a back reference to a name repeats only the
 * name. The distance back is written in base 26, in capitals and a final small letter. */
static bool repeats_type(const char *name, const char *q)
{
	size_t back = 0;
	const char *p = q + 1;
	for (; *p >= 'A' && *p <= 'Z' && back < MAX_MANGLED; p++)
		back = back * 26 + (size_t)(*p - 'A');
	if (*p < 'a' || *p > 'z')
		return false;
	back = back * 26 + (size_t)(*p - 'a');
	return back <= (size_t)(q - name) && (q[-back] < '0' || q[-back] > '9');
}

static bool is_bounded(const char *name)
{
	enum { MOST = 1 << 26 };
	size_t n = strlen(name);
	for (const char *q = name; n <= MOST && (q = strchr(q, 'Q')); q++)
		n *= repeats_type(name, q) ? 2 : 1;
	return n <= MOST;
}

static void take_all(struct demangling *d, char *text)
{
	d->done = text != NULL;
	d->text = text;
	d->n = text ? strlen(text) : 0;
}

/* Demangles a name. Rust is tried first, as its old names look like those of C++. */
static void *demangle(void *arg)
{
	struct demangling *d = arg;
	if (d->name[1] == 'D') {
		take_all(d, is_bounded(d->name) ? dlang_demangle(d->name, d->options) : NULL);
		return NULL;
	}
	if (setjmp(d->enough))
		return NULL;
	d->done = rust_demangle_callback(d->name, d->options, take, d);
	if (d->done)
		return NULL;
	d->n = 0;
	d->done = cplus_demangle_v3_callback(d->name, d->options, take, d);
	return NULL;
}

static void demangle_long(struct demangling *d)
{
	pthread_t thread;
	d->options |= DMGL_NO_RECURSE_LIMIT;
	if (ms_thread_start(&thread, STACK_BYTES, demangle, d) == 0)
		pthread_join(thread, NULL);
}

char *ms_demangle_ada(const char *name)
{
	if (strnlen(name, MAX_MANGLED + 1) > MAX_MANGLED)
		return NULL;
	char *plain = ada_demangle(name, 0);
	if (plain && plain[0] != '<') /* the form "<NAME>" means that the name is not Ada's */
		return plain;
	free(plain);
	return NULL;
}

char *ms_demangle(const char *name)
{
	/* Accept only prefixes of mangled names: "_Z" (C++, Rust's old scheme), "_R" (Rust's v0),
	 * "_D" (D) and "_ada_" (Ada's procedures outside packages). Mach-O's "__Z" does not occur
	 * in ELF. */
	if (!strncmp(name, "_ada_", 5))
		return ms_demangle_ada(name);
	if (name[0] != '_' || !name[1] || !strchr("ZRD", name[1]))
		return NULL;
	size_t n = strnlen(name, MAX_MANGLED + 1);
	struct demangling d = {.name = name, .options = DMGL_PARAMS | DMGL_ANSI};
	if (n > MAX_MANGLED)
		return NULL;
	if (n > LONG)
		demangle_long(&d);
	else
		demangle(&d);
	if (d.done && d.n) {
		d.text[d.n] = 0;
		return d.text;
	}
	free(d.text);
	return NULL;
}
