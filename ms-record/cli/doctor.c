/* SPDX-License-Identifier: MIT
 * Implements --doctor: prints its findings and the conclusion.
 */
#include "doctor.h"

#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "libcommon/base/elf_reader.h"
#include "libcommon/base/err.h"
#include "libcommon/proc/proc.h"
#include "ms-record/base/elffile.h"
#include "ms-record/base/descriptor.h"
#include "ms-record/control/control_options.h"

void doctor_say(struct doctor *d, enum doctor_how how, const char *what, const char *fmt, ...)
{
	static const char *const words[] = {"ok", "note", "no"};
	char text[8192];
	va_list ap;
	d->notes += how == DOCTOR_NOTE;
	d->noes += how == DOCTOR_NO;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	ms_one_line(text); /* names of another process may contain any bytes */
	fprintf(d->to, "%-4s  %-13s %s\n", words[how], what, text);
}

bool doctor_read(const struct doctor *d, const char *name, char *text, size_t room)
{
	char path[4200];
	snprintf(path, sizeof path, "%s/%s", d->root, name);
	return ms_proc_text_at(AT_FDCWD, path, text, room);
}

bool doctor_capable(const struct doctor *d, int what)
{
	char text[8192];
	return doctor_read(d, "self/status", text, sizeof text) &&
	       ms_proc_status_mask(text, "\nCapEff:") >> what & 1;
}

/* Tells whether the file's separate debug symbols are installed where distributions put them. */
static bool has_debug_file(const struct ms_elf_reader *f)
{
	uint8_t id[MS_ELF_ID_MOST];
	size_t n = ms_elf_build_id(f, id);
	char path[256] = "/usr/lib/debug/.build-id/";
	char *at = path + strlen(path);
	for (size_t i = 0; i < n && i < 32; i++)
		at += sprintf(at, i ? "%02x" : "%02x/", id[i]);
	strcpy(at, ".debug");
	return n && !access(path, R_OK);
}

void doctor_libc(struct doctor *d, const char *path)
{
	struct ms_elf_reader f;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct elffile_malloc m = {0};
	bool good = ms_elf_read(&f, ms_elf_in_file(fd));
	bool here = good && ((elffile_malloc(fd, &m) && m.table) || has_debug_file(&f));
	descriptor_close(fd);
	if (!good)
		return;
	if (here)
		doctor_say(d, DOCTOR_OK, "symbols", "the C library's symbols are available");
	else
		doctor_say(d, DOCTOR_NOTE, "symbols",
			   "functions inside the C library have no names: install libc6-dbg, or "
			   "set DEBUGINFOD_URLS");
}

int doctor_run(const struct control_options *o, FILE *to)
{
	const char *root = o->proc_root;
	struct doctor d = {.opt = o, .root = root ? root : "/proc", .made = root, .to = to};
	doctor_machine(&d);
	for (size_t i = 0; i < o->pids.n; i++)
		doctor_process(&d, o->pids.v[i]);
	if (o->launch.command[0])
		doctor_command(&d);
	const char *what = o->pids.n              ? "attaching"
			   : o->launch.command[0] ? "recording this command"
						  : "recording a command";
	if (d.noes)
		fprintf(to, "%s would fail: %u problem%s, marked 'no'\n", what, d.noes,
			d.noes == 1 ? "" : "s");
	else if (d.notes)
		fprintf(to, "%s would work, with %u limitation%s, marked 'note'\n", what, d.notes,
			d.notes == 1 ? "" : "s");
	else
		fprintf(to, "%s would work\n", what);
	return d.noes != 0;
}
