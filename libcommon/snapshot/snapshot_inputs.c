/* SPDX-License-Identifier: MIT
 * Finds the traces that a snapshot is made from: files, folders, standard input, successors; and
 * the ancestry of their processes.
 */
#include "snapshot_build.h"
#include "libcommon/base/order.h"

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/progress.h"
#include "format/trace.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNREADABLE_TOLD 10u /* maximum number of unreadable files listed by name */

/* ---- which traces ---- */

static bool known_file(const struct build *b, const struct stat *st)
{
	for (size_t i = 0; i < b->all.n; i++)
		if (b->all.v[i]->ino == st->st_ino && b->all.v[i]->dev == st->st_dev)
			return true;
	return false;
}

/* Adds a recording to the build, which then owns it. Returns 0, or -1 if it is NULL. */
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

/* Opens a trace. A file that was already added is skipped. */
static int add_trace(struct build *b, const char *path, struct ms_err *err)
{
	struct stat st = {0};
	if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && known_file(b, &st))
		return 0;
	return add_recording(b, ms_recording_open(path, err), path, &st);
}

static int is_trace_name(const struct dirent *e)
{
	size_t n = strlen(e->d_name);
	return n > 6 && strcmp(e->d_name + n - 6, ".trace") == 0;
}

/* Records that a file of a folder is not a readable trace; the other files are still used. */
static void note_unreadable(struct build *b, const char *why)
{
	if (b->unreadable_count++ < UNREADABLE_TOLD)
		b->unreadable =
			ms_arena_printf(&b->arena, "%s%s%s", b->unreadable ? b->unreadable : "",
					b->unreadable ? "; " : "", why);
}

/* Tells whether the error `why` was already reported for a file of a folder. */
static bool told(const struct build *b, const char *why)
{
	for (size_t i = 0; i < b->folders.n; i++)
		if (b->folders.v[i].why && strstr(b->unreadable, why))
			return true;
	return false;
}

/* Returns the state of a folder. The index of the folder's run is read once. */
static struct run_folder *folder_of(struct build *b, const char *path)
{
	for (size_t i = 0; i < b->folders.n; i++)
		if (strcmp(b->folders.v[i].path, path) == 0)
			return &b->folders.v[i];
	struct run_folder *f = MS_PUSH(&b->folders);
	*f = (struct run_folder){.path = path};
	ms_run_index_read(&f->index, path, &b->arena);
	return f;
}

/* Adds a file of a folder. The file may be unreadable, or already removed: trivial traces are
 * removed while a run continues. */
static void add_from_folder(struct build *b, struct run_folder *f, const char *path)
{
	struct ms_err why = {0};
	struct stat st;
	size_t before = b->all.n;
	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
		return;
	if (st.st_size == 0) { /* an empty trace: the program image has just begun, or its recorder
				  was killed */
		f->empty = path;
	} else if (add_trace(b, path, &why) != 0) {
		note_unreadable(b, why.text);
		f->why = f->why ? f->why : ms_arena_strdup(&b->arena, why.text);
	} else if (b->all.n > before) {
		f->of = f->of ? f->of : b->all.v[before];
		/* A trivial trace may be removed before its run ends, so traces stay open, up to
		 * half the limit of open files. */
		if (b->all.n > b->files_max / 2)
			ms_recording_park(b->all.v[before]->keep.rec);
	}
}

static int add_folder(struct build *b, const char *path)
{
	struct dirent **names;
	int n = scandir(path, &names, is_trace_name, alphasort);
	if (n < 0)
		return ms_err_sys(b->err, "cannot read the folder '%s'", path);
	size_t before = b->all.n;
	struct run_folder *f = folder_of(b, path);
	for (int i = 0; i < n; i++) {
		ms_progress("opening traces", "files", (uint64_t)i, (uint64_t)n, path);
		add_from_folder(b, f, ms_arena_printf(&b->arena, "%s/%s", path, names[i]->d_name));
		free(names[i]);
	}
	free(names);
	if (n && (b->all.n > before || !f->why))
		return 0;
	return n ? ms_err_set(b->err, "%s", f->why)
		 : ms_err_set(b->err, "no traces in the folder '%s'", path);
}

/* Adds a copy of a pipe: some points require reading the trace twice. */
static int add_copy(struct build *b, int fd, const char *name)
{
	struct ms_stream *s = b->stream;
	int copy = ms_spool(fd, s ? s->head : "", s ? s->head_size : 0, name, b->err);
	if (copy < 0)
		return -1;
	*MS_PUSH(&b->spooled) = copy;
	return add_trace(b, ms_arena_printf(&b->arena, "/proc/self/fd/%d", copy), b->err);
}

static int add_standard_input(struct build *b)
{
	struct ms_stream *s = b->stream;
	struct stat none = {0};
	if (ms_points_need_glance(b))
		return add_copy(b, s ? s->fd : STDIN_FILENO, "standard input");
	if (!s)
		return add_trace(b, "-", b->err);
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
	if (!there || S_ISREG(st.st_mode) || !ms_points_need_glance(b))
		return add_trace(b, path, b->err);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return ms_err_sys(b->err, "cannot open '%s'", path);
	int rc = add_copy(b, fd, path);
	close(fd);
	return rc;
}

/* Finds the number of the program image in a file name: "ls.4711.3.trace" is of image 3. */
static bool image_of_name(const char *path, uint32_t *image)
{
	const char *dot = strrchr(path, '.');
	char *end;
	while (dot && dot > path && dot[-1] != '.')
		dot--;
	if (!dot || dot == path)
		return false;
	unsigned long v = strtoul(dot, &end, 10);
	*image = (uint32_t)v;
	return end != dot && v < UINT32_MAX && strcmp(end, ".trace") == 0;
}

/* Returns the trace to use in place of a successor's missing trace `path`: if that program image
 * was trivial, the trace of the program that replaced it by exec, or "" if there was none. NULL:
 * the trace should exist. */
static const char *beyond_trivial(struct build *b, const char *path)
{
	const char *slash = strrchr(path, '/');
	uint32_t image;
	if (!slash || !image_of_name(path, &image))
		return NULL;
	const char *folder = ms_arena_strndup(&b->arena, path, (size_t)(slash - path));
	const struct ms_run_index *x = &folder_of(b, folder)->index;
	const struct ms_run_image *m = ms_run_index_find(x, image);
	for (size_t i = 0; m && !m->trace; i++) {
		uint32_t number = m->number;
		m = i < x->n ? ms_run_index_next(x, number) : NULL;
		if (!m)
			return "";
	}
	return m ? ms_arena_printf(&b->arena, "%s/%s", folder, m->trace) : NULL;
}

/* Returns the expected path of the trace of the program image that replaced `p` by exec; NULL if no
 * image did. */
static const char *successor_path(struct build *b, const struct running *p)
{
	const struct ms_fields *e = &p->keep.rec->end;
	const char *slash = strrchr(p->path, '/');
	if (!p->keep.rec->has_end || !e->text[MS_END_SUCCESSOR] || !e->text[MS_END_SUCCESSOR][0])
		return NULL;
	return ms_arena_printf(&b->arena, "%.*s%s", slash ? (int)(slash - p->path) + 1 : 0, p->path,
			       e->text[MS_END_SUCCESSOR]);
}

/* Tells whether a path is a readable regular file; opening any other file may block. */
static bool is_readable_file(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, R_OK) == 0;
}

int ms_build_successor(struct build *b, const struct running *p)
{
	const char *path = successor_path(b, p);
	bool nowhere = strcmp(p->path, "-") == 0 || strncmp(p->path, "/proc/self/fd/", 14) == 0;
	if (!path)
		return 0;
	if (!nowhere && !is_readable_file(path)) {
		const char *next = beyond_trivial(b, path);
		if (next && !*next)
			return 0;
		path = next ? next : path;
	}
	if (nowhere || !is_readable_file(path)) {
		b->successor_missing = p->keep.rec->end.text[MS_END_SUCCESSOR];
		return 0;
	}
	size_t before = b->all.n;
	struct ms_err why = {0};
	int rc = add_trace(b, path, &why);
	if (rc != 0 && !told(b, why.text))
		note_unreadable(b, why.text);
	if (rc != 0)
		b->successor_missing = p->keep.rec->end.text[MS_END_SUCCESSOR];
	if (b->all.n == before)
		return 0;
	struct running *q = b->all.v[before];
	q->start_ns = q->keep.rec->info.number[b->wall ? MS_INFO_START_WALL : MS_INFO_START_MONO];
	return ms_build_start(b, q);
}

/* ---- ancestry ---- */

static int by_start(const void *a, const void *b)
{
	const struct running *x = *(struct running *const *)a, *y = *(struct running *const *)b;
	const struct ms_fields *i = &x->keep.rec->info, *k = &y->keep.rec->info;
	return MS_ORDER(x->keep.offset_ns, y->keep.offset_ns) ?:
	       MS_ORDER(i->number[MS_INFO_IMAGE], k->number[MS_INFO_IMAGE]) ?:
	       strcmp(x->path, y->path);
}

/* Identifies a program image by the run of ms-record, which has a name of 16 arbitrary bytes, and
 * the number of the image in this run. */
struct image_key {
	const char *session;
	size_t session_bytes;
	uint64_t image;
	int64_t id;
};

static struct image_key key_of(const struct running *p)
{
	const struct ms_fields *f = &p->keep.rec->info;
	const char *session = f->text[MS_INFO_SESSION];
	return (struct image_key){session, session ? f->number[MS_INFO_SESSION] : 0,
				  f->number[MS_INFO_IMAGE], p->keep.id};
}

static int by_session(const struct image_key *x, const struct image_key *y)
{
	if (x->session_bytes != y->session_bytes)
		return x->session_bytes < y->session_bytes ? -1 : 1;
	return x->session_bytes ? memcmp(x->session, y->session, x->session_bytes) : 0;
}

MS_COMPARE(by_key, struct image_key, by_session(x, y) ?: MS_ORDER(x->image, y->image))

static const struct ms_run_index *index_of(const struct build *b, const struct image_key *key)
{
	for (size_t i = 0; i < b->folders.n; i++) {
		struct image_key of =
			b->folders.v[i].of ? key_of(b->folders.v[i].of) : (struct image_key){0};
		if (b->folders.v[i].of && by_session(&of, key) == 0)
			return &b->folders.v[i].index;
	}
	return NULL;
}

/* Returns the row id of program image `key`, or of the nearest ancestor with a row; 0 = there is
 * none. */
static int64_t row_of(const struct build *b, const struct image_key *keys, struct image_key key)
{
	const struct ms_run_index *x = index_of(b, &key);
	for (size_t steps = 0;; steps++) {
		const struct image_key *found = bsearch(&key, keys, b->all.n, sizeof *keys, by_key);
		if (found)
			return found->id;
		const struct ms_run_image *m =
			x && steps < x->n ? ms_run_index_find(x, (uint32_t)key.image) : NULL;
		if (!m || !m->parent)
			return 0;
		key.image = m->parent - 1;
	}
}

void ms_build_number(struct build *b)
{
	struct image_key *keys = ms_xrealloc(NULL, b->all.n, sizeof *keys);
	qsort(b->all.v, b->all.n, sizeof *b->all.v, by_start);
	for (size_t i = 0; i < b->all.n; i++) {
		b->all.v[i]->keep.id = (int64_t)i + 1;
		keys[i] = key_of(b->all.v[i]);
	}
	qsort(keys, b->all.n, sizeof *keys, by_key);
	for (size_t i = 0; i < b->all.n; i++) {
		struct running *p = b->all.v[i];
		uint64_t parent = p->keep.rec->info.number[MS_INFO_PARENT_IMAGE];
		struct image_key key = key_of(p);
		key.image = parent - 1;
		if (!parent || !key.session_bytes)
			continue;
		int64_t row = row_of(b, keys, key);
		p->keep.parent = row == p->keep.id ? 0 : row;
	}
	free(keys);
}

void ms_build_count(struct build *b)
{
	for (size_t i = 0; i < b->all.n; i++) {
		const struct ms_recording *t = b->all.v[i]->keep.rec;
		b->res->traces++;
		b->res->incomplete += !ms_recording_complete(t);
		b->res->growing += t->state == MS_TRACE_GROWING;
		b->res->events += t->replay.events;
	}
	/* An empty file may be a trace that has just begun, if another trace is growing; if none
	 * is, a killed recorder left it. */
	for (size_t i = 0; i < b->folders.n && !b->res->growing; i++)
		if (b->folders.v[i].empty)
			note_unreadable(b,
					ms_arena_printf(&b->arena, "cannot read '%s': empty file",
							b->folders.v[i].empty));
	b->res->unreadable = b->unreadable_count;
	b->res->incomplete += b->unreadable_count;
}
