/* SPDX-License-Identifier: MIT
 * Source files: found, read and split into lines.
 */
#include "source.h"

#include "libcommon/model/model.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool source_is_newer(const struct model *m, const char *path)
{
	struct stat st;
	uint64_t began = m->processes.n ? m->processes.v[0].started_ns : 0;
	return began && began != UNKNOWN && path && stat(path, &st) == 0 &&
	       st.st_mtime > (time_t)(began / 1000000000);
}

char *source_read_file(const char *path, size_t most, size_t *n)
{
	struct stat st;
	/* opening a FIFO or device must not block */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	bool good = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
		    (uint64_t)st.st_size <= most;
	char *text = good ? ms_xrealloc(NULL, (size_t)st.st_size + 1, 1) : NULL;
	*n = 0;
	while (text && *n < (size_t)st.st_size) {
		ssize_t got = read(fd, text + *n, (size_t)st.st_size - *n);
		if (got <= 0)
			break;
		*n += (size_t)got;
	}
	if (fd >= 0)
		close(fd);
	return text;
}

char *source_read(struct model *m, const char *file, const char *root, size_t most,
		  const char **from, size_t *n)
{
	bool whole = *file == '/';
	const char *at[] = {whole ? "" : root, whole ? NULL : m->cwd};
	*from = file;
	for (int i = 0; i < 2; i++) {
		if (!at[i])
			continue;
		*from = whole ? file : ms_arena_printf(&m->arena, "%s/%s", at[i], file);
		char *text = source_read_file(*from, most, n);
		if (text)
			return text;
	}
	return NULL;
}

static const char *without_tabs(struct model *m, const char *s, size_t n)
{
	size_t tabs = 0, at = 0;
	for (size_t i = 0; i < n; i++)
		tabs += s[i] == '\t';
	char *line = ms_arena_alloc(&m->arena, n + 8 * tabs + 1);
	for (size_t i = 0; i < n; i++)
		if (s[i] != '\t')
			line[at++] = s[i] ? s[i] : ' ';
		else
			do
				line[at++] = ' ';
			while (at % 8);
	while (at && (line[at - 1] == '\r' || line[at - 1] == ' '))
		at--;
	line[at] = '\0';
	return line;
}

struct source source_split(struct model *m, const char *text, size_t n)
{
	struct source s = {0};
	size_t lines = 1;
	for (size_t i = 0; i < n; i++)
		lines += text[i] == '\n';
	s.v = ms_arena_alloc(&m->arena, lines * sizeof *s.v);
	for (size_t at = 0; at < n;) {
		const char *end = memchr(text + at, '\n', n - at);
		size_t length = end ? (size_t)(end - text) - at : n - at;
		s.v[s.n++] = without_tabs(m, text + at, length);
		at += length + 1;
	}
	return s;
}
