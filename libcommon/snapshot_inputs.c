/* SPDX-License-Identifier: MIT
 * Which traces a snapshot is made from: files, folders, standard input, successors; and how their
 * processes descend from each other.
 */
#include "snapshot_build.h"

#include "arena.h"
#include "err.h"
#include "format/trace.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- which traces ---- */

static bool known_file(const struct build *b, const struct stat *st)
{
	for (size_t i = 0; i < b->all.n; i++)
		if (b->all.v[i]->ino == st->st_ino && b->all.v[i]->dev == st->st_dev)
			return true;
	return false;
}

/* Takes over `rec`, which may be NULL. */
static int add_recording(struct build *b, struct ms_recording *rec, const char *path,
			 const struct stat *st)
{
	if (!rec)
		return -1;
	struct running *p = ms_arena_alloc(&b->arena, sizeof *p);
	p->keep.rec = rec;
	p->path = path;
	if (S_ISREG(st->st_mode)) {
		p->dev = st->st_dev;
		p->ino = st->st_ino;
		b->bytes += (uint64_t)st->st_size;
	}
	*MS_PUSH(&b->all) = p;
	return 0;
}

/* Opens one trace. A file that is there already is not taken twice. */
static int add_trace(struct build *b, const char *path)
{
	struct stat st = {0};
	if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && known_file(b, &st))
		return 0;
	return add_recording(b, ms_recording_open(path, b->err), path, &st);
}

static int is_trace_name(const struct dirent *e)
{
	size_t n = strlen(e->d_name);
	return n > 6 && strcmp(e->d_name + n - 6, ".trace") == 0;
}

static int add_folder(struct build *b, const char *path)
{
	struct dirent **names;
	int n = scandir(path, &names, is_trace_name, alphasort);
	if (n < 0)
		return ms_err_sys(b->err, "cannot read the folder '%s'", path);
	int rc = n ? 0 : ms_err_set(b->err, "no traces in the folder '%s'", path);
	for (int i = 0; i < n; i++) {
		if (rc == 0)
			rc = add_trace(b,
				       ms_arena_printf(&b->arena, "%s/%s", path, names[i]->d_name));
		free(names[i]);
	}
	free(names);
	return rc;
}

/* A pipe cannot be looked at twice: where a point needs that, a copy is made. */
static int add_copy(struct build *b, int fd, const char *name)
{
	struct ms_stream *s = b->stream;
	int copy = ms_spool(fd, s ? s->head : "", s ? s->head_size : 0, name, b->err);
	if (copy < 0)
		return -1;
	*MS_PUSH(&b->spooled) = copy;
	return add_trace(b, ms_arena_printf(&b->arena, "/proc/self/fd/%d", copy));
}

static int add_standard_input(struct build *b)
{
	struct ms_stream *s = b->stream;
	struct stat none = {0};
	if (ms_build_needs_glance(b))
		return add_copy(b, s ? s->fd : STDIN_FILENO, "standard input");
	if (!s)
		return add_trace(b, "-");
	struct ms_recording *rec =
		ms_recording_open_fd(s->fd, s->name, s->head, s->head_size, b->err);
	if (rec)
		s->fd = -1;
	return add_recording(b, rec, "-", &none);
}

int ms_build_input(struct build *b, const char *path)
{
	struct stat st;
	if (strcmp(path, "-") == 0)
		return add_standard_input(b);
	bool there = stat(path, &st) == 0;
	if (there && S_ISDIR(st.st_mode))
		return add_folder(b, path);
	if (!there || S_ISREG(st.st_mode) || !ms_build_needs_glance(b))
		return add_trace(b, path);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return ms_err_sys(b->err, "cannot open '%s'", path);
	int rc = add_copy(b, fd, path);
	close(fd);
	return rc;
}

/* An image that execed another names the trace of that one. */
int ms_build_successor(struct build *b, const struct running *p)
{
	const struct ms_fields *e = &p->keep.rec->end;
	const char *slash = strrchr(p->path, '/');
	if (!p->keep.rec->has_end || !e->text[MS_END_SUCCESSOR] || !e->text[MS_END_SUCCESSOR][0])
		return 0;
	const char *name = e->text[MS_END_SUCCESSOR];
	const char *path = ms_arena_printf(&b->arena, "%.*s%s",
					   slash ? (int)(slash - p->path) + 1 : 0, p->path, name);
	if (strcmp(p->path, "-") == 0 || strncmp(p->path, "/proc/self/fd/", 14) == 0 ||
	    access(path, R_OK) != 0) {
		b->successor_missing = name;
		return 0;
	}
	size_t before = b->all.n;
	if (add_trace(b, path) != 0)
		return -1;
	if (b->all.n == before)
		return 0;
	struct running *q = b->all.v[before];
	q->start_ns = q->keep.rec->info.number[b->wall ? MS_INFO_START_WALL : MS_INFO_START_MONO];
	return ms_build_start(b, q);
}

/* ---- who started whom ---- */

static int by_start(const void *a, const void *b)
{
	const struct running *x = *(struct running *const *)a, *y = *(struct running *const *)b;
	const struct ms_fields *i = &x->keep.rec->info, *k = &y->keep.rec->info;
	if (x->keep.offset_ns != y->keep.offset_ns)
		return x->keep.offset_ns < y->keep.offset_ns ? -1 : 1;
	if (i->number[MS_INFO_IMAGE] != k->number[MS_INFO_IMAGE])
		return i->number[MS_INFO_IMAGE] < k->number[MS_INFO_IMAGE] ? -1 : 1;
	return strcmp(x->path, y->path);
}

/* Are both of one ms-record run? Its name is 16 bytes of any value. */
static bool same_session(const struct ms_fields *f, const struct ms_fields *g)
{
	const char *a = f->text[MS_INFO_SESSION], *b = g->text[MS_INFO_SESSION];
	size_t n = f->number[MS_INFO_SESSION];
	return a && b && n == g->number[MS_INFO_SESSION] && memcmp(a, b, n) == 0;
}

void ms_build_number(struct build *b)
{
	qsort(b->all.v, b->all.n, sizeof *b->all.v, by_start);
	for (size_t i = 0; i < b->all.n; i++)
		b->all.v[i]->keep.id = (int64_t)i + 1;
	for (size_t i = 0; i < b->all.n; i++) {
		const struct ms_fields *f = &b->all.v[i]->keep.rec->info;
		for (size_t k = 0; k < b->all.n; k++) {
			const struct ms_fields *g = &b->all.v[k]->keep.rec->info;
			if (i != k &&
			    f->number[MS_INFO_PARENT_IMAGE] == g->number[MS_INFO_IMAGE] + 1 &&
			    same_session(f, g))
				b->all.v[i]->keep.parent = (int64_t)k + 1;
		}
	}
}
