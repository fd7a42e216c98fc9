/* SPDX-License-Identifier: MIT
 * From which file of /proc/PID the figures of a process are.
 */
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "libcommon/proc/proc.h"

const char *source_word(enum source s)
{
	static const char *const words[] = {"stat", "rollup", "smaps", "statm"};
	return words[s];
}

void source_take(struct source_figures *f, enum source source, const struct ms_proc_memory *m)
{
	f->source = source;
	f->pss = m->pss;
	f->uss = m->private_clean + m->private_dirty;
	f->swap = m->swap;
	f->heap = m->anonymous;
	f->file = m->rss > m->anonymous ? m->rss - m->anonymous : 0;
}

/* smaps so far: of all mappings but the last one, which the kernel writes again when it grew
 * between two reads. */
struct smaps {
	struct ms_proc_memory sum, last;
	uint64_t end; /* of the last one */
};

static void add_line(struct smaps *s, const char *line)
{
	struct ms_proc_map map;
	if (!ms_proc_parse_map(line, &map)) {
		ms_proc_parse_memory_line(line, &s->last);
		return;
	}
	if (map.start >= s->end)
		ms_proc_memory_add(&s->sum, &s->last);
	s->last = (struct ms_proc_memory){0};
	s->end = map.end;
}

/* Whole lines of `text` are taken; what follows the last of them is moved to its front. Returns how
 * much that is. */
static size_t add_lines(struct smaps *s, char *text, size_t n, size_t room)
{
	char *line = text, *end;
	text[n] = 0;
	while ((end = memchr(line, '\n', n - (size_t)(line - text)))) {
		*end = 0;
		add_line(s, line);
		line = end + 1;
	}
	size_t rest = n - (size_t)(line - text);
	if (rest + 1 >= room)
		return 0; /* the path of a mapping: no figure is so long */
	memmove(text, line, rest);
	return rest;
}

static bool read_smaps(int folder, struct ms_proc_memory *sum)
{
	char text[8192];
	struct smaps s = {0};
	size_t have = 0, all = 0;
	ssize_t n;
	int fd = openat(folder, "smaps", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	while ((n = read(fd, text + have, sizeof text - 1 - have)) > 0) {
		all += (size_t)n;
		have = add_lines(&s, text, have + (size_t)n, sizeof text);
	}
	int why = errno;
	close(fd);
	errno = why;
	ms_proc_memory_add(&s.sum, &s.last);
	*sum = s.sum;
	return n == 0 && all > 0;
}

static void read_statm(int folder, uint64_t page_bytes, struct source_figures *f)
{
	char text[256];
	struct ms_proc_statm m;
	if (!ms_proc_text_at(folder, "statm", text, sizeof text) ||
	    !ms_proc_parse_statm(text, page_bytes, &m))
		return;
	f->source = SOURCE_STATM;
	f->file = m.shared < m.rss ? m.shared : m.rss;
	f->heap = m.rss - f->file;
	f->pss = f->uss = f->swap = SOURCE_UNKNOWN;
}

void source_read(int folder, uint64_t page_bytes, struct source_figures *f)
{
	char text[4096];
	struct ms_proc_memory m;
	if (!f->denied) {
		errno = 0;
		if (ms_proc_text_at(folder, "smaps_rollup", text, sizeof text) &&
		    ms_proc_parse_rollup(text, &m)) {
			source_take(f, SOURCE_ROLLUP, &m);
			return;
		}
		f->denied = errno == EACCES || errno == EPERM;
		if (errno == ENOENT && read_smaps(folder, &m)) {
			source_take(f, SOURCE_SMAPS, &m);
			return;
		}
		f->denied |= errno == EACCES || errno == EPERM;
	}
	read_statm(folder, page_bytes, f);
}
