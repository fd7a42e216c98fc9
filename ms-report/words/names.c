/* SPDX-License-Identifier: MIT
 * Names of frames and sites: escapes unsafe characters, and cuts names to a width.
 */
#include "names.h"

#include "ms-report/model/recursion.h"
#include "ms-report/model/tree.h"

#include "libcommon/base/path.h"
#include "libcommon/base/utf8.h"

#include <stdio.h>
#include <string.h>

#define ELLIPSIS "\xe2\x80\xa6"

/* Tells whether a character is invisible or changes how the rest of a line looks. */
static bool invisible(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c ||
	       (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff0 && c <= 0xfffb) ||
	       (c >= 0xe0000 && c <= 0xe0fff);
}

/* Tells whether the log of a GitHub workflow would take the text at `s` as a command: "::" at the
 * start of a line, or "##[" anywhere. */
static bool is_command(const char *s, bool first)
{
	return (first && strncmp(s, "::", 2) == 0) || strncmp(s, "##[", 3) == 0;
}

/* Limits the output bytes for one input byte. At most 4 are needed: a byte becomes \xNN, four bytes
 * become \u{10ffff}. */
#define GROWTH 8

static size_t clean_one(char *to, const char *s, size_t n, bool ascii, bool plain_too, size_t *used)
{
	uint32_t c;
	size_t len = ms_utf8_next(s, n, &c);
	*used = len ? len : 1;
	if (!len || plain_too)
		return (size_t)sprintf(to, "\\x%02x", (unsigned char)*s);
	if (invisible(c))
		return (size_t)sprintf(to, c < 0x80 ? "\\x%02x" : "\\u{%x}", c);
	if (!ascii || c < 0x80) {
		memcpy(to, s, len);
		return len;
	}
	const char *plain = c == 0x2026 ? ".." : "?";
	memcpy(to, plain, strlen(plain));
	return strlen(plain);
}

static const char *clean(struct ms_arena *a, const char *s, bool ascii, bool commands)
{
	/* SIZE_MAX: no text is at the start of a line */
	size_t n = strlen(s), good = 0, first = commands ? strspn(s, " ") : SIZE_MAX;
	while (good < n && s[good] >= 0x20 && s[good] < 0x7f &&
	       !(commands && is_command(s + good, good == first)))
		good++;
	if (good == n)
		return s;
	char *to = ms_arena_alloc(a, n * GROWTH + 1), *p = to;
	for (size_t i = 0, used; i < n; i += used)
		p += clean_one(p, s + i, n - i, ascii, commands && is_command(s + i, i == first),
			       &used);
	*p = 0;
	return to;
}

const char *name_clean(struct ms_arena *a, const char *s, bool ascii)
{
	return clean(a, s, ascii, true);
}

const char *name_clean_source(struct ms_arena *a, const char *s)
{
	return clean(a, s, false, false);
}

size_t name_width(const char *s)
{
	return ms_utf8_columns(s);
}

const char *name_fit(struct ms_arena *a, const char *s, size_t width, bool ascii)
{
	return name_width(s) <= width ? s : ms_name_fit(a, s, width, ascii);
}

const char *name_cut(struct ms_arena *a, const char *s, size_t width, bool ascii)
{
	if (name_width(s) <= width)
		return s;
	size_t mark = ascii ? 2 : 1, n = strlen(s), i = 0, w = 0;
	while (i < n) {
		uint32_t c;
		int cw;
		size_t len = ms_utf8_step(s + i, n - i, &c, &cw);
		if (w + (size_t)cw + mark > width)
			break;
		i += len;
		w += (size_t)cw;
	}
	return width < mark ? "" : ms_arena_printf(a, "%.*s%s", (int)i, s, ascii ? ".." : ELLIPSIS);
}

const char *name_cut_start(struct ms_arena *a, const char *s, size_t width, bool ascii)
{
	size_t have = name_width(s), mark = ascii ? 2 : 1, n = strlen(s), i = 0;
	if (have <= width)
		return s;
	if (width < mark)
		return "";
	while (i < n && have + mark > width) {
		uint32_t c;
		int cw;
		i += ms_utf8_step(s + i, n - i, &c, &cw);
		have -= (size_t)cw;
	}
	/* whole folder names read better than half of one */
	const char *slash = strchr(s + i, '/');
	if (slash && slash[1])
		i = (size_t)(slash - s);
	return ms_arena_printf(a, "%s%s", ascii ? ".." : ELLIPSIS, s + i);
}

const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);
	return n > k && strcmp(s + n - k, end) == 0;
}

const char *frame_language(const struct frame *f, const char *kind)
{
	static const char *const endings[][2] = {{".c", "C"},
						 {".cc", "C++"},
						 {".cpp", "C++"},
						 {".cxx", "C++"},
						 {".C", "C++"},
						 {".hh", "C++"},
						 {".hpp", "C++"},
						 {".hxx", "C++"},
						 {".tcc", "C++"},
						 {".ipp", "C++"},
						 {".rs", "Rust"},
						 {".go", "Go"},
						 {".py", "Python"},
						 {".js", "JavaScript"},
						 {".mjs", "JavaScript"},
						 {".cjs", "JavaScript"},
						 {".java", "Java"},
						 {".kt", "Kotlin"},
						 {".scala", "Scala"},
						 {".d", "D"},
						 {".adb", "Ada"},
						 {".ads", "Ada"},
						 {".ml", "OCaml"},
						 {".f", "Fortran"},
						 {".f90", "Fortran"},
						 {".F90", "Fortran"},
						 {".zig", "Zig"},
						 {".m", "Objective-C"},
						 {".S", "assembly"},
						 {".s", "assembly"},
						 {".rb", "Ruby"}};
	if (kind && strcmp(kind, "source") == 0)
		return "Python";
	for (size_t i = 0; f->file && i < sizeof endings / sizeof *endings; i++)
		if (ends_with(f->file, endings[i][0]))
			return endings[i][1];
	/* C and C++ both have headers with .h or without a suffix */
	if (f->file && f->function &&
	    (ends_with(f->file, ".h") || !strchr(base_name(f->file), '.')))
		return strpbrk(f->function, ":(<~") ? "C++" : "C or C++";
	return "(unknown)";
}

const char *frame_name(struct ms_arena *a, const struct model *m, const struct frame *f)
{
	if (f->note)
		return ms_arena_printf(
			a, "[%s]",
			strcmp(f->note, "cut") == 0         ? "frames left out by ms-record --depth"
			: strcmp(f->note, "truncated") == 0 ? "callers not found"
			: strcmp(f->note, "not taken") == 0 ? "stack not taken"
			: strcmp(f->note, "not read") == 0  ? "Python frames not read"
			: strcmp(f->note, "before") == 0    ? "allocated before the recording"
							    : f->note);
	if (f->function && *f->function)
		return f->function;
	const struct module *mod = f->module == NONE ? NULL : &m->modules.v[f->module];
	/* address as in the file: the same in every run, and usable with addr2line */
	if (mod && mod->path && f->address != UNKNOWN)
		return ms_arena_printf(
			a, "%s+0x%llx", base_name(mod->path),
			(unsigned long long)(f->address -
					     (f->address < mod->bias ? 0 : mod->bias)));
	if (f->address != UNKNOWN)
		return ms_arena_printf(a, "0x%llx", (unsigned long long)f->address);
	return "(unknown)";
}

const char *frame_label(struct ms_arena *a, const struct model *m, const struct frame *f,
			const struct style *st)
{
	const char *s = frame_name(a, m, f);
	if (!st->full_names && !f->note && s == f->function)
		s = ms_name_short(a, s);
	return name_clean(a, s, st->ascii);
}

const char *frame_place(struct ms_arena *a, const struct model *m, const struct frame *f,
			const struct style *st)
{
	if (f->file && *f->file) {
		const char *file = f->file;
		const char *root = st->source_root ? st->source_root : m->cwd;
		const struct module *o = f->module == NONE ? NULL : &m->modules.v[f->module];
		if (root)
			file = ms_path_below(file, root, strlen(root));
		if (file == f->file && !st->source_root && o && o->sources)
			file = ms_path_below(file, o->sources, o->sources_length);
		file = name_clean(a, file, st->ascii);
		return f->line ? ms_arena_printf(a, "%s:%u", file, f->line) : file;
	}
	const char *path = f->module == NONE ? NULL : m->modules.v[f->module].path;
	if (path && !f->function && !f->note)
		return "[no symbols]"; /* the name shows the module already */
	return path ? ms_arena_printf(a, "[%s]", name_clean(a, base_name(path), st->ascii)) : "";
}

const char *process_label(struct ms_arena *a, const struct process *p, const char *pid, bool ascii)
{
	const char *name = p->exe ? name_clean(a, base_name(p->exe), ascii) : "process";
	return ms_arena_printf(a, "%s (%s%llu)", name, pid, (unsigned long long)p->pid);
}

const char *branch_label(struct ms_arena *a, const struct model *m, const struct branch *b,
			 const struct style *st, const char *pid)
{
	if (b->frame != NONE)
		return frame_label(a, m, &m->frames.v[b->frame], st);
	if (b->entry)
		return name_clean(a, b->entry, st->ascii);
	return b->process == NONE ? "(no stack)"
				  : process_label(a, &m->processes.v[b->process], pid, st->ascii);
}

static uint32_t named_node(const struct site *s)
{
	return s->user != NONE ? s->user : s->stack;
}

const struct frame *site_frame(const struct model *m, const struct site *s)
{
	return model_frame(m, named_node(s));
}

const struct frame *site_called(const struct model *m, const struct site *s)
{
	uint32_t inner = NONE;
	for (uint32_t n = s->stack; n != NONE && n != s->user; n = m->nodes.v[n].parent)
		inner = n;
	return s->user == NONE ? NULL : model_frame(m, inner);
}

uint32_t site_entry(const struct model *m, const struct site *s)
{
	return s->folded ? recursion_entry(m, s) : named_node(s);
}

const struct frame *site_caller(const struct model *m, const struct site *s)
{
	uint32_t n = site_entry(m, s);
	const struct frame *f = n == NONE ? NULL : model_frame(m, m->nodes.v[n].parent);
	return f && !f->runtime && !f->note ? f : NULL;
}
