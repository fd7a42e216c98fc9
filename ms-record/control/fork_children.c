/* SPDX-License-Identifier: MIT
 * Forked children that began to record.
 *
 * A child writes its number in its own pid namespace into memory that all its relatives can write.
 * The number is believed only if that process has this memory mapped. A child that cannot be found
 * has ended, and its slot holds all its records.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "control.h"
#include "handshake.h"
#include "ms-record/session/info.h"
#include "libcommon/proc/proc.h"
#include "ms-record/base/descriptor.h"
#include "ms-record/session/pool.h"

#define SETTLE_NS                                                                                  \
	UINT64_C(10000000000)    /* limit for two rounds of draining on a fully loaded machine */
#define MEMORY "/memfd:memscope" /* name of our memory in /proc/PID/maps */

enum found { FOUND, FOUND_NOT, FOUND_UNSURE };

/* Returns a process's pid in its own pid namespace; 0 = the process has ended. */
static uint32_t inner_pid(int proc)
{
	char text[4096];
	return ms_proc_text_at(proc, "status", text, sizeof text) ? ms_proc_status_inner(text) : 0;
}

/* Tells whether the process has our shared memory, the file with inode `inode`, mapped. */
static enum found has_memory(int proc, uint64_t inode)
{
	const struct ms_proc p = {.folder = proc};
	struct ms_regions r = {0};
	bool gone = ms_regions_read(&p, false, &r) == 0 || errno == ESRCH;
	enum found found = gone ? FOUND_NOT : FOUND_UNSURE;
	for (size_t i = 0; i < r.n; i++)
		if (r.v[i].map.inode == inode && strstr(r.v[i].map.path, MEMORY))
			found = FOUND;
	ms_regions_free(&r);
	return found;
}

/* Returns the process to which the thread `tid` belongs; `tid` itself if none is found. */
static uint32_t leader_of(uint32_t tid)
{
	char path[48], text[4096];
	snprintf(path, sizeof path, "/proc/%u/status", tid);
	ms_proc_text_at(AT_FDCWD, path, text, sizeof text);
	return (uint32_t)ms_proc_status_number(text, "\nTgid:", tid);
}

/* Tells whether process `pid` (in our pid namespace) is the session's process. If so, keeps its
 * /proc folder and pidfd. */
static enum found try_pid(struct session *s, uint32_t pid)
{
	int proc = process_folder((pid_t)pid);
	if (proc < 0)
		return FOUND_NOT;
	int pidfd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
	s->process.signature =
		process_signature(proc); /* the signature is read before has_memory: if has_memory
					    finds our memory mapped, no exec came in between */
	enum found r = has_memory(proc, s->pool->inode);
	if (r == FOUND_NOT || pidfd < 0) {
		close(proc);
		descriptor_close(pidfd);
		return r;
	}
	s->process.folder = proc;
	s->process.pidfd = pidfd;
	s->process.pid = (pid_t)pid;
	return r;
}

/* Searches all processes for the session's process, which has pid `pid` in its own pid
 * namespace. */
static enum found look_through_all(struct session *s, uint32_t pid)
{
	enum found r = FOUND_NOT;
	size_t n = 0;
	pid_t *all = ms_proc_list(NULL, &n, NULL);
	for (size_t i = 0; i < n && r == FOUND_NOT; i++) {
		int proc = process_folder(all[i]);
		if (inner_pid(proc) == pid)
			r = try_pid(s, (uint32_t)all[i]);
		descriptor_close(proc);
	}
	free(all);
	return r;
}

/* Tells whether children of the process may be in another pid namespace than ours. */
static bool other_namespace(const struct identity *parent)
{
	char own[64], theirs[64], path[48];
	snprintf(path, sizeof path, "/proc/%d/ns/pid_for_children", (int)parent->pid);
	bool known = process_link(AT_FDCWD, "/proc/self/ns/pid", own, sizeof own);
	process_link(AT_FDCWD, path, theirs, sizeof theirs);
	return !parent->same_pidns || (known && strcmp(own, theirs) != 0);
}

bool fork_children_keeps(const struct session *s)
{
	return s->pool && has_memory(s->process.folder, s->pool->inode) == FOUND;
}

/* Finds the process by the threads that record into its rings. The thread whose id is in the
 * child's pool slot may have ended. */
static enum found look_by_rings(struct session *s)
{
	enum found r = FOUND_NOT;
	for (uint32_t i = 0; i < s->rings.max && r == FOUND_NOT; i++) {
		const struct mg_ring *g = &s->rings.shared[i];
		uint32_t tid = __atomic_load_n(&g->tid, __ATOMIC_RELAXED);
		if (__atomic_load_n(&g->state, __ATOMIC_ACQUIRE) == MG_RING_TAKEN && tid)
			r = try_pid(s, leader_of(tid));
	}
	return r;
}

static enum found find_process(struct session *s, const struct identity *parent)
{
	uint32_t pid = s->fork.claimed_pid ? leader_of(s->fork.claimed_pid) : 0;
	/* After a raw clone system call, the child's C library may still return the parent's cached
	 * pid. */
	if (pid && parent && pid == (uint32_t)parent->pid && parent->same_pidns)
		return FOUND_UNSURE;
	enum found r = pid ? try_pid(s, pid) : FOUND_NOT;
	if (r == FOUND_NOT && s->fork.claimed_pid && (!parent || other_namespace(parent)))
		r = look_through_all(s, s->fork.claimed_pid);
	else if (r == FOUND_NOT && pid)
		r = look_by_rings(s);
	if (r == FOUND_NOT)
		s->process.pid = (pid_t)s->fork.claimed_pid;
	s->known = r != FOUND_UNSURE && s->fork.claimed_pid;
	return r;
}

static void end_at_once(struct control *c, struct session *s)
{
	struct session *now = handshake_running_session(c, s->process.pid);
	if (now && now != s && !now->forked)
		handshake_replace(c, s, now);
	else
		control_end(c, s, SESSION_EXITED, -1);
}

static void begin(struct control *c, struct session *s)
{
	/* The draining thread set parent_who before it handed over the session, and no longer
	 * changes it. */
	const struct identity *parent = s->parent_who;
	enum found r = find_process(s, parent);
	s->image = c->next_image++;
	s->parent_image = parent ? parent->image + 1 : 0;
	s->may_drop = c->opt->follow.which != FOLLOW_ALL;
	pause_adopt(s, &c->run);
	memcpy(s->run_id, c->run_id, sizeof s->run_id);
	info_names(s, parent);
	s->out = files_open_further(&c->files, &c->opt->files, s->name, s->process.pid, s->image,
				    &c->refused);
	if (!s->out) { /* FILE.d could not be created: reported at the end of the run */
		s->out = output_new(-1, "/dev/null");
		s->may_drop = true;
	}
	/* Takes no sample of the process here: the next tick samples all processes, and many
	 * children end before that. */
	if (r != FOUND)
		s->process.signature = r == FOUND_NOT ? 0 : process_signature(s->process.folder);
	/* Added to the list before the draining thread gets the session, because the process may
	 * have ended already. */
	s->next = c->sessions;
	c->sessions = s;
	if (r == FOUND_NOT)
		end_at_once(c, s);
	else if (c->stopped || c->closing)
		control_end(c, s, SESSION_STOPPED, -1);
	begin_draining(c, s);
}

void fork_children_accept(struct control *c)
{
	for (struct session *s; (s = drain_next_child(&c->drain));)
		begin(c, s);
}

void fork_children_settle(struct control *c)
{
	uint64_t start = clock_mono();
	uint32_t rounds = wake_rounds(&c->drain.wake), images = c->next_image;
	/* Waits again whenever a child was found, because that child may have children. */
	while (clock_mono() < start + SETTLE_NS && !c->skip_symbols) {
		wake_up(&c->drain.wake);
		usleep(200);
		fork_children_accept(c);
		if (c->next_image != images) {
			images = c->next_image;
			rounds = wake_rounds(&c->drain.wake);
		} else if (wake_rounds(&c->drain.wake) - rounds >= 2) {
			return;
		}
	}
}

/* Tells whether the process has shared memory of this run mapped, so that it may begin to
 * record. */
static bool may_record(struct control *c, int proc)
{
	const struct ms_proc p = {.folder = proc};
	struct ms_regions r = {0};
	bool may = false;
	ms_regions_read(&p, false, &r);
	for (size_t i = 0; i < r.n && !may; i++)
		may = strstr(r.v[i].map.path, MEMORY) &&
		      drain_has_pool(&c->drain, r.v[i].map.inode);
	ms_regions_free(&r);
	return may;
}

/* Tells whether a process that is not recorded yet may begin to record later. Processes that
 * started before the command are excluded without reading their mappings. */
static bool is_left(struct control *c, pid_t pid, uint64_t since)
{
	struct ms_proc_stat st;
	bool known = pid == c->launch.pid || pid == getpid();
	for (size_t i = 0; i < c->left.n; i++)
		known |= c->left.v[i] == pid;
	if (known)
		return false;
	int proc = process_folder(pid);
	bool left = ms_proc_stat_at(proc, &st) && st.field[MS_STAT_START] >= since &&
		    st.state != 'Z' && may_record(c, proc);
	descriptor_close(proc);
	return left;
}

void fork_children_left(struct control *c)
{
	struct ms_proc_stat own;
	int proc = process_folder(c->launch.pid);
	bool any = !c->stopped && !c->attached &&
		   __atomic_load_n(&c->run.forked, __ATOMIC_RELAXED) && ms_proc_stat_at(proc, &own);
	size_t n = 0;
	pid_t *all = any ? ms_proc_list(NULL, &n, NULL) : NULL;
	for (size_t i = 0; i < n; i++)
		if (is_left(c, all[i], own.field[MS_STAT_START]))
			*MS_PUSH(&c->left) = all[i];
	free(all);
	descriptor_close(proc);
}
