/* SPDX-License-Identifier: MIT
 * Readable names for mangled C++ and Rust ones, by libiberty's demangler.
 *
 * Left to itself it refuses every name of more than 1,024 characters, which templates reach easily,
 * because it recurses; and a name of a hundred characters can be made that it would print for ever,
 * as each part of it repeats the one before twice. So long names get a stack of their own, large
 * enough for the deepest, and printing ends where no compiler's name would.
 */
#include "symbols.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/thread.h"

/* MAX_MANGLED: no compiler emits longer ones. LONG: the demangler's own limit. STACK_BYTES: what
 * names of MAX_MANGLED may need, several hundred bytes a character. */
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

/* Rust's old names look like those of C++ and are tried first. */
static void *demangle(void *arg)
{
	struct demangling *d = arg;
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

char *ms_demangle(const char *name)
{
	/* Only what looks mangled: "_Z" (C++, Rust's old scheme) and "_R" (Rust's v0); Mach-O like
	 * "__Z" does not occur in ELF. */
	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R'))
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
