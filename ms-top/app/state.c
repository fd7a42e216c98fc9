/* SPDX-License-Identifier: MIT
 * Saves settings in $XDG_STATE_HOME/memscope/ms-top: a word and its value on each line.
 */
#include "state.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app_private.h"
#include "libcommon/base/err.h"
#include "libcommon/base/io.h"

enum { STATE_SORT, STATE_COLUMNS, STATE_WORDS };
static const char *const words[STATE_WORDS] = {"sort", "columns"};

struct state {
	char value[STATE_WORDS][256];
};

/* Opens a folder of ours in which nobody else may write, created with `make`. Returns -1 if there
 * is none. */
static int enter(int from, const char *name, bool make)
{
	struct stat st;
	if (make)
		mkdirat(from, name, 0700);
	int fd = openat(from, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, &st) != 0 || st.st_uid != geteuid() || (st.st_mode & 022))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Opens the folder for the saved state. Returns -1 under sudo: HOME may be that of the user who ran
 * sudo, and root's files must not be left there. */
static int open_folder(bool make)
{
	const char *own = secure_getenv("XDG_STATE_HOME"), *home = secure_getenv("HOME");
	const char *const ours[] = {own, "memscope", NULL}, *const of_home[] = {home, ".local",
										"state", "memscope",
										NULL};
	const char *const *path = own && *own == '/' ? ours : of_home;
	if (!path[0] || path[0][0] != '/' || (geteuid() == 0 && getenv("SUDO_UID")))
		return -1;
	int at = enter(AT_FDCWD, path[0], make && path == ours);
	for (int i = 1; path[i] && at >= 0; i++) {
		int next = enter(at, path[i], make);
		close(at);
		at = next;
	}
	return at;
}

static void read_state(struct state *s)
{
	char text[4096];
	*s = (struct state){0};
	int folder = open_folder(false);
	int fd = folder < 0
			 ? -1
			 : openat(folder, "ms-top", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
	text[n > 0 ? n : 0] = 0;
	for (char *line = text, *next; *line; line = next) {
		size_t length = strcspn(line, "\n");
		next = line + length + (line[length] != 0);
		line[length] = 0;
		for (int i = 0; i < STATE_WORDS; i++) {
			size_t w = strlen(words[i]);
			if (strncmp(line, words[i], w) == 0 && line[w] == ' ')
				snprintf(s->value[i], sizeof s->value[i], "%s", line + w + 1);
		}
	}
	if (fd >= 0)
		close(fd);
	if (folder >= 0)
		close(folder);
}

static void write_state(const struct state *s)
{
	char text[sizeof *s + 64];
	size_t n = 0;
	for (int i = 0; i < STATE_WORDS; i++)
		if (s->value[i][0])
			n += (size_t)snprintf(text + n, sizeof text - n, "%s %s\n", words[i],
					      s->value[i]);
	int folder = open_folder(true);
	if (folder < 0)
		return;
	int fd = openat(folder, "ms-top.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
			0600);
	bool good = fd >= 0 && ms_write_all(fd, text, n) == 0;
	if (fd >= 0 && close(fd) == 0 && good)
		renameat(folder, "ms-top.new", folder, "ms-top");
	else
		unlinkat(folder, "ms-top.new", 0);
	close(folder);
}

void state_load(struct options *o)
{
	struct state s;
	struct ms_err err = {0};
	read_state(&s);
	const char *sort = s.value[STATE_SORT];
	const char *name = sort + (sort[0] == '-');
	struct column_set set;
	/* not for a trace: how its rows are sorted at first depends on the figures it has */
	int id = o->sort_text || o->trace || !sort[0] ? -1 : column_find(name, strlen(name), &err);
	if (id >= 0) {
		o->reverse = sort[0] == '-';
		o->sort = (enum column_id)id;
	}
	const char *list = s.value[STATE_COLUMNS];
	if (list[0] && !ms_cli_given(&o->cli, "columns") && columns_parse(list, &set, &err) == 0)
		o->columns = set;
}

static bool same_columns(const struct column_set *a, const struct column_set *b)
{
	return a->n == b->n && memcmp(a->v, b->v, a->n * sizeof a->v[0]) == 0;
}

void state_save(const struct app *a, const struct options *o)
{
	struct state s;
	bool sort = !o->trace && (a->rows.sort != o->sort || a->rows.reverse != o->reverse),
	     shown = !same_columns(&a->columns, &o->columns);
	if (!sort && !shown)
		return;
	read_state(&s);
	if (sort)
		snprintf(s.value[STATE_SORT], sizeof s.value[0], "%s%s", a->rows.reverse ? "-" : "",
			 columns[a->rows.sort].title);
	size_t n = 0;
	for (size_t i = 0; i < a->columns.n && shown; i++)
		n += (size_t)snprintf(s.value[STATE_COLUMNS] + n, sizeof s.value[0] - n, "%s%s",
				      i ? "," : "", columns[a->columns.v[i]].title);
	write_state(&s);
}
