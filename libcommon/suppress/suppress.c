/* SPDX-License-Identifier: MIT
 * Suppressions of leaks: reads both kinds of files.
 */
#include "suppress.h"

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/io.h"
#include "suppress_private.h"
#include "libcommon/symbols/symbols.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BYTES_MAX ((size_t)16 << 20)
#define FRAMES_MAX 100u /* maximum number of lines in one Valgrind suppression */

struct lines {
	struct ms_suppressions *to;
	const char *at, *end;
	unsigned number; /* number of the current line */
	struct ms_err *err;
};

static int bad(const struct lines *l, unsigned number, const char *why)
{
	return ms_err_set(l->err, "bad suppression in '%s', line %u: %s", l->to->name, number, why);
}

/* Returns the next line that is neither empty nor a comment, trimmed; NULL at the end or after an
 * error. */
static char *next_line(struct lines *l)
{
	while (l->at < l->end) {
		const char *stop = memchr(l->at, '\n', (size_t)(l->end - l->at));
		const char *end = stop ? stop : l->end, *from = l->at;
		l->at = stop ? stop + 1 : l->end;
		l->number++;
		while (from < end && isspace((unsigned char)*from))
			from++;
		while (end > from && isspace((unsigned char)end[-1]))
			end--;
		if (from == end || *from == '#')
			continue;
		if (memchr(from, '\0', (size_t)(end - from))) {
			bad(l, l->number, "the line contains a NUL byte");
			return NULL;
		}
		return ms_arena_strndup(&l->to->arena, from, (size_t)(end - from));
	}
	return NULL;
}

static struct ms_suppression *add(struct lines *l, unsigned line, const char *text, bool by_frame)
{
	struct ms_suppress_detail *d = ms_arena_alloc(&l->to->arena, sizeof *d);
	struct ms_suppression *s = MS_PUSH(&l->to->rules);
	*s = (struct ms_suppression){line, text, by_frame, MS_SUPPRESS_ANY, d};
	return s;
}

/* ---- LeakSanitizer ---- */

/* Converts a LeakSanitizer pattern, which may match anywhere, to a pattern that matches whole
 * texts. */
static const char *anchored(struct ms_arena *a, const char *s)
{
	bool start = s[0] == '^';
	s += start;
	size_t n = strlen(s);
	bool end = n && s[n - 1] == '$';
	return ms_arena_printf(a, "%s%.*s%s", start ? "" : "*", (int)(n - end), s, end ? "" : "*");
}

/* Reads N of a line "leak<=N:PATTERN", and sets *pattern to PATTERN. Returns false if N is missing
 * or too large. */
static bool maximum(const char *line, const char **pattern, uint64_t *most)
{
	char *end;
	errno = 0;
	*most = strtoull(line + 6, &end, 10);
	*pattern = end + 1;
	return isdigit((unsigned char)line[6]) && *end == ':' && !errno && *most < MS_SUPPRESS_ANY;
}

static int leak_line(struct lines *l, const char *line)
{
	bool limited = strncmp(line, "leak<=", 6) == 0;
	const char *pattern = line + 5;
	uint64_t most = MS_SUPPRESS_ANY;
	if (!limited && strncmp(line, "leak:", 5) != 0)
		return bad(l, l->number,
			   "neither 'leak:PATTERN' nor the '{' of a Valgrind suppression");
	if (limited && !maximum(line, &pattern, &most))
		return bad(l, l->number, "'leak<=N:PATTERN' without a number of blocks");
	if (!*pattern || strspn(pattern, "*^$") == strlen(pattern))
		return bad(l, l->number, "an empty pattern would hide everything");
	struct ms_suppression *s = add(l, l->number, line, true);
	s->most = most;
	s->detail->pattern = anchored(&l->to->arena, pattern);
	return 0;
}

/* ---- Valgrind ---- */

static int leak_kinds(struct lines *l, struct ms_suppress_detail *d, char *list)
{
	static const struct {
		const char *word;
		unsigned kinds;
	} words[] = {{"definite", MS_KIND_DEFINITE},
		     {"indirect", MS_KIND_INDIRECT},
		     {"possible", MS_KIND_POSSIBLE},
		     {"reachable", MS_KIND_REACHABLE},
		     {"all", MS_KINDS},
		     {"none", 0}};
	char *save = NULL;
	d->kinds = 0;
	for (char *w = strtok_r(list, ", \t", &save); w; w = strtok_r(NULL, ", \t", &save)) {
		size_t i = 0;
		while (i < sizeof words / sizeof *words && strcmp(w, words[i].word) != 0)
			i++;
		if (i == sizeof words / sizeof *words)
			return bad(l, l->number,
				   ms_arena_printf(&l->to->arena,
						   "unknown kind of leak '%s': use definite, "
						   "indirect, possible, reachable, all or none",
						   w));
		d->kinds |= words[i].kinds;
	}
	return 0;
}

/* Sets the demangled form of a function pattern that is a mangled name, since frames have demangled
 * names. */
static void set_function(struct lines *l, struct ms_suppress_line *f)
{
	if (f->pattern[0] != '_' || (f->pattern[1] != 'Z' && f->pattern[1] != 'R'))
		return;
	f->mangled = true;
	if (strpbrk(f->pattern, "*?"))
		return;
	char *name = ms_demangle(f->pattern);
	f->demangled = name ? ms_arena_strdup(&l->to->arena, name) : NULL;
	free(name);
}

static int frame_line(struct lines *l, struct ms_suppress_detail *d, const char *line)
{
	static const struct {
		const char *prefix;
		enum ms_suppress_line_kind kind;
	} kinds[] = {
		{"fun:", MS_LINE_FUNCTION}, {"obj:", MS_LINE_OBJECT}, {"src:", MS_LINE_SOURCE}};
	if (d->line_count == FRAMES_MAX)
		return bad(l, l->number, "too many frames");
	struct ms_suppress_line *f = &d->lines[d->line_count++];
	if (strcmp(line, "...") == 0) {
		f->kind = MS_LINE_ANY;
		return 0;
	}
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		size_t n = strlen(kinds[i].prefix);
		if (strncmp(line, kinds[i].prefix, n) != 0)
			continue;
		if (!line[n])
			return bad(l, l->number, "the frame has no pattern");
		*f = (struct ms_suppress_line){.kind = kinds[i].kind, .pattern = line + n};
		if (f->kind == MS_LINE_FUNCTION)
			set_function(l, f);
		return 0;
	}
	return bad(l, l->number, "expected a frame: 'fun:', 'obj:', 'src:' or '...'");
}

/* Tells whether a line is "Memcheck:Leak", perhaps with several tools before the colon. Returns 1
 * if so, 0 for another kind, or -1 with `err` set. */
static int is_leak(struct lines *l, const char *line)
{
	const char *colon = line ? strrchr(line, ':') : NULL;
	if (!colon)
		return line ? bad(l, l->number, "expected 'Memcheck:Leak'") : 0;
	return strcmp(colon + 1, "Leak") == 0 && strstr(line, "Memcheck") != NULL;
}

/* Reads a Valgrind suppression whose opening brace was read, to its closing brace. */
static int valgrind_rule(struct lines *l)
{
	unsigned begin = l->number;
	char *name = next_line(l), *line = name ? next_line(l) : NULL;
	if (!line || strcmp(name, "}") == 0 || strcmp(line, "}") == 0)
		return bad(l, begin, "its name or kind is missing");
	int leak = is_leak(l, line);
	if (leak < 0)
		return -1;
	struct ms_suppress_detail skipped = {0}, *d = &skipped;
	if (leak) {
		d = add(l, begin, name, false)->detail;
		d->kinds = MS_KINDS;
		d->lines = ms_arena_alloc(&l->to->arena, FRAMES_MAX * sizeof *d->lines);
	}
	while ((line = next_line(l)) && strcmp(line, "}") != 0) {
		if (leak && !d->line_count && strncmp(line, "match-leak-kinds:", 17) == 0) {
			if (leak_kinds(l, d, line + 17) != 0)
				return -1;
		} else if (leak && frame_line(l, d, line) != 0) {
			return -1;
		}
	}
	if (!line)
		return bad(l, begin, "its '}' is missing");
	if (leak && !d->line_count)
		return bad(l, begin, "it has no frames, and would hide everything");
	return 0;
}

/* ---- files ---- */

static int parse(struct lines *l)
{
	bool valgrind = false, first = true;
	int rc = 0;
	for (char *line; rc == 0 && (line = next_line(l)); first = false) {
		valgrind = first ? line[0] == '{' : valgrind;
		if (!valgrind)
			rc = leak_line(l, line);
		else if (strcmp(line, "{") != 0)
			rc = bad(l, l->number, "expected '{', which begins a suppression");
		else
			rc = valgrind_rule(l);
	}
	return rc != 0 || (l->err && l->err->text[0]) ? -1 : 0;
}

struct ms_suppressions *ms_suppressions_parse(const char *text, size_t n, const char *name,
					      struct ms_err *err)
{
	struct ms_suppressions *s = ms_xrealloc(NULL, 1, sizeof *s);
	struct ms_err own = {0};
	*s = (struct ms_suppressions){0};
	s->name = ms_arena_strdup(&s->arena, name);
	struct lines l = {.to = s, .at = text, .end = text + n, .err = &own};
	if (parse(&l) == 0)
		return s;
	ms_err_set(err, "%s", own.text);
	ms_suppressions_free(s);
	return NULL;
}

struct ms_suppressions *ms_suppressions_read(const char *path, struct ms_err *err)
{
	void *text = NULL;
	size_t n = 0;
	struct ms_suppressions *s = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		ms_err_sys(err, "cannot open '%s'", path);
		return NULL;
	}
	if (ms_read_all(fd, path, BYTES_MAX, &text, &n, err) == 0)
		s = ms_suppressions_parse(text, n, path, err);
	free(text);
	close(fd);
	return s;
}

void ms_suppressions_free(struct ms_suppressions *s)
{
	if (!s)
		return;
	free(s->rules.v);
	ms_arena_free(&s->arena);
	free(s);
}
