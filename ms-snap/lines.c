/* SPDX-License-Identifier: MIT
 * Writes lines of JSON. A process has ended if the previous line had it and it is gone, or if it
 * disappeared while it was read.
 */
#include "lines.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/io.h"
#include "libcommon/base/json_writer.h"

struct seen {
	pid_t pid;
	uint64_t start_ticks; /* start time; pid and start time identify a process */
	char name[64];
};

/* Holds a line or one of its lists. Lists are collected separately, since the line's other parts
 * precede them. */
struct part {
	char *v;
	size_t n, cap;
	struct ms_json j;
};

struct lines {
	bool one, smaps;
	size_t count, skipped;
	struct part line, processes, ended;
	MS_ARRAY(struct seen) now, before; /* sorted by pid */
};

static void put_part(void *to, const char *s, size_t n)
{
	struct part *p = to;
	if (n > p->cap - p->n)
		p->v = ms_xrealloc(p->v, p->cap = 2 * (p->n + n), 1);
	memcpy(p->v + p->n, s, n);
	p->n += n;
}

static void begin(struct part *p, bool list)
{
	p->n = 0;
	p->j = (struct ms_json){.put = put_part, .to = p};
	if (list)
		ms_json_open(&p->j, NULL, '[');
}

/* Ends the list. Returns its text, valid until the next list begins. */
static const char *end(struct part *p)
{
	ms_json_close(&p->j, ']');
	put_part(p, "", 1);
	return p->v;
}

static void begin_line(struct lines *l)
{
	begin(&l->line, false);
	begin(&l->processes, true);
	begin(&l->ended, true);
	l->count = l->skipped = 0;
}

struct lines *lines_new(bool one, bool smaps)
{
	struct lines *l = ms_xcalloc(1, sizeof *l);
	l->one = one;
	l->smaps = smaps;
	begin_line(l);
	return l;
}

void lines_free(struct lines *l)
{
	if (l)
		MS_FREE(l->line.v, l->processes.v, l->ended.v, l->now.v, l->before.v, l);
}

static void put_region(struct ms_json *j, const struct ms_region *r, bool smaps)
{
	const struct ms_proc_memory *m = &r->memory;
	ms_json_format(j, "{start:%lx end:%lx type:%s perm:%s size_kb:%lu pathname:%s",
		       r->map.start, r->map.end, ms_region_word(r->kind), r->map.perms,
		       (r->map.end - r->map.start) / 1024, r->map.path);
	if (smaps)
		ms_json_format(j,
			       "rss_kb:%lu pss_kb:%lu shared_clean_kb:%lu shared_dirty_kb:%lu "
			       "private_clean_kb:%lu private_dirty_kb:%lu swap_kb:%lu",
			       m->rss / 1024, m->pss / 1024, m->shared_clean / 1024,
			       m->shared_dirty / 1024, m->private_clean / 1024,
			       m->private_dirty / 1024, m->swap / 1024);
	ms_json_close(j, '}');
}

static void put_process(struct lines *l, struct ms_json *j, const struct ms_proc *p,
			uint64_t wall_ns, const struct lines_figures *f)
{
	ms_json_open(j, l->one ? NULL : "snapshot", '{');
	ms_json_format(j,
		       "pid:%lu timestamp_ms:%lu total_rss_kb:%lu total_vsize_kb:%lu "
		       "region_count:%lu regions:[",
		       (uint64_t)p->pid, wall_ns / 1000000, f->rss_bytes / 1024,
		       f->vsz_bytes / 1024, f->regions->n);
	for (size_t i = 0; i < f->regions->n; i++)
		put_region(j, &f->regions->v[i], l->smaps);
	ms_json_format(j, "]}");
}

static void note(struct lines *l, const struct ms_proc *p, const char *name)
{
	struct seen *s = MS_PUSH(&l->now);
	*s = (struct seen){.pid = p->pid, .start_ticks = p->start_ticks};
	snprintf(s->name, sizeof s->name, "%s", name);
}

void lines_process(struct lines *l, const struct ms_proc *p, const char *name, uint64_t wall_ns,
		   const struct lines_figures *f)
{
	struct ms_json *j = &l->processes.j;
	l->count++;
	if (l->one) {
		put_process(l, &l->line.j, p, wall_ns, f);
		return;
	}
	note(l, p, name);
	ms_json_format(j, "{pid:%lu name:%s", (uint64_t)p->pid, name);
	put_process(l, j, p, wall_ns, f);
	ms_json_close(j, '}');
}

static void put_ended(struct lines *l, pid_t pid, const char *name)
{
	ms_json_format(&l->ended.j, "{pid:%lu name:%s}", (uint64_t)pid, *name ? name : NULL);
}

static bool same(const struct seen *s, pid_t pid, uint64_t start_ticks)
{
	return s->pid == pid && s->start_ticks == start_ticks;
}

void lines_without(struct lines *l, const struct ms_proc *p, bool ended)
{
	l->skipped += !ended;
	if (!ended)
		note(l, p, p->name);
	/* processes of the previous line that have ended are reported at the end of this line */
	for (size_t i = 0; ended && i < l->before.n; i++)
		if (same(&l->before.v[i], p->pid, p->start_ticks))
			return;
	if (ended)
		put_ended(l, p->pid, p->name);
}

static void find_ended(struct lines *l)
{
	for (size_t i = 0, k = 0; i < l->before.n; i++) {
		const struct seen *s = &l->before.v[i];
		while (k < l->now.n && l->now.v[k].pid < s->pid)
			k++;
		if (k == l->now.n || !same(&l->now.v[k], s->pid, s->start_ticks))
			put_ended(l, s->pid, s->name);
	}
	MS_FREE(l->before.v);
	l->before = l->now;
	memset(&l->now, 0, sizeof l->now);
}

static void put_list(struct lines *l, uint64_t wall_ns)
{
	struct ms_json *j = &l->line.j;
	find_ended(l);
	ms_json_format(j, "{timestamp_ms:%lu process_count:%lu skipped:%lu", wall_ns / 1000000,
		       l->count, l->skipped);
	ms_json_raw(j, "ended", end(&l->ended));
	ms_json_raw(j, "processes", end(&l->processes));
	ms_json_close(j, '}');
}

int lines_end(struct lines *l, uint64_t wall_ns, struct ms_err *err)
{
	int rc = 0;
	if (!l->one)
		put_list(l, wall_ns);
	if (l->line.n) {
		put_part(&l->line, "\n", 1);
		rc = ms_write_all(STDOUT_FILENO, l->line.v, l->line.n);
	}
	if (rc != 0)
		return ms_err_sys(err, "cannot write to standard output");
	begin_line(l);
	return 0;
}

bool lines_unread(void)
{
	struct pollfd out = {.fd = STDOUT_FILENO};
	return poll(&out, 1, 0) > 0 && out.revents & (POLLERR | POLLHUP);
}
