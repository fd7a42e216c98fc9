/* SPDX-License-Identifier: MIT
 * Writes source lines of sites, from files that can be read while the page is written and have not
 * changed since the program was built.
 *
 * A recording can name any file as a source. Only a file with a suffix of a programming language is
 * opened, wherever links lead, so that a page cannot contain other files that its author can read.
 */
#include "html_data.h"

#include "ms-report/words/page.h"
#include "ms-report/words/source.h"

#include "libcommon/base/json_writer.h"
#include "libcommon/base/order.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
	BEFORE = 5,          /* lines shown before a site's line */
	AFTER = 4,           /* lines shown after a site's line */
	PLACES = 300,        /* maximum number of sites with source lines */
	LINE_COLUMNS = 160,  /* maximum length of a line */
	BYTES = 100000,      /* maximum bytes of all lines */
	FILE_MOST = 1 << 23, /* maximum bytes of a source file */
};

static int by_line(const void *x, const void *y)
{
	const struct frame *a = *(const struct frame *const *)x,
			   *b = *(const struct frame *const *)y;
	return strcmp(a->file, b->file) ?: MS_ORDER(a->line, b->line);
}

static bool is_source(const char *path, const struct frame *f)
{
	const struct frame named = {.file = path, .function = f->function};
	return strcmp(frame_language(&named, NULL), "(unknown)") != 0 &&
	       strchr(base_name(path), '.');
}

/* Tells whether the file was changed after the program was built, judged by the module's file if
 * that is unchanged. */
static bool is_newer_than_module(const struct model *m, const struct frame *f, const char *path)
{
	struct stat source, built;
	const char *module = f->module == NONE ? NULL : m->modules.v[f->module].path;
	return module && *module == '/' && stat(path, &source) == 0 && stat(module, &built) == 0 &&
	       !source_is_newer(m, module) && source.st_mtime > built.st_mtime;
}

/* Writes the lines of one file around those of `n` frames, each line once: [first line, [text,
 * ...]], ... */
static void put_parts(struct page *p, struct ms_json *j, const struct frame *const *v, size_t n,
		      const struct source *s, size_t *left)
{
	struct ms_arena *a = &p->m->arena;
	for (size_t i = 0; i < n;) {
		size_t line = v[i]->line, at = line > BEFORE ? line - BEFORE : 1,
		       end = line + AFTER;
		for (i++; i < n && v[i]->line <= end + BEFORE + 1; i++)
			end = v[i]->line + AFTER;
		ms_json_format(j, "[%lu [", at);
		for (; at <= end && at <= s->n && *left; at++) {
			const char *text = name_clean_source(a, s->v[at - 1]);
			text = name_cut(a, text, LINE_COLUMNS, false);
			size_t bytes = strlen(text) + 3;
			*left -= bytes < *left ? bytes : *left;
			ms_json_string(j, NULL, text);
		}
		ms_json_format(j, "]]");
	}
}

static void put_file(struct page *p, struct ms_json *j, const struct frame *const *v, size_t n,
		     size_t *left)
{
	struct model *m = p->m;
	const struct frame *f = v[0];
	const char *from, *why = NULL;
	size_t bytes;
	struct ms_arena_mark mark = ms_arena_mark(&m->arena);
	char *text = is_source(f->file, f) ? source_read(m, f->file, p->links.source_root,
							 FILE_MOST, &from, &bytes)
					   : NULL;
	char *real = text ? realpath(from, NULL) : NULL;
	if (real && is_source(real, f)) {
		why = source_is_newer(m, real) ? "the recording began"
		      : is_newer_than_module(m, f, real)
			      ? ms_arena_printf(&m->arena, "%s was built",
						base_name(m->modules.v[f->module].path))
			      : NULL;
		struct source s = why ? (struct source){0} : source_split(m, text, bytes);
		ms_json_format(j, "{file:%s", html_text(p, f->file));
		if (why)
			ms_json_string(j, "changed_after", html_text(p, why));
		ms_json_open(j, "parts", '[');
		put_parts(p, j, v, why ? 0 : n, &s, left);
		ms_json_format(j, "]}");
	}
	ms_arena_release(&m->arena, mark);
	MS_FREE(real, text);
}

void html_source_write(struct page *p, struct ms_json *j, const struct html_sites *s)
{
	const struct frame **v = ms_arena_alloc(&p->m->arena, PLACES * sizeof *v);
	size_t n = 0, left = BYTES;
	for (size_t i = 0; i < s->n && n < PLACES && !p->no_source; i++) {
		const struct frame *f = site_frame(p->m, s->largest[i]);
		if (f && f->file && *f->file && f->line && !f->runtime)
			v[n++] = f;
	}
	qsort(v, n, sizeof *v, by_line);
	ms_json_open(j, "source", '[');
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i; end < n && strcmp(v[end]->file, v[i]->file) == 0;)
			end++;
		put_file(p, j, v + i, end - i, &left);
	}
	ms_json_close(j, ']');
}
