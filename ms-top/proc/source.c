/* SPDX-License-Identifier: MIT
 * Chooses the file of /proc/PID for the figures of a process.
 */
#include "source.h"

#include <errno.h>

#include "maps.h"
#include "libcommon/proc/proc.h"

const char *source_word(enum source s)
{
	static const char *const words[] = {"stat", "rollup", "smaps", "statm"};
	return words[s];
}

uint64_t source_kib(const char *text, const char *label)
{
	uint64_t v = ms_proc_status_number(text, label, SOURCE_UNKNOWN);
	return v == SOURCE_UNKNOWN ? v : v * 1024;
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

/* Sums up smaps. The latest mapping is separate, since the kernel writes it again if it grew
 * between two reads. */
struct smaps {
	struct ms_proc_memory sum, last;
	uint64_t end; /* end address of the latest mapping */
};

static bool add_line(void *arg, const char *line)
{
	struct smaps *s = arg;
	struct ms_proc_map map;
	if (!ms_proc_parse_map(line, &map)) {
		ms_proc_parse_memory_line(line, &s->last);
		return true;
	}
	if (map.start >= s->end)
		ms_proc_memory_add(&s->sum, &s->last);
	s->last = (struct ms_proc_memory){0};
	s->end = map.end;
	return true;
}

static bool read_smaps(int folder, struct ms_proc_memory *sum)
{
	struct smaps s = {0};
	bool good = lines_each(folder, "smaps", add_line, &s);
	ms_proc_memory_add(&s.sum, &s.last);
	*sum = s.sum;
	return good;
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
