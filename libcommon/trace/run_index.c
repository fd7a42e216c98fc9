/* SPDX-License-Identifier: MIT
 * Reads FILE.d/index, the index of a run.
 */
#include "run_index.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libcommon/base/err.h"
#include "libcommon/base/io.h"
#include "libcommon/base/order.h"

#define INDEX_MAX ((size_t)1 << 28) /* bytes: enough for more than a million program images */

enum { COLUMN_IMAGE, COLUMN_PARENT, COLUMN_PID, COLUMN_TRACE = 9, COLUMNS };

/* Decodes \NNN in place. */
static void unescape(char *s)
{
	char *to = s;
	for (; *s; s++) {
		bool code = s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' &&
			    s[2] <= '7' && s[3] >= '0' && s[3] <= '7';
		*to++ = code ? (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0')) : *s;
		s += code ? 3 : 0;
	}
	*to = '\0';
}

static bool number_of(const char *s, uint32_t *out)
{
	char *end;
	unsigned long v = strtoul(s, &end, 10);
	*out = (uint32_t)v;
	return end != s && !*end && v < UINT32_MAX;
}

/* Tells whether a name has no folders, except one leading "../": the first trace is beside the
 * folder, the others are in it. */
static bool safe_name(const char *s)
{
	if (strncmp(s, "../", 3) == 0)
		s += 3;
	return *s && !strchr(s, '/') && strcmp(s, "..") != 0 && strcmp(s, ".") != 0;
}

static void take_line(struct ms_run_index *x, char *line, struct ms_arena *a)
{
	char *column[COLUMNS], *rest = line;
	struct ms_run_image m = {0};
	uint32_t parent;
	for (size_t i = 0; i < COLUMNS; i++)
		if (!(column[i] = strsep(&rest, "\t")))
			return;
	if (!number_of(column[COLUMN_IMAGE], &m.number))
		return;
	if (number_of(column[COLUMN_PARENT], &parent))
		m.parent = parent + 1;
	m.pid = strtoll(column[COLUMN_PID], NULL, 10);
	unescape(column[COLUMN_TRACE]);
	if (strcmp(column[COLUMN_TRACE], "-") != 0 && safe_name(column[COLUMN_TRACE]))
		m.trace = ms_arena_strdup(a, column[COLUMN_TRACE]);
	*MS_PUSH(x) = m;
}

MS_COMPARE(by_number, struct ms_run_image, MS_ORDER(x->number, y->number))

void ms_run_index_parse(struct ms_run_index *x, char *text, size_t n, struct ms_arena *a)
{
	*x = (struct ms_run_index){0};
	/* The last line may be incomplete if the writer was killed. */
	for (char *end; n && (end = memchr(text, '\n', n)); text = end + 1) {
		n -= (size_t)(end + 1 - text);
		*end = '\0';
		if (*text != '#')
			take_line(x, text, a);
	}
	MS_SORT(x->v, x->n, by_number);
}

void ms_run_index_read(struct ms_run_index *x, const char *folder, struct ms_arena *a)
{
	struct ms_err ignored;
	const char *path = ms_arena_printf(a, "%s/index", folder);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	void *text = NULL;
	size_t n = 0;
	*x = (struct ms_run_index){0};
	if (fd < 0)
		return;
	if (ms_read_all(fd, path, INDEX_MAX, &text, &n, &ignored) == 0)
		ms_run_index_parse(x, text, n, a);
	free(text);
	close(fd);
}

void ms_run_index_free(struct ms_run_index *x)
{
	free(x->v);
	*x = (struct ms_run_index){0};
}

const struct ms_run_image *ms_run_index_find(const struct ms_run_index *x, uint32_t number)
{
	struct ms_run_image key = {.number = number};
	return x->n ? bsearch(&key, x->v, x->n, sizeof key, by_number) : NULL;
}

const struct ms_run_image *ms_run_index_next(const struct ms_run_index *x, uint32_t number)
{
	const struct ms_run_image *of = ms_run_index_find(x, number);
	for (size_t i = 0; i < x->n && of; i++)
		if (x->v[i].parent == number + 1 && x->v[i].pid == of->pid &&
		    x->v[i].number != number)
			return &x->v[i];
	return NULL;
}
