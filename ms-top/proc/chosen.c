/* SPDX-License-Identifier: MIT
 * Reads figures of the selected process only.
 */
#include "system.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "maps.h"
#include "libcommon/proc/proc.h"

#define CAN_TRACE (UINT64_C(1) << 19) /* CAP_SYS_PTRACE */

/* ---- its allocator ---- */

struct allocators {
	char *text;
	size_t room;
	bool other; /* the process also maps another allocator */
};

static bool take_mapping(void *arg, const char *line)
{
	static const struct {
		const char *file, *name;
	} known[] = {{"libjemalloc", "jemalloc"}, {"libtcmalloc", "tcmalloc"},
		     {"libmimalloc", "mimalloc"}, {"libsnmalloc", "snmalloc"},
		     {"libscudo", "scudo"},       {"libhoard", "Hoard"},
		     {"ld-musl", "musl"},         {"libhardened_malloc", "hardened_malloc"},
		     {"libc.so.6", "glibc's"}};
	struct allocators *a = arg;
	const char *file = strrchr(line, '/');
	for (size_t i = 0; file && i < sizeof known / sizeof known[0]; i++) {
		if (strncmp(file + 1, known[i].file, strlen(known[i].file)) != 0)
			continue;
		bool libc = i + 1 == sizeof known / sizeof known[0];
		if (libc && a->other)
			continue;
		a->other |= !libc;
		snprintf(a->text, a->room, "%s (%.30s)", known[i].name, file + 1);
	}
	return true;
}

/* ---- whether it could be recorded ---- */

static bool we_may_trace(void)
{
	static int may = -1;
	char text[4096];
	int self = may < 0 ? open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (may < 0)
		may = self >= 0 && ms_proc_text_at(self, "status", text, sizeof text) &&
		      (ms_proc_status_mask(text, "\nCapEff:") & CAN_TRACE) != 0;
	if (self >= 0)
		close(self);
	return may;
}

static void judge(struct chosen *c, const struct system_process *p, int folder)
{
	char text[4096], scope[16] = "";
	text[0] = '\n';
	if (!ms_proc_text_at(folder, "status", text + 1, sizeof text - 1))
		return;
	int tracer = (int)ms_proc_status_number(text, "\nTracerPid:", 0);
	ms_proc_text_at(folder, "../sys/kernel/yama/ptrace_scope", scope, sizeof scope);
	size_t room = sizeof c->record;
	c->may_record = false;
	if (p->recorded)
		snprintf(c->record, room, "it is already being recorded");
	else if (tracer)
		snprintf(c->record, room, "process %d traces it", tracer);
	else if (scope[0] == '3')
		snprintf(c->record, room, "ptrace_scope is 3, which forbids attaching");
	else if (we_may_trace())
		c->may_record = true;
	else if (p->uid != geteuid())
		snprintf(c->record, room, "it belongs to %s, so only root can record it", p->user);
	else if (scope[0] == '1' || scope[0] == '2')
		snprintf(c->record, room,
			 "ptrace_scope is %c: run ms-top as root, or start it with ms-record "
			 "--standby",
			 scope[0]);
	else
		c->may_record = true;
	if (c->may_record)
		snprintf(c->record, room, "%s",
			 p->uid == geteuid() && p->uid ? "your process" : "as root");
}

void chosen_look(struct chosen *c, const struct system *s, const struct system_process *p,
		 bool made)
{
	char text[4096];
	bool same = p && c->id == p->id;
	if (!same)
		*c = (struct chosen){
			.shared = SOURCE_UNKNOWN, .oom_score = -1, .limits = LIMITS_NONE};
	c->record[0] = 0;
	if (!p || p->ended || p->kernel)
		return;
	int folder = system_folder(s, p->pid);
	if (folder < 0)
		return;
	if (!same)
		lines_each(folder, "maps", take_mapping,
			   &(struct allocators){.text = c->allocator, .room = sizeof c->allocator});
	c->id = p->id;
	limits_read(&c->limits, folder);
	text[0] = '\n';
	if (ms_proc_text_at(folder, "status", text + 1, sizeof text - 1))
		c->shared = source_kib(text, "\nRssShmem:");
	c->oom_score = ms_proc_text_at(folder, "oom_score", text, sizeof text) ? atoi(text) : -1;
	if (!made)
		judge(c, p, folder);
	close(folder);
}
