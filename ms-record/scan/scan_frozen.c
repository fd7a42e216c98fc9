/* SPDX-License-Identifier: MIT
 * Makes a frozen copy of a process, from which its memory is read while the process runs on.
 *
 * While all threads are stopped, one of them makes a copy of the process (hijack_copy) that never
 * runs; then all continue at once. The kernel shares the pages, and copies those that are written
 * meanwhile. The copy lacks mappings that the program keeps out of its children (MADV_DONTFORK) or
 * wants empty in them (MADV_WIPEONFORK): these mappings are found in advance and read while the
 * threads are stopped. Shared mappings are read as they are at the time of reading.
 *
 * If no copy can be made, the threads stay stopped for the whole scan.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ms-record/ptrace/hijack_private.h"
#include "ms-record/base/clock.h"
#include "ms-record/base/timed.h"
#include "libcommon/base/err.h"
#include "libcommon/proc/cgroup.h"
#include "libcommon/proc/proc.h"
#include "scan_work.h"
#include "ms-record/base/descriptor.h"
#include "ms-record/session/session.h"

#define APART_MAX ((uint64_t)16 << 20)
/* Percentage of the process's resident memory that must be free, for pages written meanwhile. */
#define FREE_PART 30u
#define BORROW_MAX 8u
#define STOP_NS UINT64_C(100000000)
#define REAP_TRIES 50
#define REAP_AGAIN_US 20000
#define NO_LIMIT (UINT64_MAX / 2)

static bool no(struct work *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool no(struct work *w, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(w->request.copy.why, sizeof w->request.copy.why, fmt, ap);
	va_end(ap);
	return false;
}

/* ---- free memory ---- */

/* Returns the number behind `label` in a file; NO_LIMIT = none. */
static uint64_t number_in(int folder, const char *name, const char *label)
{
	char text[8192];
	ms_proc_text_at(folder, name, text, sizeof text);
	const char *p = strstr(text, label);
	p = p ? p + strlen(label) : "";
	p += strspn(p, " \t");
	return *p >= '0' && *p <= '9' ? strtoull(p, NULL, 10) : NO_LIMIT;
}

/* Returns how many bytes the process's control groups still allow; in a container the topmost group
 * has a limit, too. */
static uint64_t group_room(int proc)
{
	char path[MS_CGROUP_PATH];
	struct ms_cgroup g;
	uint64_t least = NO_LIMIT;
	if (!ms_cgroup_find(proc, path))
		return NO_LIMIT;
	ms_cgroup_begin(&g, AT_FDCWD, MS_CGROUP_ROOT, path);
	while (ms_cgroup_next(&g))
		if (g.max != UINT64_MAX && g.bytes != UINT64_MAX &&
		    (g.max < g.bytes || g.max - g.bytes < least))
			least = g.max < g.bytes ? 0 : g.max - g.bytes;
	return least;
}

static bool enough_memory(struct work *w)
{
	uint64_t resident = number_in(w->s->process.folder, "status", "\nVmRSS:") * 1024;
	uint64_t system = number_in(AT_FDCWD, "/proc/meminfo", "\nMemAvailable:") * 1024;
	uint64_t group = group_room(w->s->process.folder);
	uint64_t room = system < group ? system : group;
	if (resident / 100 * FREE_PART <= room)
		return true;
	return no(w, "too little memory is free");
}

/* ---- mappings that a copy lacks ---- */

static void add_apart(struct frozen *f, const struct memory_part *p, const char *flags)
{
	bool left_out = strstr(flags, " dc") != NULL;
	if (!left_out && !strstr(flags, " wf"))
		return;
	*MS_PUSH(&f->apart) = *p;
	f->apart.v[f->apart.n - 1].left_out = left_out;
}

/* Holds the lines of one mapping in smaps that were read so far. */
struct mapping {
	struct memory_part part;
	char perms[5];
	uint64_t there; /* bytes in memory or swapped out */
};

/* Evaluates a mapping's VmFlags. If userfaultfd serves missing pages (um; or ui: pages that only
 * the file has), pages that are not present need not be zero. With write protection alone (uw),
 * no page is missing. */
static void take_flags(struct frozen *f, const struct mapping *m, const char *flags)
{
	bool missing = strstr(flags, " um") || strstr(flags, " ui");
	f->watched |= missing || strstr(flags, " uw");
	f->served |= missing && m->there < m->part.end - m->part.start;
	if (!strncmp(m->perms, "rw-p", 4))
		add_apart(f, &m->part, flags);
}

static void take_line(struct frozen *f, struct mapping *m, const char *line)
{
	struct mapping next = {0};
	if (!strncmp(line, "VmFlags:", 8))
		take_flags(f, m, line + 8);
	else if (!strncmp(line, "Rss:", 4) || !strncmp(line, "Swap:", 5))
		m->there += strtoull(strchr(line, ':') + 1, NULL, 10) * 1024;
	else if ((*line < 'A' || *line > 'Z') && /* most lines begin with a name */
		 sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s ", &next.part.start, &next.part.end,
			next.perms) == 3)
		*m = next;
}

bool frozen_look(struct work *w, pid_t tid)
{
	char name[40];
	snprintf(name, sizeof name, "task/%d/smaps", (int)tid);
	int fd = openat(w->s->process.folder, name, O_RDONLY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	struct mapping m = {0};
	char *line = NULL;
	size_t room = 0;
	if (!file)
		return no(w, "its mappings cannot be read");
	while (getline(&line, &room, file) > 0)
		take_line(&w->request.copy, &m, line);
	w->request.copy.looked = !ferror(file);
	free(line);
	fclose(file);
	return true;
}

static bool can_be_copied(struct work *w)
{
	uint64_t all = 0;
	for (size_t i = 0; i < w->request.copy.apart.n; i++)
		all += w->request.copy.apart.v[i].end - w->request.copy.apart.v[i].start;
	if (w->request.copy.watched)
		return no(w, "it serves its own page faults (userfaultfd)");
	return all <= APART_MAX || no(w, "much of its memory is MADV_DONTFORK or MADV_WIPEONFORK");
}

static void read_apart(struct work *w)
{
	for (size_t i = 0; i < w->request.copy.apart.n; i++) {
		struct memory_part *p = &w->request.copy.apart.v[i];
		size_t bytes = (size_t)(p->end - p->start);
		p->bytes = ms_xrealloc(NULL, bytes, 1);
		if (!timed_read(w->s->process.pid, w->request.copy.h.mem, p->start, p->bytes,
				bytes))
			memset(p->bytes, 0, bytes); /* the range was unmapped meanwhile */
	}
}

/* ---- the copy ---- */

bool frozen_prepare(struct work *w)
{
	struct frozen *f = &w->request.copy;
	struct ms_err err = {0};
	if (hijack_open(&f->h, w->s->process.pid, "/proc", &err))
		return no(w, "%s", err.text);
	f->open = true;
	hijack_find_code(&f->h); /* done now, because it may have to wait for a file */
	return enough_memory(w) && can_be_copied(w);
}

static const char *copy_error(int why)
{
	return why == EAGAIN   ? "its process limit is reached (RLIMIT_NPROC or pids.max)"
	       : why == ENOMEM ? "too little memory is free"
			       : strerror(why);
}

bool frozen_make(struct work *w)
{
	struct frozen *f = &w->request.copy;
	struct hijack_call c;
	struct ms_err err = {0};
	bool borrowed = false;
	for (size_t i = 0, tries = 0; !borrowed && i < w->stopped.threads.n; i++) {
		if (w->stopped.threads.v[i].gone)
			continue;
		err.text[0] = '\0';
		borrowed = !hijack_borrow(&c, &f->h, &w->stopped.threads.v[i], 0, &err);
		if (++tries == BORROW_MAX)
			break;
	}
	if (!borrowed)
		return no(w, "%s", err.text);
	int rc = hijack_copy(&c, &f->own, &f->its), why = errno;
	if (hijack_give_back(&c) && !rc) {
		why = errno;
		rc = -1;
	}
	if (!rc)
		read_apart(w);
	else
		no(w, "%s", copy_error(why));
	f->made = !rc;
	return !rc;
}

int frozen_open(struct work *w, struct memory *m, uint64_t deadline_ns)
{
	int proc = process_folder(w->request.copy.own);
	if (proc < 0)
		return -1;
	int rc = memory_open(m, proc, w->request.copy.own, deadline_ns);
	descriptor_close(proc);
	if (!rc)
		rc = memory_set_live(m, w->s->process.folder, w->s->process.pid);
	if (!rc)
		memory_set_apart(m, w->request.copy.apart.v, w->request.copy.apart.n);
	return rc;
}

/* Makes the process wait for the killed copy, its child. Returns 0, or -1 if that is not possible
 * now. */
static int reap(struct frozen *f, uint64_t *stopped_ns)
{
	struct hijack_stop s;
	struct hijack_call c;
	if (hijack_stop_one(&s, &f->h, STOP_NS))
		return -1;
	int rc = hijack_borrow(&c, &f->h, s.threads.v, 0, NULL);
	if (!rc) {
		rc = hijack_reap(&c, f->its);
		if (hijack_give_back(&c))
			rc = -1;
	}
	hijack_resume(&s, f->h.proc);
	*stopped_ns += s.longest_ns;
	return rc;
}

void frozen_end(struct work *w)
{
	struct frozen *f = &w->request.copy;
	if (f->own)
		hijack_kill(f->own);
	for (int i = 0; f->its && i < REAP_TRIES && hijack_alive(&f->h); i++) {
		if (!reap(f, &f->reap_ns))
			break;
		usleep(REAP_AGAIN_US);
	}
	for (size_t i = 0; i < f->apart.n; i++)
		free(f->apart.v[i].bytes);
	free(f->apart.v);
	if (f->open)
		hijack_close(&f->h);
	f->apart.v = NULL;
	f->apart.n = f->apart.cap = 0;
	f->own = f->its = 0;
	f->open = false;
}
