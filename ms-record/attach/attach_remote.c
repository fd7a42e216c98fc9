/* SPDX-License-Identifier: MIT
 * Attaching, the part that stops all threads: replaces entries and restores them. Runs in the
 * helper process, and returns results through shared memory.
 */
#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach_private.h"
#include "hook_write.h"
#include "ms-record/ptrace/hijack_private.h"
#include "libcommon/proc/proc_text.h"

#define STOP_TRIES 10           /* failed attempts after which the time limit doubles */
#define STACK_MOST (256u << 10) /* bytes searched in a thread's stack, from its stack pointer up */

/* Stops all threads except those that wait in the kernel. On failure, resumes all of them
 * unchanged; a thread that did not stop in time is detached only when this process ends. */
static int stop_all(const struct attach *a, struct hijack_stop *s, struct ms_err *err)
{
	uint64_t patience_ns = ATTACH_STOP_NS << a->tries / STOP_TRIES;
	if (!hijack_stop_all(s, a->h.proc, attach_may_hold(a), patience_ns))
		return ATTACH_DONE;
	if (errno == ETIMEDOUT)
		return ATTACH_AGAIN;
	if (errno == EPERM && hijack_status(a->h.proc, a->pid, "\nTracerPid:\t", 10)) {
		ms_err_set(err, "cannot stop the threads of process %d: a debugger is tracing it",
			   (int)a->pid);
		return ATTACH_TRACED;
	}
	ms_err_sys(err, "cannot stop the threads of process %d", (int)a->pid);
	return ATTACH_FAILED;
}

/* Sets nice -20 and a short time slice, so that this thread is scheduled sooner (Linux 6.12;
 * earlier kernels ignore the slice). Does not use a real-time class, which would preempt the
 * kernel's own threads too. */
void attach_prepare_stop(struct attach *a)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t turn_ns, deadline_ns, period_ns;
	} want = {.size = sizeof want, .policy = SCHED_OTHER, .nice = -20, .turn_ns = 100000};
	if (a->held)
		return;
	hijack_find_code(&a->h);
	if (!syscall(SYS_sched_setattr, 0, &want, 0)) /* 0 = the calling thread */
		return;
	want.nice = getpriority(PRIO_PROCESS, 0);
	if (syscall(SYS_sched_setattr, 0, &want, 0))
		errno = 0;
}

/* ---- replacing ------------------------------------------------------------------------------- */

/* Tells whether a thread's id (as in its PID namespace) is in memory at `offset` from `tp`. */
static bool number_at(const struct attach *a, pid_t tid, uint64_t tp, int32_t offset)
{
	char text[4096];
	uint32_t is;
	if (hijack_read(&a->h, tp + (uint64_t)(int64_t)offset, &is, sizeof is) ||
	    !hijack_text(a->h.proc, tid, "status", text, sizeof text))
		return false;
	uint32_t own = ms_proc_status_inner(text);
	return is == (own ? own : (uint32_t)tid);
}

/* Counts how many of the first threads have their id in memory at `offset` from the thread pointer.
 * A few suffice: checking all would keep them stopped for longer. */
static unsigned numbers_at(const struct attach *a, const struct hijack_stop *s, int32_t offset)
{
	enum { ASKED = 8 };
	unsigned n = 0;
	for (size_t i = 0; i < s->threads.n && i < ASKED; i++) {
		const struct hijack_thread *t = &s->threads.v[i];
		n += !t->gone && number_at(a, t->tid, t->regs.tp, offset);
	}
	return n;
}

/* Returns the offset of the thread id in the C library's thread control block; 0 = unknown library.
 * (After a fork that bypasses the library, the field has the parent's id.) *field: offset of the
 * thread's stack bounds, if they are at a known offset; older musl has them elsewhere. */
static int32_t find_tid(const struct attach *a, const struct hijack_stop *s, uint64_t *field)
{
	unsigned glibc = numbers_at(a, s, MG_TID_GLIBC);
	unsigned musl = numbers_at(a, s, MG_TID_MUSL);
	*field = 0;
	if (glibc < musl)
		*field = MG_STACK_MUSL;
	if (glibc || musl)
		return glibc >= musl ? MG_TID_GLIBC : MG_TID_MUSL;
	if (strstr(a->allocator, "glibc"))
		return MG_TID_GLIBC;
	*field = MG_NO_FIELD;
	return strstr(a->allocator, "musl") ? MG_TID_MUSL : 0;
}

/* Finds the thread pointer of a thread that was not stopped: the one already known, or derived from
 * the address of glibc's robust list, which the kernel reports. */
static void find_tp(const struct attach *a, struct hijack_thread *t)
{
	enum { ROBUST_LIST = (int)MG_TID_GLIBC + 16 };
	uint64_t head = 0, bytes, words[3];
	t->regs.tp = 0;
	if (t->tid == a->shared.one_tid) {
		t->regs.tp = a->shared.one_tp;
	} else if (!syscall(SYS_get_robust_list, t->tid, &head, &bytes) && head) {
		uint64_t tp = head - (uint64_t)ROBUST_LIST;
		bool good = MG_TP_IS_THERE ? !hijack_read(&a->h, tp, words, sizeof words) &&
						     words[0] == tp && words[2] == tp
					   : number_at(a, t->tid, tp, MG_TID_GLIBC);
		t->regs.tp = good ? tp : 0;
	}
}

/* Finds the thread pointers of threads that were not stopped; if `must`, stops a thread whose
 * pointer cannot be found. Returns 0, or -1 if such a thread did not stop. */
static int find_tps(const struct attach *a, struct hijack_stop *s, bool must)
{
	for (size_t i = 0; i < s->threads.n; i++) {
		struct hijack_thread *t = &s->threads.v[i];
		if (!t->asleep)
			continue;
		find_tp(a, t);
		if (!t->regs.tp && must && hijack_wake(s, a->h.proc, t, ATTACH_STOP_NS) && !t->gone)
			return -1;
	}
	return 0;
}

static int learn(const struct attach *a, const struct hijack_stop *s, struct attach_shared *out)
{
	out->tp_count = 0;
	for (size_t i = 0; i < s->threads.n; i++) {
		const struct hijack_thread *t = &s->threads.v[i];
		if (!t->gone && !t->regs.tp)
			return ATTACH_REFUSE(
				a, &out->err,
				"one of its threads has no thread pointer: that thread has just "
				"started (try again) or uses no C library");
		if (t->tid == a->pid)
			out->main_tp = t->regs.tp;
		if (!t->gone && out->tp_count < ATTACH_TPS)
			out->tps[out->tp_count++] = t->regs.tp;
	}
	out->tid_offset = find_tid(a, s, &out->stack_field);
	if (out->tid_offset)
		return 0;
	return ATTACH_REFUSE(a, &out->err,
			     "its C library is unknown, so its threads cannot be identified");
}

/* Completes the manifest with what is known only now, and rewrites all data of the guest image. */
static int write_data(struct attach *a, const struct attach_shared *out)
{
	struct mg_manifest *m = attach_image_manifest(&a->image);
	struct mg_image_gate begin = {.begin = MG_BEGIN};
	m->main_tp = out->main_tp;
	m->tid_offset = out->tid_offset;
	m->stack_field = out->stack_field;
	return hijack_write(&a->h, a->image.base + a->image.data, a->image.content + a->image.data,
			    a->image.bytes - a->image.data) ||
	       hijack_write(&a->h, m->gate, &begin, sizeof begin);
}

/* Reads the used part of a thread's stack or signal stack, from its stack pointer up, and returns
 * the number of words. It stops at the control block, which the C library places above the
 * stack. */
static size_t read_stack(const struct attach *a, const struct hijack_thread *t, uint64_t **words)
{
	static uint64_t room[STACK_MOST / 8];
	uint64_t sp = t->regs.sp & ~UINT64_C(7), most = t->regs.tp - sp;
	ssize_t n = pread(a->h.mem, room, most < STACK_MOST ? most : STACK_MOST, (off_t)sp);
	*words = room;
	return n > 0 ? (size_t)n / 8 : 0;
}

/* Returns where a thread at `ip` has to continue once the jumps are written, or, `back`, removed. */
static uint64_t moved(const struct attach *a, uint64_t ip, bool back)
{
	uint64_t to = ip;
	for (uint32_t k = 0; !back && k < a->target_count && to == ip; k++)
		to = patch_moved(&a->targets[k].patch, ip);
	for (uint32_t k = 0; back && k < a->manifest.hook_count && to == ip; k++)
		if (patch_left(&a->manifest.hooks[k], ip) != ip &&
		    hook_state(&a->h, &a->manifest.hooks[k]) == PATCH_JUMPS)
			to = patch_left(&a->manifest.hooks[k], ip);
	return to;
}

/* Finds signal handlers that interrupted an instruction that will change, and changes their return
 * addresses to where it continues; only finds them if the thread is not stopped. Returns whether
 * there are any. */
static bool move_frames(const struct attach *a, const struct hijack_thread *t, bool back,
			struct attach_shared *out)
{
	uint64_t *words;
	bool any = false;
	size_t n = read_stack(a, t, &words);
	for (size_t i = 0; i + CPU_SIGNAL_WORDS <= n; i++) {
		uint64_t to = cpu_is_signal_frame(&words[i]) ? moved(a, words[i], back) : words[i];
		if (to == words[i])
			continue;
		any = true;
		if (t->asleep)
			break;
		if (hijack_write(&a->h, (t->regs.sp & ~UINT64_C(7)) + 8 * i, &to, sizeof to))
			ms_err_sys(&out->err, "writing to a thread's stack failed");
		out->times.moved++;
	}
	return any;
}

static bool move_thread(const struct attach *a, struct hijack_thread *t, bool back,
			struct attach_shared *out)
{
	uint64_t to = t->gone ? t->regs.ip : moved(a, t->regs.ip, back);
	if (to != t->regs.ip && !t->asleep) {
		t->regs.ip = to;
		cpu_regs_set(t->tid, &t->regs);
		out->times.moved++;
	}
	return !t->gone && move_frames(a, t, back, out);
}

/* Moves all threads out of the code bytes about to be overwritten. Returns 0, or -1 if a thread
 * that must be moved did not stop. */
static int move_threads(struct attach *a, struct hijack_stop *s, struct attach_shared *out)
{
	for (size_t i = 0; i < s->threads.n; i++) {
		struct hijack_thread *t = &s->threads.v[i];
		if (!move_thread(a, t, false, out) || !t->asleep)
			continue;
		if (hijack_wake(s, a->h.proc, t, ATTACH_STOP_NS) && !t->gone)
			return -1;
		move_thread(a, t, false, out);
	}
	return 0;
}

/* Moves threads out of jumps of several instructions; if there are any, all threads are stopped. */
static int move_back(struct attach *a, struct hijack_stop *s, struct attach_shared *out)
{
	bool any = false;
	for (uint32_t i = 0; i < a->manifest.hook_count; i++)
		any |= !patch_may_wait(&a->manifest.hooks[i]);
	for (size_t i = 0; i < s->threads.n && any; i++)
		move_thread(a, &s->threads.v[i], true, out);
	return 0;
}

static int check_entries(const struct attach *a, struct ms_err *err)
{
	for (uint32_t i = 0; i < a->target_count; i++) {
		const struct target *t = &a->targets[i];
		if (hook_state(&a->h, &t->patch.hook) != PATCH_ORIGINAL)
			return ATTACH_REFUSE(a, err,
					     "another program changed the code of '%s' in '%s' "
					     "while ms-record was attaching; try again",
					     t->name, t->module);
	}
	return 0;
}

static int replace(struct attach *a, struct hijack_stop *s, struct attach_shared *out)
{
	if (find_tps(a, s, true))
		return ATTACH_AGAIN;
	if (learn(a, s, out) || check_entries(a, &out->err))
		return ATTACH_FAILED;
	if (write_data(a, out)) {
		ms_err_sys(&out->err, "writing to the process's memory failed");
		return ATTACH_FAILED;
	}
	int rc = attach_rewrite(a, s, false, move_threads, out);
	for (uint32_t i = 0; i < a->target_count && rc == ATTACH_DONE; i++)
		if (hook_state(&a->h, &a->targets[i].patch.hook) != PATCH_JUMPS)
			rc = ATTACH_FAILED;
	out->stuck = rc == ATTACH_FAILED;
	if (out->stuck)
		ms_err_sys(&out->err, "writing to the process's code failed");
	return rc;
}

static void restore(struct attach *a, struct hijack_stop *s, struct attach_shared *out)
{
	int rc = attach_rewrite(a, s, true, move_back, out);
	if (rc == ATTACH_FAILED)
		ms_err_sys(&out->err, "writing to the process's code failed");
	out->restored = rc != ATTACH_AGAIN;
}

/* Tells whether the dynamic linker is in the middle of unloading modules, which it began before it
 * was hooked. */
static bool is_closing(const struct attach *a)
{
	enum { DELETE = 2 };
	uint32_t state;
	return a->manifest.debug_state &&
	       !hijack_read(&a->h, a->manifest.debug_state, &state, sizeof state) &&
	       state == DELETE;
}

int attach_patch(void *arg, void *shared)
{
	struct attach *a = arg;
	struct attach_shared *out = shared;
	struct hijack_stop here = {0}, *s = a->held ? a->held : &here;
	pid_t seen = 0, sharer = a->held ? 0 : attach_sharer(a, &seen);
	if (sharer) {
		out->untouched = true;
		attach_refuse_sharer(a, "attach to", sharer, &out->err);
		return ATTACH_FAILED;
	}
	attach_prepare_stop(a);
	hijack_guard(attach_mend, NULL);
	int rc = a->held ? ATTACH_DONE : stop_all(a, s, &out->err);
	if (rc)
		return rc;
	out->times.threads = (unsigned)s->threads.n;
	if (is_closing(a) || (!a->held && !attach_is_alone(a, s, seen)))
		rc = ATTACH_AGAIN;
	else
		rc = replace(a, s, out);
	out->untouched = rc == ATTACH_AGAIN || (rc == ATTACH_FAILED && !out->stuck);
	if (a->held)
		return rc;
	hijack_resume(s, a->h.proc);
	attach_mend_late();
	out->times.patch_ns = s->resumed_ns - s->begin_ns;
	out->times.asleep = s->asleep;
	out->times.cut_short += s->cut_short;
	return rc;
}

/* ---- putting back ---------------------------------------------------------------------------- */

/* Tells whether a signal interrupted code of the guest image, by the signal frames on the thread's
 * stack. */
static bool interrupted(const struct attach *a, const struct hijack_thread *t, uint64_t low,
			uint64_t high)
{
	uint64_t *words;
	size_t n = read_stack(a, t, &words);
	for (size_t i = 0; i + CPU_SIGNAL_WORDS <= n; i++)
		if (words[i] - low < high - low && cpu_is_signal_frame(&words[i]))
			return true;
	return !n; /* if the stack cannot be read, assume that a signal interrupted the image */
}

static bool anybody_inside(const struct attach *a, const struct hijack_stop *s)
{
	uint64_t low = a->shared.image, high = low + a->image.data;
	for (size_t i = 0; i < s->threads.n; i++) {
		const struct hijack_thread *t = &s->threads.v[i];
		if (t->gone)
			continue;
		if (t->regs.ip - low < high - low || interrupted(a, t, low, high))
			return true;
	}
	return false;
}

/* Shuts the gate (the word that each hook reads first) and clears the guest image's owner, so that
 * no more threads enter the image. If no thread is inside, also removes the per-thread data, so
 * that the image no longer uses the session; threads inside still need this data. */
static void shut(const struct attach *a, bool inside, struct attach_shared *out)
{
	if (!a->manifest_at)
		return;
	struct mg_image_gate gate = {.counted = 1};
	uint64_t nothing = 0;
	uint32_t nobody = 0;
	if (hijack_write(&a->h, a->manifest.gate, &gate, sizeof gate) ||
	    (!inside &&
	     hijack_write(&a->h, a->manifest.places_variable, &nothing, sizeof nothing)) ||
	    hijack_write(&a->h, a->manifest_at + offsetof(struct mg_manifest, owner), &nobody,
			 sizeof nobody))
		ms_err_sys(&out->err, "writing to the process's memory failed");
}

/* Clears the addresses in the manifest, so that nobody unmaps them again: something else may be
 * mapped there by then. */
static bool mark_released(const struct attach *a)
{
	static const uint64_t nothing[4];
	const size_t at = offsetof(struct mg_manifest, session);
	_Static_assert(offsetof(struct mg_manifest, private_bytes) ==
			       offsetof(struct mg_manifest, session) + 24,
		       "the four are one behind the other");
	return !a->manifest_at ||
	       !hijack_write(&a->h, a->manifest_at + at, nothing, sizeof nothing);
}

/* Borrows one of the stopped threads for system calls; if none is stopped, stops one. */
static bool borrow_any(struct attach *a, struct hijack_stop *s, struct hijack_call *call)
{
	struct ms_err why = {0};
	for (size_t i = 0; i < s->threads.n; i++)
		if (!s->threads.v[i].gone && !s->threads.v[i].asleep &&
		    !hijack_borrow(call, &a->h, &s->threads.v[i], 0, &why))
			return true;
	struct hijack_thread *t = hijack_easiest(s, a->h.proc);
	return t && !hijack_wake(s, a->h.proc, t, ATTACH_STOP_NS) &&
	       !hijack_borrow(call, &a->h, t, 0, &why);
}

/* Unmaps the session's memory from a borrowed thread. Call if no thread is inside the guest image
 * or can enter it. Returns false if no thread could be borrowed now. */
static bool release(struct attach *a, struct hijack_stop *s, struct attach_shared *out)
{
	struct hijack_call call;
	int64_t ignored;
	int failed = 0;
	out->times.left = a->release_count != 0;
	if (!out->times.left || !borrow_any(a, s, &call))
		return !out->times.left;
	if (!mark_released(a))
		a->release_count = 0;
	for (uint32_t k = 0; k < a->release_count && !failed; k++) {
		struct range r = a->release[k];
		while (k + 1 < a->release_count && a->release[k + 1].start &&
		       a->release[k + 1].start + a->release[k + 1].bytes == r.start) {
			r.start = a->release[++k].start;
			r.bytes += a->release[k].bytes;
		}
		if (r.start)
			failed = HIJACK_CALL(&call, &ignored, SYS_munmap, r.start, r.bytes);
	}
	out->times.left = failed != 0;
	if (hijack_give_back(&call))
		out->times.left = true;
	return true;
}

/* Tells whether the process runs another program now: the guest image's manifest is no longer
 * there. */
static bool is_another(const struct attach *a)
{
	uint64_t magic;
	return a->manifest_at && (hijack_read(&a->h, a->manifest_at, &magic, sizeof magic) ||
				  magic != MG_MANIFEST_MAGIC);
}

/* Restores the entries of a process that the caller has stopped; no thread can be inside the guest
 * image. */
static int restore_held(struct attach *a, struct attach_shared *out)
{
	restore(a, a->held, out);
	shut(a, false, out);
	release(a, a->held, out);
	out->restored = true;
	return out->err.text[0] ? ATTACH_FAILED : ATTACH_DONE;
}

/* Tells whether the process is stopped by a signal (state T), so that no thread can leave the guest
 * image. */
static bool stands_still(const struct attach *a)
{
	return hijack_state(a->h.proc, a->pid) == 'T';
}

/* Closes the gate after the entries were restored. Threads that were not stopped may have returned
 * into the guest image before the gate closed, so they are checked again. Returns whether any
 * thread is inside. */
static bool leave(struct attach *a, struct hijack_stop *s, bool last, struct attach_shared *out)
{
	bool inside = anybody_inside(a, s);
	if (!inside || last)
		shut(a, inside, out);
	if (!inside && hijack_any_asleep(s))
		inside = hijack_look(s, a->h.proc, ATTACH_STOP_NS) || anybody_inside(a, s);
	return inside;
}

static void go_on(struct attach *a, struct hijack_stop *s, struct attach_shared *out)
{
	hijack_resume(s, a->h.proc);
	attach_mend_late();
	out->times.leave_stops++;
	out->times.cut_short += s->cut_short;
	uint64_t ns = s->resumed_ns - s->begin_ns;
	out->times.leave_ns = ns > out->times.leave_ns ? ns : out->times.leave_ns;
}

/* Unmaps the session's memory during a separate stop, so that each stop is short. */
static int take_away(struct attach *a, struct attach_shared *out)
{
	struct hijack_stop s;
	int rc = stop_all(a, &s, &out->err);
	if (rc)
		return rc;
	bool another = is_another(a), released = another || release(a, &s, out);
	go_on(a, &s, out);
	out->times.left = out->times.left && !another;
	return released ? ATTACH_DONE : ATTACH_INSIDE;
}

int attach_restore(void *arg, void *shared)
{
	struct attach *a = arg;
	struct attach_shared *out = shared;
	out->times.left = true;
	if (a->held)
		return restore_held(a, out);
	pid_t seen, sharer = attach_sharer(a, &seen);
	if (sharer) {
		shut(a, true, out);
		attach_refuse_sharer(a, "detach from", sharer, &out->err);
		return ATTACH_FAILED;
	}
	attach_prepare_stop(a);
	hijack_guard(attach_mend, NULL);
	if (!a->leaves)
		hijack_await_easy(a->h.proc);
	struct hijack_stop s;
	bool last = a->leaves == ATTACH_LEAVES - 1 || stands_still(a), inside = true;
	int rc = stop_all(a, &s, &out->err);
	if (rc)
		return rc;
	bool another = is_another(a);
	if (!another && !attach_is_alone(a, &s, seen)) {
		hijack_resume(&s, a->h.proc);
		return ATTACH_AGAIN;
	}
	find_tps(a, &s, false);
	if (!another && !out->restored)
		restore(a, &s, out);
	if (!another && out->restored)
		inside = leave(a, &s, last, out);
	go_on(a, &s, out);
	out->times.left = !another;
	out->restored = out->restored || another;
	if (!out->restored)
		return ATTACH_AGAIN;
	rc = inside ? ATTACH_INSIDE : take_away(a, out);
	if (rc && (rc != ATTACH_INSIDE || (!last && !another)))
		return rc;
	return out->err.text[0] ? ATTACH_FAILED : ATTACH_DONE;
}
