/* SPDX-License-Identifier: MIT
 * Reads all processes of the system.
 */
#include "system.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/clock.h"
#include "libcommon/base/err.h"
#include "libcommon/proc/proc.h"

#define KERNEL_THREAD UINT64_C(0x200000) /* PF_KTHREAD in field 9 of stat */
#define DEAR_PART 200u                   /* costly files take at most 1/DEAR_PART of the time */
#define KEPT 16384u                      /* maximum number of stat descriptors kept open */
#define TEXT_BYTES 4096u
#define ARGUMENTS_MOST (1u << 21) /* kernel's limit of arguments with a stack of 8 MB */

static bool read_of(const struct system *s, pid_t pid, const char *name, char *text, size_t room)
{
	char path[48];
	snprintf(path, sizeof path, "%d/%s", (int)pid, name);
	return ms_proc_text_at(s->root, path, text, room);
}

int system_folder(const struct system *s, pid_t pid)
{
	char path[24];
	snprintf(path, sizeof path, "%d", (int)pid);
	return openat(s->root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Sets the number of stat files that stay open, if this is the real /proc: rereading an open one
 * costs half as much. */
static void keep_open(struct system *s)
{
	struct statfs fs;
	struct rlimit files;
	if (fstatfs(s->root, &fs) != 0 || fs.f_type != PROC_SUPER_MAGIC ||
	    getrlimit(RLIMIT_NOFILE, &files) != 0)
		return;
	files.rlim_cur = files.rlim_max;
	if (files.rlim_cur > 2 * KEPT)
		files.rlim_cur = 2 * KEPT;
	if (setrlimit(RLIMIT_NOFILE, &files) == 0)
		s->keep = (unsigned)files.rlim_cur / 2;
}

int system_open(struct system *s, const char *root, struct ms_err *err)
{
	*s = (struct system){.root = -1, .list = opendir(root)};
	if (!s->list)
		return ms_err_set(err, "cannot open '%s': %s", root, strerror(errno));
	s->root = dirfd(s->list);
	s->page_bytes = sysconf(_SC_PAGESIZE);
	s->ticks = sysconf(_SC_CLK_TCK);
	keep_open(s);
	if (gethostname(s->host, sizeof s->host - 1) != 0)
		strcpy(s->host, "?");
	return 0;
}

/* ---- rows ---- */

static uint64_t id_of(pid_t pid, uint64_t start)
{
	uint64_t h = (uint64_t)pid * UINT64_C(0x9e3779b97f4a7c15) ^ start;
	h = (h ^ h >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
	return h ^ h >> 29;
}

size_t system_place(const struct system *s, pid_t pid)
{
	size_t low = 0, high = s->n;
	while (low < high) {
		size_t mid = (low + high) / 2;
		if (s->v[mid]->pid < pid)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static struct system_process *add(struct system *s, size_t at, pid_t pid)
{
	struct system_process *p =
		s->unused_n ? s->unused[--s->unused_n] : ms_xrealloc(NULL, 1, sizeof *p);
	*p = (struct system_process){.pid = pid,
				     .stat = -1,
				     .figures = SOURCE_NOTHING,
				     .read_bytes = SYSTEM_UNKNOWN,
				     .written_bytes = SYSTEM_UNKNOWN};
	(void)*MS_PUSH(s);
	memmove(s->v + at + 1, s->v + at, (s->n - 1 - at) * sizeof *s->v);
	return s->v[at] = p;
}

static void close_stat(struct system *s, struct system_process *p)
{
	if (p->stat < 0)
		return;
	close(p->stat);
	p->stat = -1;
	s->kept--;
}

static void drop(struct system *s, size_t at)
{
	close_stat(s, s->v[at]);
	*MS_APPEND(s->unused, s->unused_n, s->unused_cap) = s->v[at];
	s->n--;
	memmove(s->v + at, s->v + at + 1, (s->n - at) * sizeof *s->v);
}

/* ---- a process ---- */

static void read_user(const struct system *s, struct system_process *p)
{
	char path[24];
	struct stat st;
	snprintf(path, sizeof path, "%d", (int)p->pid);
	p->uid = fstatat(s->root, path, &st, 0) == 0 ? st.st_uid : (uid_t)-1;
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i] != p && s->v[i]->uid == p->uid && s->v[i]->user[0]) {
			memcpy(p->user, s->v[i]->user, sizeof p->user);
			return;
		}
	const struct passwd *pw = getpwuid(p->uid);
	if (pw)
		snprintf(p->user, sizeof p->user, "%s", pw->pw_name);
	else
		snprintf(p->user, sizeof p->user, "%u", (unsigned)p->uid);
}

static void read_command(const struct system *s, struct system_process *p)
{
	p->matched_by = 0;
	p->more_arguments = false;
	memset(p->command, 0, sizeof p->command);
	if (p->kernel || !read_of(s, p->pid, "cmdline", p->command, sizeof p->command)) {
		snprintf(p->command, sizeof p->command, p->kernel ? "[%s]" : "%s", p->name);
		return;
	}
	ssize_t n = sizeof p->command;
	while (n > 0 && !p->command[n - 1])
		n--;
	/* the text may have been cut in a run of empty arguments */
	p->more_arguments = n + 16 >= (ssize_t)sizeof p->command;
	/* remove the folder of the program */
	const char *slash = memrchr(p->command, '/', strnlen(p->command, (size_t)n));
	if (slash) {
		n -= slash + 1 - p->command;
		memmove(p->command, slash + 1, (size_t)n);
		p->command[n] = 0;
	}
	for (ssize_t i = 0; i < n; i++)
		if (!p->command[i])
			p->command[i] = ' ';
	char text[TEXT_BYTES];
	if (read_of(s, p->pid, "cgroup", text, sizeof text)) {
		const char *line = strstr(text, "0::"), *from = line ? line + 3 : "";
		size_t length = strcspn(from, "\n");
		const char *last = memrchr(from, '/', length);
		from = last && last + 1 < from + length ? last + 1 : from;
		snprintf(p->cgroup, sizeof p->cgroup, "%.*s", (int)strcspn(from, "\n"), from);
	}
}

const char *system_arguments(const struct system *s, const struct system_process *p)
{
	static char text[ARGUMENTS_MOST];
	char path[32];
	size_t n = 0;
	snprintf(path, sizeof path, "%d/cmdline", (int)p->pid);
	int fd = p->more_arguments && !p->ended ? openat(s->root, path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return NULL;
	for (ssize_t got; n < sizeof text - 1; n += (size_t)got)
		if ((got = read(fd, text + n, sizeof text - 1 - n)) <= 0)
			break;
	close(fd);
	for (size_t i = 0; i < n; i++)
		text[i] = text[i] ? text[i] : ' ';
	text[n] = 0;
	return n ? text : NULL;
}

static double rate(uint64_t now_value, uint64_t before, double seconds)
{
	return seconds > 0 && now_value >= before ? (double)(now_value - before) / seconds : 0;
}

/* Updates a row from stat. A process with the same start time is the same process. */
static void take_stat(struct system *s, struct system_process *p, const struct ms_proc_stat *st,
		      double seconds)
{
	bool fresh = !p->id, renamed = strcmp(p->name, st->name) != 0;
	uint64_t cpu = st->field[MS_STAT_UTIME] + st->field[MS_STAT_STIME];
	uint64_t minor = st->field[MS_STAT_MINFLT], major = st->field[MS_STAT_MAJFLT];
	if (!fresh) {
		p->cpu = rate(cpu, p->cpu_ticks, seconds) / (double)s->ticks;
		p->fault_rate = rate(minor, p->faults, seconds);
		p->major_rate = rate(major, p->major_faults, seconds);
	}
	p->cpu_ticks = cpu;
	p->faults = minor;
	p->major_faults = major;
	p->parent = (pid_t)st->field[MS_STAT_PPID];
	p->state = st->state;
	p->threads = (uint32_t)st->field[MS_STAT_THREADS];
	p->kernel = st->field[MS_STAT_FLAGS] & KERNEL_THREAD;
	p->rss = st->field[MS_STAT_RSS] * (uint64_t)s->page_bytes;
	p->vsz = st->field[MS_STAT_VSZ];
	p->largest = p->rss > p->largest ? p->rss : p->largest;
	snprintf(p->name, sizeof p->name, "%s", st->name);
	if (fresh) {
		p->start_ticks = st->field[MS_STAT_START];
		p->id = id_of(p->pid, p->start_ticks);
		read_user(s, p);
	}
	if (fresh || renamed)
		read_command(s, p);
	if (!p->kernel)
		history_add(&p->history, s->now_ns, p->rss);
}

static bool parse_from(int fd, struct ms_proc_stat *st)
{
	char text[TEXT_BYTES];
	ssize_t n = pread(fd, text, sizeof text - 1, 0);
	text[n > 0 ? n : 0] = 0;
	return n > 0 && ms_proc_parse_stat(text, st);
}

/* Reads stat of a process through its open descriptor (which never shows another process), or opens
 * one. Returns false if it is gone. */
static bool read_stat(struct system *s, pid_t pid, int *fd, struct ms_proc_stat *st)
{
	char path[24];
	for (size_t i = system_place(s, pid); i < s->n && s->v[i]->pid == pid; i++) {
		struct system_process *p = s->v[i];
		if (p->stat >= 0 && parse_from(p->stat, st))
			return true;
		close_stat(s, p);
	}
	snprintf(path, sizeof path, "%d/stat", (int)pid);
	*fd = openat(s->root, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (*fd >= 0 && parse_from(*fd, st))
		return true;
	if (*fd >= 0)
		close(*fd);
	return false;
}

/* Returns the row of a pid and a start time; rows of earlier processes with that pid are removed,
 * or marked as ended. */
static struct system_process *row_of(struct system *s, pid_t pid, uint64_t start)
{
	size_t at = system_place(s, pid);
	while (at < s->n && s->v[at]->pid == pid) {
		struct system_process *p = s->v[at];
		if (!p->ended && p->start_ticks == start)
			return p;
		if (p->id != s->pinned) {
			drop(s, at);
			continue;
		}
		if (!p->ended)
			p->ended_ns = s->now_ns;
		p->ended = p->seen = true;
		at++;
	}
	return add(s, at, pid);
}

static void look_at(struct system *s, pid_t pid, double seconds)
{
	struct ms_proc_stat st;
	int fd = -1;
	if (!read_stat(s, pid, &fd, &st))
		return; /* the process has ended */
	struct system_process *p = row_of(s, pid, st.field[MS_STAT_START]);
	p->seen = true;
	if (fd >= 0 && s->kept < s->keep) {
		p->stat = fd;
		s->kept++;
	} else if (fd >= 0) {
		close(fd);
	}
	take_stat(s, p, &st, seconds);
}

/* Marks rows as ended if their process was not found, and removes them after a while. */
static void sweep(struct system *s)
{
	s->kernel = s->ended = s->unreadable = s->read = 0;
	for (size_t i = 0; i < s->n;) {
		struct system_process *p = s->v[i];
		if (!p->seen && !p->ended) {
			p->ended = true;
			p->ended_ns = s->now_ns;
			close_stat(s, p);
			p->cpu = p->fault_rate = p->major_rate = p->read_rate = p->write_rate = 0;
		}
		if (p->ended && p->id != s->pinned &&
		    (p->kernel || p->history.n < SYSTEM_ENDED_SEEN ||
		     s->now_ns - p->ended_ns > SYSTEM_ENDED_NS)) {
			drop(s, i);
			continue;
		}
		s->kernel += p->kernel;
		s->ended += p->ended;
		s->unreadable += p->figures.denied && !p->ended;
		s->read += p->figures.source != SOURCE_STAT && !p->ended;
		i++;
	}
}

/* Finds active recorders; those on standby only hold memory for others. */
static void find_recordings(struct system *s)
{
	s->recordings.n = 0;
	for (size_t i = 0; i < s->n; i++) {
		const struct system_process *p = s->v[i];
		if (p->ended || strcmp(p->name, "ms-record") != 0 ||
		    strstr(p->command, " --standby"))
			continue;
		int folder = system_folder(s, p->pid);
		if (folder < 0)
			continue;
		recordings_add(&s->recordings, folder);
		close(folder);
	}
}

/* ---- the system ---- */

static double psi_of(const char *text, const char *word)
{
	const char *line = strstr(text, word), *at = line ? strstr(line, "avg10=") : NULL;
	return at ? strtod(at + 6, NULL) : -1;
}

static void read_memory(struct system *s)
{
	char text[TEXT_BYTES + 1];
	struct system_memory *m = &s->memory;
	text[0] = '\n';
	/* if a file cannot be read, its text is empty */
	ms_proc_text_at(s->root, "meminfo", text + 1, TEXT_BYTES);
	m->total = source_kib(text, "\nMemTotal:");
	m->available = source_kib(text, "\nMemAvailable:");
	m->free = source_kib(text, "\nMemFree:");
	m->cached = source_kib(text, "\nCached:");
	m->swap_total = source_kib(text, "\nSwapTotal:");
	m->swap_free = source_kib(text, "\nSwapFree:");
	ms_proc_text_at(s->root, "pressure/memory", text, sizeof text);
	m->some = psi_of(text, "some");
	m->full = psi_of(text, "full");
	ms_proc_text_at(s->root, "loadavg", text, sizeof text);
	if (sscanf(text, "%lf %lf %lf", &m->load[0], &m->load[1], &m->load[2]) != 3)
		m->load[0] = m->load[1] = m->load[2] = 0;
	ms_proc_text_at(s->root, "uptime", text, sizeof text);
	m->up_s = (uint64_t)strtoull(text, NULL, 10);
}

int system_look(struct system *s, struct ms_err *err)
{
	rewinddir(s->list);
	s->last_ns = s->now_ns;
	s->now_ns = ms_clock_ns(CLOCK_MONOTONIC);
	s->first_ns = s->first_ns ? s->first_ns : s->now_ns;
	double seconds = s->last_ns ? (double)(s->now_ns - s->last_ns) / 1e9 : 0;
	for (size_t i = 0; i < s->n; i++)
		s->v[i]->seen = s->v[i]->ended;
	errno = 0;
	for (const struct dirent *e; (e = readdir(s->list)); errno = 0) {
		char *end;
		long pid = strtol(e->d_name, &end, 10);
		if (e->d_name[0] >= '0' && e->d_name[0] <= '9' && !*end && pid > 0 && pid < 1 << 30)
			look_at(s, (pid_t)pid, seconds);
	}
	if (errno)
		return ms_err_set(err, "cannot read the list of processes: %s", strerror(errno));
	sweep(s);
	find_recordings(s);
	read_memory(s);
	return 0;
}

/* ---- what is dear ---- */

static void read_io(int folder, struct system_process *p, double seconds)
{
	char text[1024];
	text[0] = '\n';
	if (!ms_proc_text_at(folder, "io", text + 1, sizeof text - 1))
		return;
	uint64_t in = ms_proc_status_number(text, "\nread_bytes:", SYSTEM_UNKNOWN);
	uint64_t out = ms_proc_status_number(text, "\nwrite_bytes:", SYSTEM_UNKNOWN);
	if (p->read_bytes != SYSTEM_UNKNOWN) {
		p->read_rate = rate(in, p->read_bytes, seconds);
		p->write_rate = rate(out, p->written_bytes, seconds);
	}
	p->read_bytes = in;
	p->written_bytes = out;
}

static void read_dear(struct system *s, struct system_process *p, uint64_t now_ns)
{
	int folder = system_folder(s, p->pid);
	if (folder < 0)
		return;
	read_io(folder, p, p->dear_ns ? (double)(now_ns - p->dear_ns) / 1e9 : 0);
	source_read(folder, (uint64_t)s->page_bytes, &p->figures);
	/* the recorder maps the memory, but is not recorded itself */
	p->recorded = strcmp(p->name, "ms-record") != 0 && recordings_have(&s->recordings, folder);
	close(folder);
	p->dear_ns = now_ns;
	p->next_dear_ns = now_ns + (ms_clock_ns(CLOCK_MONOTONIC) - now_ns) * DEAR_PART;
}

void system_details(struct system *s, struct system_process *const *rows, size_t n, bool all)
{
	uint64_t start = ms_clock_ns(CLOCK_MONOTONIC),
		 since = s->last_ns ? s->now_ns - s->last_ns : UINT64_C(1000000000);
	for (size_t i = 0; i < n; i++, s->turn++) {
		struct system_process *p = rows[s->turn % n];
		uint64_t before = ms_clock_ns(CLOCK_MONOTONIC);
		if (i && !all && before - start > since / DEAR_PART)
			return;
		if (!p->kernel && !p->ended && (all || before >= p->next_dear_ns))
			read_dear(s, p, before);
	}
}

const char *system_verdict(struct system *s, struct system_process *p)
{
	if (p->ended)
		return "ended";
	if (p->kernel)
		return "kernel";
	/* a trend uses the whole series, so it is recomputed only when the series has grown by a
	 * hundredth */
	if (!p->trend_ns || s->now_ns - p->trend_ns > (s->now_ns - p->history.first_ns) / 100) {
		p->trend = history_trend(&p->history, false);
		p->trend_ns = s->now_ns;
	}
	return history_word(&p->trend);
}

void system_close(struct system *s)
{
	for (size_t i = 0; i < s->n; i++) {
		close_stat(s, s->v[i]);
		free(s->v[i]);
	}
	for (size_t i = 0; i < s->unused_n; i++)
		free(s->unused[i]);
	MS_FREE(s->v, s->unused);
	if (s->list)
		closedir(s->list);
	*s = (struct system){.root = -1};
}
