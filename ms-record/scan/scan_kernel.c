/* SPDX-License-Identifier: MIT
 * Reads pointers that the program passed to the kernel, as far as /proc shows them: with
 * descriptors in epoll, with POSIX timers, as signal stacks.
 *
 * The epoll descriptors are found before the threads are stopped, because there may be many other
 * descriptors.
 */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scan_work.h"
#include "ms-record/session/session.h"

void kernel_find(struct kernel_words *k, int proc, pid_t tid)
{
	char name[40], target[32];
	k->epolls.n = 0;
	snprintf(name, sizeof name, "task/%d/fd", (int)tid);
	int folder = openat(proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = folder < 0 ? NULL : fdopendir(folder);
	for (const struct dirent *e; dir && (e = readdir(dir));) {
		ssize_t n = readlinkat(folder, e->d_name, target, sizeof target - 1);
		target[n < 0 ? 0 : n] = '\0';
		if (!strcmp(target, "anon_inode:[eventpoll]"))
			*MS_PUSH(&k->epolls) = atoi(e->d_name);
	}
	if (dir)
		closedir(dir);
	else if (folder >= 0)
		close(folder);
}

/* Finds the lines of a file with `label` and a later `then`, and adds the hexadecimal number
 * after `then` of each. */
static void take(struct kernel_words *k, int proc, const char *name, const char *label,
		 const char *then)
{
	int fd = openat(proc, name, O_RDONLY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	char *line = NULL;
	size_t room = 0;
	while (file && getline(&line, &room, file) > 0) {
		const char *at = strstr(line, label);
		at = at ? strstr(at, then) : NULL;
		if (at)
			*MS_PUSH(&k->words) = strtoull(at + strlen(then), NULL, 16);
	}
	free(line);
	if (file)
		fclose(file);
	else if (fd >= 0)
		close(fd);
}

void kernel_read(struct kernel_words *k, const struct session *s, pid_t tid)
{
	char name[64];
	for (size_t i = 0; i < k->epolls.n; i++) {
		snprintf(name, sizeof name, "task/%d/fdinfo/%d", (int)tid, k->epolls.v[i]);
		take(k, s->process.folder, name, "tfd:", " data:");
	}
	take(k, s->process.folder, "timers", "signal:", "/");
	uint32_t n = __atomic_load_n(&s->rings.prepared, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < n; i++)
		if (__atomic_load_n(&s->rings.shared[i].state, __ATOMIC_ACQUIRE) == MG_RING_TAKEN &&
		    s->rings.shared[i].signal_stack)
			*MS_PUSH(&k->words) = s->rings.shared[i].signal_stack;
}

void kernel_free(struct kernel_words *k)
{
	MS_FREE(k->epolls.v, k->words.v);
}
