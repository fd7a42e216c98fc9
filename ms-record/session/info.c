/* SPDX-License-Identifier: MIT
 * The first block of a trace: what runs where, from /proc.
 */
#include "info.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "format/trace.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/clock.h"
#include "libcommon/base/err.h"
#include "libcommon/base/io.h"
#include "libcommon/proc/proc.h"
#include "ms-record/base/descriptor.h"
#include "ms-record/base/program.h"
#include "session_options.h"
#include "session.h"

#define TEXT_MAX ((size_t)1 << 20)

/* Lists environment variables that affect an allocator or a program's memory use. */
static const char *const interesting[] = {
	"MALLOC_",      "GLIBC_TUNABLES=", "LD_PRELOAD=", "LD_LIBRARY_PATH=", "PYTHONMALLOC=",
	"MALLOCSTATS=", "MIMALLOC_",       "TCMALLOC_",   "JEMALLOC_",        "PYTHONHASHSEED=",
	"PATH=",        "LANG=",           "LC_ALL=",     "OMP_NUM_THREADS="};

struct identity *identity_new(void)
{
	struct identity *w = ms_xcalloc(1, sizeof *w);
	w->refs = 1;
	return w;
}

struct identity *identity_ref(struct identity *w)
{
	__atomic_add_fetch(&w->refs, 1, __ATOMIC_RELAXED);
	return w;
}

void identity_unref(struct identity *w)
{
	if (!w || __atomic_sub_fetch(&w->refs, 1, __ATOMIC_ACQ_REL))
		return;
	MS_FREE(w->exe, w->name, w->cwd, w->args, w->env, w);
}

/* Reads a file of /proc/PID, NUL-terminated and cut at TEXT_MAX. malloc'ed; NULL if it cannot be
 * read. */
static char *read_file(int folder, const char *name, size_t *size)
{
	void *bytes;
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
	bool good = fd >= 0 && !ms_read_all(fd, name, SIZE_MAX, &bytes, size, NULL);
	descriptor_close(fd);
	if (!good)
		return NULL;
	*size = *size < TEXT_MAX ? *size : TEXT_MAX;
	char *text = ms_xrealloc(bytes, *size + 1, 1);
	text[*size] = '\0';
	return text;
}

static char *read_link(int folder, const char *name)
{
	char path[PROCESS_EXE];
	return process_link(folder, name, path, sizeof path) ? ms_xstrdup(path) : NULL;
}

char *info_name(int proc, const char *exe)
{
	char comm[64];
	const char *base = basename(exe);
	ms_proc_text_at(proc, "comm", comm, sizeof comm);
	comm[strcspn(comm, "\n")] = '\0';
	bool cut = strlen(comm) == 15 && !strncmp(comm, base, 15);
	/* if the dynamic linker was run as the command, comm is the linker's name */
	char link[PROCESS_EXE];
	if (*comm && process_link(proc, "exe", link, sizeof link) && strcmp(link, exe) != 0)
		cut |= (strlen(comm) == 15 && !strncmp(comm, basename(link), 15)) ||
		       !strcmp(comm, basename(link));
	char *name = ms_xstrdup(!*comm || cut ? base : comm);
	ms_one_line(name);
	for (char *p = name; (p = strpbrk(p, "/ ?"));)
		*p = '_';
	return name;
}

static void take_text(char **text, size_t *n, const char *from, size_t bytes)
{
	if (*text || !from)
		return;
	*text = memcpy(ms_xrealloc(NULL, bytes + 1, 1), from, bytes + 1);
	*n = bytes;
}

/* Fills in from the parent the data missing for a process that has ended. */
static void take_from(struct identity *w, const struct identity *parent)
{
	if (!w->exe)
		w->exe = ms_xstrdup(parent->exe);
	if (!w->name)
		w->name = ms_xstrdup(parent->name);
	if (!w->cwd && parent->cwd)
		w->cwd = ms_xstrdup(parent->cwd);
	take_text(&w->args, &w->args_bytes, parent->args, parent->args_bytes);
	take_text(&w->env, &w->env_bytes, parent->env, parent->env_bytes);
	if (!w->ppid)
		w->ppid = (uint64_t)parent->pid;
	if (w->uid == UINT64_MAX)
		w->uid = parent->uid;
}

static bool same_pidns(const struct session *s)
{
	char own[64], theirs[64];
	return !process_link(AT_FDCWD, "/proc/self/ns/pid", own, sizeof own) ||
	       !process_link(s->process.folder, "ns/pid", theirs, sizeof theirs) ||
	       !strcmp(own, theirs);
}

/* Removes the dynamic linker's own arguments, which the program itself does not see. */
static void cut_linker(const struct session *s, struct identity *w)
{
	char link[PROCESS_EXE];
	if (!w->args || !w->exe || !process_link(s->process.folder, "exe", link, sizeof link) ||
	    !strcmp(link, w->exe))
		return;
	size_t n = process_linker_args(w->args, w->args_bytes);
	w->args_bytes -= n;
	memmove(w->args, w->args + n, w->args_bytes + 1);
}

/* Tells whether the forked child called exec since it was found: then the names read are the new
 * program's. */
static bool is_other(const struct session *s)
{
	uint64_t now = s->process.signature ? process_signature(s->process.folder) : 0;
	return now && now != s->process.signature;
}

static void forget_names(struct identity *w)
{
	MS_FREE(w->exe, w->name, w->cwd, w->args, w->env);
	w->exe = w->name = w->cwd = w->args = w->env = NULL;
	w->args_bytes = w->env_bytes = 0;
}

void info_names(struct session *s, const struct identity *parent)
{
	struct identity *w = s->who;
	struct stat st;
	w->pid = s->process.pid;
	w->image = s->image;
	char exe[PROCESS_EXE];
	process_exe(s->process.folder, exe);
	if (strcmp(exe, "unknown") != 0) {
		w->exe = ms_xstrdup(exe);
		w->name = info_name(s->process.folder, w->exe);
	}
	w->cwd = read_link(s->process.folder, "cwd");
	if (!s->opt->no_args) {
		w->args = read_file(s->process.folder, "cmdline", &w->args_bytes);
		cut_linker(s, w);
		w->env = read_file(s->process.folder, "environ", &w->env_bytes);
	}
	if (parent && is_other(s))
		forget_names(w);
	/* A process that overwrote its arguments with a status text left zeros behind the text. */
	while (parent && w->args_bytes > 1 && !w->args[w->args_bytes - 2])
		w->args_bytes--;
	struct ms_proc_stat stat;
	bool known = ms_proc_stat_at(s->process.folder, &stat);
	w->ppid = known ? stat.field[MS_STAT_PPID] : 0;
	w->began_ns = known ? stat.field[MS_STAT_START] *
				      (UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK))
			    : 0;
	w->uid = s->process.folder >= 0 && !fstat(s->process.folder, &st) ? st.st_uid : UINT64_MAX;
	w->same_pidns = s->process.folder < 0 && parent ? parent->same_pidns : same_pidns(s);
	if (parent)
		take_from(w, parent);
	if (!w->exe)
		w->exe = ms_xstrdup("unknown");
	if (!w->name)
		w->name = info_name(s->process.folder, w->exe);
	s->process.exe = ms_xstrdup(w->exe);
	s->name = ms_xstrdup(w->name);
	s->process.cwd = w->cwd;
	s->same_pidns = w->same_pidns;
}

static void add_args(struct ms_record_writer *w, const char *text, size_t n)
{
	for (size_t at = 0; at < n; at += strlen(text + at) + 1)
		ms_record_string(w, MS_INFO_ARG, text + at);
}

static bool wanted(const struct session_options *o, const char *line)
{
	for (size_t i = 0; i < sizeof interesting / sizeof *interesting; i++)
		if (!strncmp(line, interesting[i], strlen(interesting[i])))
			return true;
	for (size_t i = 0; i < o->env.n; i++)
		if (!strcmp(line, o->env.v[i]))
			return true;
	return false;
}

static void add_env(struct session *s, struct ms_record_writer *w, const char *text, size_t n)
{
	for (size_t at = 0; at < n; at += strlen(text + at) + 1)
		if (wanted(s->opt, text + at))
			ms_record_string(w, MS_INFO_ENV, text + at);
}

/* Reads the boot id, "b2a5e1c0-...", as bytes without the dashes. Returns their number, at most
 * 16. Called by the control thread only. */
static size_t boot_id(uint8_t out[16])
{
	static char text[64];
	size_t n = 0;
	if (!*text)
		ms_proc_text_at(AT_FDCWD, "/proc/sys/kernel/random/boot_id", text, sizeof text);
	for (const char *p = text; *p && n < 16; p++) {
		unsigned byte;
		if (*p == '-')
			continue;
		if (sscanf(p, "%2x", &byte) != 1)
			break;
		out[n++] = (uint8_t)byte;
		p++;
	}
	return n;
}

static void add_machine(struct session *s, struct ms_record_writer *w)
{
	struct utsname u;
	uint8_t boot[16];
	bool here = !s->process.memory; /* else it ran anywhere */
	if (here && !uname(&u)) {
		char kernel[sizeof u.sysname + sizeof u.release + 2];
		snprintf(kernel, sizeof kernel, "%s %s", u.sysname, u.release);
		ms_record_string(w, MS_INFO_HOST, u.nodename);
		ms_record_string(w, MS_INFO_KERNEL, kernel);
	}
	size_t n = here ? boot_id(boot) : 0;
	if (n)
		ms_record_bytes(w, MS_INFO_BOOT_ID, boot, n);
	if (s->who->uid != UINT64_MAX)
		ms_record_number(w, MS_INFO_UID, s->who->uid);
	ms_record_number(w, MS_INFO_PAGE_SIZE, (uint64_t)sysconf(_SC_PAGESIZE));
}

static void add_fork(const struct session *s, struct ms_record_writer *w)
{
	ms_record_number(w, MS_INFO_FORKED, 1);
	if (!s->parent_image)
		return;
	ms_record_number(w, MS_INFO_FORK_EVENT, s->fork.event);
	ms_record_number(w, MS_INFO_FORK_NUMBER, s->fork.number);
	ms_record_number(w, MS_INFO_INHERITED_BLOCKS, s->fork.inherited_blocks);
	ms_record_number(w, MS_INFO_INHERITED_BYTES, s->fork.inherited_bytes);
}

static void add_attached(const struct session *s, struct ms_record_writer *w)
{
	uint64_t age = s->who->began_ns ? ms_clock_ns(CLOCK_BOOTTIME) - s->who->began_ns : 0;
	ms_record_number(w, MS_INFO_ATTACHED, 1);
	if (age)
		ms_record_number(w, MS_INFO_BEGAN, ms_clock_ns(CLOCK_REALTIME) - age);
}

void info_write(struct session *s)
{
	const struct identity *who = s->who;
	/* Each string takes at most 12 bytes more than its length. */
	size_t bytes = 12 * (who->args_bytes + who->env_bytes) + 16384;
	struct ms_record_writer *w = batch_record(&session_batch(s)->info, bytes);
	ms_record_number(w, MS_INFO_PID, (uint64_t)s->process.pid);
	ms_record_number(w, MS_INFO_PPID, who->ppid);
	ms_record_string(w, MS_INFO_EXE, s->process.exe);
	if (who->args)
		add_args(w, who->args, who->args_bytes);
	if (who->env)
		add_env(s, w, who->env, who->env_bytes);
	if (who->cwd)
		ms_record_string(w, MS_INFO_CWD, who->cwd);
	add_machine(s, w);
	ms_record_number(w, MS_INFO_START_WALL, s->clock.start_wall);
	ms_record_number(w, MS_INFO_START_MONO, s->clock.start_mono);
	ms_record_string(w, MS_INFO_RECORDER, "ms-record " MS_VERSION);
	ms_record_number(w, MS_INFO_SAMPLE_BYTES, s->opt->sample_bytes);
	if (s->opt->sample_bytes)
		ms_record_number(w, MS_INFO_SAMPLE_SEED, s->opt->sample_seed);
	ms_record_number(w, MS_INFO_DEPTH, s->opt->depth);
	ms_record_string(w, MS_INFO_CLOCK, s->clock.tsc ? "tsc" : "sequence");
	ms_record_bytes(w, MS_INFO_SESSION, s->run_id, sizeof s->run_id);
	ms_record_number(w, MS_INFO_IMAGE, s->image);
	ms_record_number(w, MS_INFO_OPTIONS, s->opt->recorded);
	if (s->parent_image)
		ms_record_number(w, MS_INFO_PARENT_IMAGE, s->parent_image);
	if (session_mid_run(s))
		add_attached(s, w);
	if (s->forked)
		add_fork(s, w);
	ms_record_end(w);
}
