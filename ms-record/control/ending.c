/* SPDX-License-Identifier: MIT
 * The end of a program image's recording: how it ended, and what is done before all is stopped.
 */
#include "control.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "handshake.h"
#include "inject.h"
#include "libcommon/base/arena.h"
#include "libcommon/proc/proc.h"
#include "ms-record/base/program.h"
#include "ms-record/drain/recording.h"
#include "ms-record/heap/heap.h"
#include "ms-record/heap/preexisting.h"
#include "ms-record/scan/scan.h"
#include "ms-record/session/info.h"
#include "ms-record/session/samples.h"

#define RESIDENT_NS UINT64_C(5000000000)

bool control_reap(struct control *c)
{
	struct session **at = &c->sessions;
	while (*at) {
		struct session *s = *at;
		if (!__atomic_load_n(&s->finished, __ATOMIC_ACQUIRE) ||
		    !__atomic_load_n(&s->out->closed, __ATOMIC_ACQUIRE)) {
			at = &s->next;
			continue;
		}
		*at = s->next;
		triggers_over(c, s);
		images_settle(c, s);
		scanner_drop(c->scanner, s);
		recording_free(s);
	}
	return c->sessions != NULL;
}

/* Returns the waitpid status of a process that its parent has already reaped, made from the exit
 * status that the guest reported; -1 = the process did not reach exit, or only a vfork child of it
 * exited. */
static int told_status(const struct session *s)
{
	const struct mg_session *m = s->mem;
	uint32_t told = __atomic_load_n(&m->end_status, __ATOMIC_ACQUIRE);
	bool ends = s->modules.attached || !m->end_wait_ms ||
		    __atomic_load_n(&m->end_state, __ATOMIC_ACQUIRE) != MG_END_NONE;
	return told && ends ? (int)((told - 1) & 0xff) << 8 : -1; /* masked, because the program may
								     overwrite the value */
}

/* Notes an exec that was not seen. A recorded program that exits runs the guest's end code
 * (guest/end.c) and keeps its name. A process that exited without running this code, under another
 * name, had called exec by a system call that is not hooked, after the last sample. */
static void note_unseen_exec(struct session *s, int status)
{
	const struct mg_session *m = s->mem;
	bool passed = s->modules.attached || m->guest_disabled || !m->tsc_hz ||
		      __atomic_load_n(&m->end_status, __ATOMIC_ACQUIRE) ||
		      __atomic_load_n(&m->end_state, __ATOMIC_ACQUIRE) != MG_END_NONE;
	if (passed || s->exec.ns || status < 0 || !WIFEXITED(status) ||
	    !__atomic_load_n(&m->guest_ready, __ATOMIC_ACQUIRE))
		return;
	char *name = info_name(s->process.folder, s->process.exe);
	if (strcmp(name, s->name) != 0) {
		s->exec.ns = clock_mono();
		s->exec.program = ms_xstrdup(name);
		s->exec.why =
			ms_xstrdup("it was started by a system call that ms-record does not hook");
	}
	free(name);
}

void control_end(struct control *c, struct session *s, int how, int status)
{
	if (s->ending != SESSION_RUNS)
		return;
	hook_late_look(s, &c->hooks);
	if (how == SESSION_EXITED && status < 0)
		status = told_status(s);
	if (how == SESSION_EXITED)
		note_unseen_exec(s, status);
	if (s->exec.ns && how == SESSION_EXITED) {
		how = SESSION_EXECED; /* the program that ended is not the recorded one */
		status = -1;
	}
	samples_take(s, true);
	s->end.status = status;
	s->end.ns = session_now(s);
	s->end.images_kept = c->kept;
	s->end.images_trivial = c->trivial;
	s->end.images_missed = c->missed;
	/* Makes no list if we are the first process of a container: when we end, the kernel kills
	 * all others. */
	s->end.left =
		c->closing && s->process.pid == c->launch.pid && getpid() != 1 ? &c->left : NULL;
	if (how == SESSION_STOPPED)
		__atomic_store_n(&s->mem->state, MG_OFF, __ATOMIC_RELEASE);
	__atomic_store_n(&s->ending, how, __ATOMIC_RELEASE);
	wake_up(&c->drain.wake);
}

bool control_is_gone(const struct session *s)
{
	struct ms_proc_stat st;
	if (s->process.pidfd >= 0 || s->process.folder < 0)
		return false;
	if (!ms_proc_stat_at(s->process.folder, &st))
		return errno == ENOENT || errno == ESRCH;
	return st.state == 'Z' && st.field[MS_STAT_THREADS] < 2;
}

void control_leave(struct control *c, struct session *s)
{
	struct pollfd p = {s->process.pidfd, POLLIN, 0};
	if (s->ending != SESSION_RUNS || s->process.pid == c->launch.pid)
		return;
	if (control_is_gone(s) || poll(&p, 1, 0) > 0) {
		control_end(c, s, SESSION_EXITED, process_exit_status(s->process.folder));
		return;
	}
	if (s->known)
		*MS_PUSH(&c->left) = s->process.pid;
	s->end.goes_on = s->known && c->closing && !c->stopped && !c->attached && getpid() != 1;
	control_end(c, s, SESSION_STOPPED, -1);
}

/* Handles what cannot wait, for a millisecond. Guests that connect meanwhile are told immediately
 * that recording has ended. */
static void attend(struct control *c)
{
	struct pollfd p[] = {{c->signals, POLLIN, 0},
			     {c->listener, POLLIN, 0},
			     {c->drain.child_event, POLLIN, 0}};
	if (poll(p, 3, 1) <= 0)
		return;
	if (p[0].revents)
		control_read_signals(c);
	if (p[1].revents)
		handshake_accept(c);
	if (p[2].revents)
		fork_children_accept(c);
}

/* Tells whether blocks from before the attachment are still being looked for. */
static bool awaits_blocks(const struct control *c)
{
	for (const struct session *s = c->sessions; s; s = s->next)
		if (s->ending == SESSION_RUNS && !preexisting_ready(s->heap->preexisting))
			return true;
	return false;
}

/* Scans once more before the detachment, while live blocks are still known: with --retention for
 * what keeps them, else for resident memory. */
static void scan_last(struct control *c)
{
	bool kept = c->opt->scan.retention == SCAN_YES && !c->ended;
	uint64_t until = clock_mono() + (kept ? SCAN_YES_NS : RESIDENT_NS);
	bool busy = c->tell.first && c->tell.first->step == TELL_SCANNING;
	if ((!kept && !c->opt->session.resident) || busy)
		return;
	while (kept && awaits_blocks(c) && clock_mono() < until && !c->skip_symbols)
		attend(c);
	if (!scanner_ask(c->scanner, kept ? NULL : "detach", false))
		return;
	while (!scanner_answer(c->scanner) && clock_mono() < until && !c->skip_symbols)
		attend(c);
}

void control_stop(struct control *c, const char *why)
{
	bool ended = c->ended; /* the command ended before the stop */
	if (c->stopped)
		return;
	c->stopped = true;
	c->stop_why = ended ? NULL : why;
	c->stopped_ns = clock_mono();
	scan_last(c);
	if (c->attached)
		multi_attach_detach(c);
	else
		inject_detach(c);
	for (struct session *s = c->sessions; s; s = s->next)
		if (ended)
			control_leave(c, s);
		else
			control_end(c, s, SESSION_STOPPED, -1);
}
