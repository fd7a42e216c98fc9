/* SPDX-License-Identifier: MIT
 * Finds and searches a program's own description of code that it made at run time.
 */
#include "symbols_made.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "libcommon/base/clock.h"
#include "libcommon/base/order.h"

/* CODES_MAX: pieces of code (later ones are dropped). LINE_MAX_BYTES: length of a line. NAMES_MOST:
 * names shown for one address. */
enum { CODES_MAX = 1 << 22, LINE_MAX_BYTES = 1 << 16, NAMES_MOST = 3 };

/* ---- names ---- */

/* Returns the number after the last colon of `text`, and removes both from `text`; 0 = there is
 * none. */
static uint32_t cut_number(char *text)
{
	char *colon = strrchr(text, ':'), *end;
	unsigned long n =
		colon && colon[1] >= '0' && colon[1] <= '9' ? strtoul(colon + 1, &end, 10) : 0;
	if (!n || *end || n > UINT32_MAX)
		return 0;
	*colon = 0;
	return (uint32_t)n;
}

/* Splits a name from V8: "JS:*inner /app/work.js:6:15", where "*" tells how the code was compiled,
 * or "JS:~ /app/work.js:1:1" for an anonymous function. */
static bool split_v8(struct ms_made_code *c, char *text)
{
	static const char *const kinds[] = {"JS:", "LazyCompile:", "Function:", "Script:", "Eval:"};
	char *name = NULL;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !name; i++)
		if (!strncmp(text, kinds[i], strlen(kinds[i])))
			name = text + strlen(kinds[i]);
	char *file = name ? strchr(name, ' ') : NULL;
	if (!file || !cut_number(file) || !(c->line = cut_number(file)))
		return false;
	*file++ = 0;
	name += strspn(name, "~^+*");
	c->name = *name ? name : "(anonymous)";
	c->file = strncmp(file, "file://", 7) ? file : file + 7;
	return true;
}

/* Splits a name of CPython: "py::work:/app/work.py". */
static bool split_python(struct ms_made_code *c, char *text)
{
	char *file = strncmp(text, "py::", 4) ? NULL : strchr(text + 4, ':');
	if (!file)
		return false;
	*file++ = 0;
	c->name = text + 4;
	c->file = *file ? file : NULL;
	return true;
}

static void split(struct ms_made *m, struct ms_made_code *c, const char *text)
{
	char *parts = ms_arena_strdup(&m->arena, text);
	if ((!split_v8(c, parts) && !split_python(c, parts)) || !*c->name)
		c->name = ms_arena_strdup(&m->arena, text);
}

bool ms_made_add(struct ms_made *m, struct ms_made_code c, const char *text)
{
	if ((text && !*text) || c.end <= c.start || m->codes.n >= CODES_MAX)
		return false;
	if (text)
		split(m, &c, text);
	c.order = (uint32_t)m->codes.n;
	m->longest = c.end - c.start > m->longest ? c.end - c.start : m->longest;
	*MS_PUSH(&m->codes) = c;
	return true;
}

/* ---- files ---- */

/* Parses a line "START SIZE NAME" of perf-PID.map, with hexadecimal numbers. */
static void take_line(struct ms_made *m, char *line)
{
	int at = 0;
	uint64_t start, size;
	line[strcspn(line, "\n")] = 0;
	if (sscanf(line, "%" SCNx64 " %" SCNx64 " %n", &start, &size, &at) < 2 || !at ||
	    size > UINT64_MAX - start)
		return;
	ms_made_add(m, (struct ms_made_code){.start = start, .end = start + size}, line + at);
}

static void read_lines(struct ms_made *m, FILE *f)
{
	static const size_t room = LINE_MAX_BYTES;
	char *line = ms_xrealloc(NULL, room, 1);
	while (fgets(line, (int)room, f))
		take_line(m, line);
	free(line);
}

static bool is_its(const struct stat *st, const struct ms_made_by *by)
{
	uint64_t ns = ms_ns_of(st->st_mtim);
	return S_ISREG(st->st_mode) && ns >= by->from_ns && ns <= by->to_ns &&
	       (!st->st_uid || st->st_uid == by->uid);
}

/* Opens a file if it belongs to the process's user or root; in /tmp, anybody could have created
 * it. */
static FILE *open_its(const char *path, const struct ms_made_by *by)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	if (!f || (fstat(fd, &st) == 0 && is_its(&st, by)))
		return f;
	fclose(f);
	return NULL;
}

MS_COMPARE(by_start, struct ms_made_code,
	   MS_ORDER(x->start, y->start) ?: MS_ORDER(x->order, y->order))

/* Reads the jitdump (`dump`) or the map file in `folder`. Returns false if it does not exist, or is
 * empty. */
static bool read_its(struct ms_made *m, const struct ms_made_by *by, const char *root,
		     const char *folder, bool dump)
{
	m->path = ms_arena_printf(&m->arena,
				  dump ? "%s%s/jit-%" PRIu64 ".dump" : "%s%s/perf-%" PRIu64 ".map",
				  root, folder, by->pid);
	FILE *f = open_its(m->path, by);
	if (!f)
		return false;
	bool found = !dump || ms_jitdump_read(m, f, by->pid);
	if (!dump)
		read_lines(m, f);
	fclose(f);
	return found;
}

struct ms_made *ms_made_open(const char *root, const struct ms_made_by *by)
{
	struct ms_made *m = ms_xcalloc(1, sizeof *m);
	m->since_ns = by->since_ns;
	if ((by->cwd && read_its(m, by, root, by->cwd, true)) ||
	    read_its(m, by, root, "/tmp", true) || read_its(m, by, root, "/tmp", false)) {
		MS_SORT(m->codes.v, m->codes.n, by_start);
		return m;
	}
	ms_made_free(m);
	return NULL;
}

void ms_made_free(struct ms_made *m)
{
	if (!m)
		return;
	ms_arena_free(&m->arena);
	MS_FREE(m->codes.v, m->lines.v);
	free(m);
}

const char *ms_made_path(const struct ms_made *m)
{
	return m->path;
}

/* ---- looking up ---- */

static bool same(const struct ms_location *a, const struct ms_location *b)
{
	return !strcmp(a->function, b->function) && !a->file == !b->file &&
	       (!a->file || !strcmp(a->file, b->file));
}

static struct ms_location place_of(const struct ms_made *m, const struct ms_made_code *c,
				   uint64_t address)
{
	const struct ms_made_line *lines = c->line_count ? m->lines.v + c->first_line : NULL;
	size_t n = lines ? MS_COUNT_UP_TO(lines, c->line_count, address, address) : 0;
	if (n)
		return (struct ms_location){
			.function = c->name, .file = lines[n - 1].file, .line = lines[n - 1].line};
	return (struct ms_location){.function = c->name, .file = c->file, .line = c->line};
}

/* Returns the latest piece of code at `address` whose `order` is below `before`, or NULL. */
static const struct ms_made_code *latest(const struct ms_made *m, uint64_t address, uint32_t before)
{
	enum { LOOK_BACK = 1024 };
	size_t low = MS_COUNT_UP_TO(m->codes.v, m->codes.n, start, address);
	const struct ms_made_code *best = NULL;
	for (size_t i = low; i-- > 0 && low - i < LOOK_BACK;) {
		const struct ms_made_code *c = &m->codes.v[i];
		if (address - c->start >= m->longest)
			break;
		if (address < c->end && c->order < before && (!best || c->order > best->order))
			best = c;
	}
	return best;
}

void ms_made_find(struct ms_made *m, uint64_t address, struct ms_location *out)
{
	*out = (struct ms_location){0};
	uint64_t gone_ns = UINT64_MAX; /* time at which the next later code replaced it */
	const struct ms_made_code *c = latest(m, address, UINT32_MAX);
	for (int names = 0; c && names < NAMES_MOST; c = latest(m, address, c->order)) {
		uint64_t until = c->until_ns < gone_ns ? c->until_ns : gone_ns;
		if (m->spans && until <= m->since_ns)
			break;
		gone_ns = c->from_ns;
		struct ms_location l = place_of(m, c, address);
		if (!names++) {
			*out = l;
		} else if (!same(out, &l)) {
			out->function =
				ms_arena_printf(&m->arena, "%s|%s", out->function, l.function);
			out->file = NULL;
			out->line = 0;
		} else {
			names--;
		}
	}
}
