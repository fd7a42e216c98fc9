/* SPDX-License-Identifier: MIT
 * FILE.d/index.
 */
#include "index.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "image.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/dest.h"
#include "libcommon/base/io.h"
#include "ms-record/base/descriptor.h"
#include "ms-record/session/session.h"

static const char head[] = INDEX_HEAD "parent\tpid\tstarted_ns\tduration_ns\tend\tallocations\t"
				      "allocated_bytes\tpeak_bytes\ttrace\texe\tnote\n";

static const char *how(const struct image *m, char room[32])
{
	if (m->ending == SESSION_EXECED)
		return "exec";
	if (m->ending == SESSION_STOPPED)
		return "stopped";
	if (m->exit_status < 0)
		return "ended";
	if (WIFSIGNALED(m->exit_status))
		snprintf(room, 32, "signal:%d", WTERMSIG(m->exit_status));
	else
		snprintf(room, 32, "exit:%d", WEXITSTATUS(m->exit_status));
	return room;
}

/* Writes a name that another program chose, with control characters escaped: a tab or newline would
 * end a field. */
static void put_name(FILE *f, const char *name)
{
	for (const unsigned char *p = (const unsigned char *)name; *p; p++)
		if (*p < ' ' || *p == 127 || *p == '\\')
			fprintf(f, "\\%03o", *p);
		else
			fputc(*p, f);
}

static void put_trace(FILE *f, const struct image *m)
{
	if (!m->kept) {
		fputc('-', f);
		return;
	}
	fputs(m->number ? "" : "../", f); /* the first trace is next to FILE.d, all others are
					     inside */
	put_name(f, basename(m->file));
}

static void put_image(FILE *f, const struct image *m)
{
	char room[32], parent[16] = "-", pid[16] = "-";
	if (m->parent)
		snprintf(parent, sizeof parent, "%" PRIu32, m->parent - 1);
	if (m->pid)
		snprintf(pid, sizeof pid, "%d", (int)m->pid);
	fprintf(f, "%" PRIu32 "\t%s\t%s\t%" PRIu64 "\t", m->number, parent, pid, m->started_ns);
	if (m->file) {
		fprintf(f, "%" PRIu64 "\t%s\t", m->duration_ns, how(m, room));
		if (m->sampled)
			fputs("-\t-\t-\t", f); /* the sums of a sampled recording are estimates, and
						  the columns have no room for their intervals */
		else
			fprintf(f, "%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t", m->stats.allocations,
				m->stats.allocated_bytes, m->stats.peak_bytes);
		put_trace(f, m);
	} else {
		fputs("-\t-\t-\t-\t-\t-", f);
	}
	fputc('\t', f);
	put_name(f, m->exe);
	fprintf(f, "\t%s\n", m->note[0] ? m->note : "-");
}

void index_open(struct index *x, int folder)
{
	x->fd = ms_dest_create(folder, "index");
	if (x->fd < 0)
		return;
	/* Errors, such as a full disk, affect only the index. */
	if (ms_write_all(x->fd, head, sizeof head - 1) == 0 && x->waiting)
		ms_write_all(x->fd, x->waiting, x->waiting_bytes);
}

void index_add(struct index *x, const struct image *m)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	if (!f)
		return;
	put_image(f, m);
	if (fclose(f) == 0 && x->fd >= 0) {
		ms_write_all(x->fd, text, n);
	} else if (text) {
		x->waiting = ms_xrealloc(x->waiting, x->waiting_bytes + n, 1);
		memcpy(x->waiting + x->waiting_bytes, text, n);
		x->waiting_bytes += n;
	}
	free(text);
}

void index_close(struct index *x)
{
	descriptor_close(x->fd);
	free(x->waiting);
	*x = (struct index){.fd = -1};
}
