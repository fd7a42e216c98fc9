/* SPDX-License-Identifier: MIT
 * Examines a process or a command for --doctor.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "ms-record/attach/attach.h"
#include "ms-record/attach/attach_private.h"
#include "doctor.h"
#include "ms-record/base/elffile.h"
#include "ms-record/ptrace/hijack.h"
#include "ms-record/launch/launch.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/proc/proc_text.h"
#include "ms-record/control/control_options.h"
#include "ms-record/base/descriptor.h"
#include "ms-record/control/standby.h"

/* Reports a program without a symbol table. */
static void say_symbols(struct doctor *d, int fd)
{
	struct elffile_malloc m = {0};
	if (fd >= 0 && elffile_malloc(fd, &m) && !m.table)
		doctor_say(d, DOCTOR_NOTE, "stripped",
			   "it has no symbol table: its functions have no names unless its "
			   "debug file is found (ms-snap --symbols=debug-dir:FOLDER)");
}

/* ---- a process ---- */

/* Finds a process's C library in its maps; `path` receives the library's path, with the prefix
 * /proc/PID/root. */
static bool find_libc(const char *root, pid_t pid, char path[4300])
{
	char folder[4200];
	struct attach_maps maps;
	bool found = false;
	snprintf(folder, sizeof folder, "%s/%d", root, (int)pid);
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	attach_maps_read(&maps, fd, NULL);
	for (size_t i = 0; i < maps.n && !found; i++) {
		found = strstr(maps.v[i].path, "/libc.so.6") != NULL;
		snprintf(path, 4300, "%s/%d/root%.4000s", root, (int)pid, maps.v[i].path);
	}
	attach_maps_free(&maps);
	descriptor_close(fd);
	return found;
}

static void say_status(struct doctor *d, pid_t pid)
{
	char name[64], text[8192];
	snprintf(name, sizeof name, "%d/status", (int)pid);
	doctor_read(d, name, text, sizeof text);
	if (ms_proc_status_number(text, "\nSeccomp:", 0))
		doctor_say(
			d, DOCTOR_OK, "filter",
			"its seccomp filter is suspended for about a millisecond while attaching");
	if (ms_proc_status_number(text, "\nVmLck:", 0))
		doctor_say(d, DOCTOR_NOTE, "memlock",
			   "it locks its memory, so about 12 MB used by the recorder is locked as "
			   "well");
	uint64_t threads = ms_proc_status_number(text, "\nThreads:", 1);
	if (threads > 400)
		doctor_say(d, DOCTOR_NOTE, "threads",
			   "%u threads: about 500 at a time are recorded, events of the others are "
			   "lost",
			   (unsigned)threads);
}

/* Reports what -p would find, without changing the process. */
static void look_inside(struct doctor *d, pid_t pid)
{
	struct attach *a;
	struct ms_err err = {0};
	if (attach_look(&a, pid, false, &d->opt->session.hooks, d->opt->proc_root, &err)) {
		doctor_say(d, DOCTOR_NO, "attach", "%s", attach_reason(err.text));
	} else {
		const struct attach_times *t = attach_times(a);
		doctor_say(d, DOCTOR_OK, "attach", "it can be attached to");
		doctor_say(d, DOCTOR_OK, "allocators", "%s",
			   a->allocator[0] ? a->allocator : "found");
		if (t->missing[0])
			doctor_say(d, DOCTOR_NOTE, "missing", "not hooked: %s", t->missing);
	}
	attach_free(a);
}

static bool on_standby(struct doctor *d, pid_t pid)
{
	struct standby_attach w;
	struct ms_err err = {0};
	int r = d->made ? 0 : standby_attach_look(&w, pid, d->opt, &err);
	if (r > 0) {
		doctor_say(d, DOCTOR_OK, "standby",
			   "it is on standby, so recording it needs no privileges");
		standby_attach_free(&w);
	}
	if (r < 0)
		doctor_say(d, DOCTOR_NO, "standby", "%s", attach_reason(err.text));
	return r != 0;
}

void doctor_process(struct doctor *d, pid_t pid)
{
	struct hijack h;
	struct ms_err err = {0};
	char name[64], text[512], libc[4300];
	snprintf(name, sizeof name, "%d/comm", (int)pid);
	doctor_read(d, name, text, sizeof text);
	text[strcspn(text, "\n")] = '\0';
	ms_one_line(text);
	fprintf(d->to, "process %d%s%s%s\n", (int)pid, *text ? " ('" : "", text, *text ? "')" : "");
	if (on_standby(d, pid))
		return;
	if (hijack_open(&h, pid, d->root, &err)) {
		doctor_say(d, DOCTOR_NO, "attach", "%s", attach_reason(err.text));
		return;
	}
	hijack_close(&h);
	if (d->made)
		doctor_say(d, DOCTOR_OK, "attach", "nothing prevents it");
	else
		look_inside(d, pid);
	say_status(d, pid);
	snprintf(name, sizeof name, "%d/exe", (int)pid);
	snprintf(text, sizeof text, "%.400s/%s", d->root, name);
	int fd = open(text, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	say_symbols(d, fd);
	descriptor_close(fd);
	if (find_libc(d->root, pid, libc))
		doctor_libc(d, libc);
}

/* ---- a command ---- */

void doctor_command(struct doctor *d)
{
	struct launch l = {0};
	struct ms_err err = {0};
	struct elffile_malloc m = {0};
	char libc[4300];
	fprintf(d->to, "command '%s'\n", d->opt->launch.command[0]);
	if (launch_find(&l, &d->opt->launch, &err)) {
		doctor_say(d, DOCTOR_NO, "start", "%s", attach_reason(err.text));
		MS_FREE(l.program, l.guest);
		return;
	}
	int fd = open(l.program, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (l.inject)
		doctor_say(d, DOCTOR_OK, "start",
			   "%s, so the recorder is injected with ptrace when it starts; --standby "
			   "is not possible",
			   l.inject);
	else
		doctor_say(d, DOCTOR_OK, "start", "the recorder's library can be preloaded");
	if (fd >= 0 && elffile_malloc(fd, &m) && m.checked)
		doctor_say(d, DOCTOR_NOTE, "allocators",
			   "it is built with a sanitizer, whose allocator delays the reuse of "
			   "freed blocks: its heap differs from that of a normal build");
	say_symbols(d, fd);
	descriptor_close(fd);
	/* The command will most likely use the same C library as ms-record. */
	if (find_libc("/proc", getpid(), libc))
		doctor_libc(d, libc);
	MS_FREE(l.program, l.guest);
}
