/* SPDX-License-Identifier: MIT
 * Attaching, the part that stops all threads: entries replaced, entries put back.
 * Runs in the helper process; what it finds goes back through shared memory.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "attach_private.h"
#include "hijack_private.h"
#include "libcommon/proc.h"

#define STOP_TRIES 10 /* then it is twice as long each time that as many failed */
#define LEAVE_TRIES 24
#define PAUSE_NS 2000000
#define PAUSE_MOST_NS 200000000
#define STACK_MOST (256u << 10) /* of a thread's, from its stack pointer up */

/* A thread inside the image leaves it as soon as it gets a processor: ever longer. */
static void pause_between(int i)
{
	long ns = i < 6 ? PAUSE_NS << i : PAUSE_MOST_NS;
	struct timespec t = {0, ns};
	nanosleep(&t, NULL);
}

/* All threads stop, or all go on as if nothing had been. A thread that did not stop in time can be
 * let go by the end of this process only. */
static int stop_all(const struct attach *a, struct hijack_stop *s, struct ms_err *err)
{
	if (!hijack_stop_all(s, a->h.proc, ATTACH_STOP_NS << a->tries / STOP_TRIES))
		return ATTACH_DONE;
	if (errno == ETIMEDOUT)
		return ATTACH_AGAIN;
	if (errno == EPERM && hijack_status(a->h.proc, a->pid, "\nTracerPid:\t", 10)) {
		ms_err_set(err, "cannot stop the threads of %d: a debugger traces it", (int)a->pid);
		return ATTACH_TRACED;
	}
	ms_err_sys(err, "cannot stop the threads of %d", (int)a->pid);
	return ATTACH_FAILED;
}

/* No real-time class: it would run ahead of the kernel's own threads too. */
void attach_hurry(struct attach *a)
{
	if (a->held)
		return;
	hijack_find_code(&a->h);
	if (setpriority(PRIO_PROCESS, 0, -20)) /* of the calling thread */
		errno = 0;
}

/* ---- replacing ----------------------------------------------------------------------------------
 */

static bool bytes_are(const struct attach *a, uint64_t at, const uint8_t *bytes, size_t n)
{
	uint8_t now[MG_DISPLACED_MAX];
	return !hijack_read(&a->h, at, now, n) && !memcmp(now, bytes, n);
}

/* How many threads have their number there, as their own PID namespace counts. Some are enough: to
 * ask for all would keep them waiting. */
static unsigned numbers_at(const struct attach *a, const struct hijack_stop *s, uint32_t offset)
{
	enum { ASKED = 8 };
	char name[48], text[4096];
	unsigned n = 0;
	for (size_t i = 0; i < s->threads.n && i < ASKED; i++) {
		const struct hijack_thread *t = &s->threads.v[i];
		uint32_t is;
		snprintf(name, sizeof name, "task/%d/status", (int)t->tid);
		if (t->gone || hijack_read(&a->h, t->regs.fs_base + offset, &is, sizeof is) ||
		    !ms_proc_text_at(a->h.proc, name, text, sizeof text))
			continue;
		uint32_t own = ms_proc_status_inner(text);
		n += is == (own ? own : (uint32_t)t->tid);
	}
	return n;
}

/* A thread's number stands in its control block; where, depends on the C library. Of a child that
 * was forked behind the library's back it is its parent's. 0: the library is not known. */
static uint32_t find_tid(const struct attach *a, const struct hijack_stop *s)
{
	unsigned glibc = numbers_at(a, s, ATTACH_TID_GLIBC);
	unsigned musl = numbers_at(a, s, ATTACH_TID_MUSL);
	if (glibc || musl)
		return glibc >= musl ? ATTACH_TID_GLIBC : ATTACH_TID_MUSL;
	return strstr(a->allocator, "glibc")  ? ATTACH_TID_GLIBC
	       : strstr(a->allocator, "musl") ? ATTACH_TID_MUSL
					      : 0;
}

static int learn(const struct attach *a, const struct hijack_stop *s, struct attach_shared *out)
{
	out->tp_count = 0;
	for (size_t i = 0; i < s->threads.n; i++) {
		const struct hijack_thread *t = &s->threads.v[i];
		if (!t->gone && !t->regs.fs_base)
			return ms_err_set(
				&out->err,
				"cannot attach to process %d: it has a thread without a thread "
				"pointer, which has only begun, or uses no C library",
				(int)a->pid);
		if (t->tid == a->pid)
			out->main_tp = t->regs.fs_base;
		if (!t->gone && out->tp_count < ATTACH_TPS)
			out->tps[out->tp_count++] = t->regs.fs_base;
	}
	out->tid_offset = find_tid(a, s);
	if (out->tid_offset)
		return 0;
	return ms_err_set(
		&out->err,
		"cannot attach to process %d: its C library is not known: its threads cannot be "
		"told apart",
		(int)a->pid);
}

/* With the facts that only now are known; then all data of the image, new. */
static int write_data(struct attach *a, const struct attach_shared *out)
{
	struct mg_manifest *m = attach_image_manifest(&a->image);
	struct mg_image_gate begin = {.begin = MG_BEGIN};
	m->main_tp = out->main_tp;
	m->tid_offset = out->tid_offset;
	return hijack_write(&a->h, a->image.base + a->image.data, a->image.content + a->image.data,
			    a->image.bytes - a->image.data) ||
	       hijack_write(&a->h, m->gate, &begin, sizeof begin);
}

/* What is in use of a thread's stack, or of that of its signals, from its stack pointer up; how
 * many words. A thread that the C library made has its control block above it. */
static size_t read_stack(const struct attach *a, const struct hijack_thread *t, uint64_t **words)
{
	static uint64_t room[STACK_MOST / 8];
	uint64_t sp = t->regs.rsp & ~UINT64_C(7), most = t->regs.fs_base - sp;
	ssize_t n = pread(a->h.mem, room, most < STACK_MOST ? most : STACK_MOST, (off_t)sp);
	*words = room;
	return n > 0 ? (size_t)n / 8 : 0;
}

/* Does the frame of a signal have its instruction pointer there? Behind it stand the flags and the
 * segments. */
static bool is_frame(const uint64_t *ip)
{
	return (ip[2] & 0xffff) == 0x33 && ip[2] >> 48 == 0x2b;
}

static uint64_t moved(const struct attach *a, uint64_t ip)
{
	uint64_t to = ip;
	for (uint32_t k = 0; k < a->target_count && to == ip; k++)
		to = patch_moved(&a->targets[k].patch, ip);
	return to;
}

/* Handlers that interrupted one of the instructions that give way return to where it is now. */
static void move_frames(const struct attach *a, const struct hijack_thread *t,
			struct attach_shared *out)
{
	uint64_t *words;
	size_t n = read_stack(a, t, &words);
	for (size_t i = 0; i + 2 < n; i++) {
		uint64_t to = is_frame(&words[i]) ? moved(a, words[i]) : words[i];
		if (to == words[i])
			continue;
		if (hijack_write(&a->h, (t->regs.rsp & ~UINT64_C(7)) + 8 * i, &to, sizeof to))
			ms_err_sys(&out->err, "cannot write to its stack");
		out->moved++;
	}
}

static void move_threads(struct attach *a, struct hijack_stop *s, struct attach_shared *out)
{
	for (size_t i = 0; i < s->threads.n; i++) {
		struct hijack_thread *t = &s->threads.v[i];
		if (t->gone)
			continue;
		uint64_t to = moved(a, t->regs.rip);
		if (to != t->regs.rip) {
			t->regs.rip = to;
			hijack_set_regs(t);
			out->moved++;
		}
		move_frames(a, t, out);
	}
}

static int check_entries(const struct attach *a, struct ms_err *err)
{
	for (uint32_t i = 0; i < a->target_count; i++) {
		const struct target *t = &a->targets[i];
		if (!bytes_are(a, t->hook.entry, t->patch.original, t->patch.bytes))
			return ms_err_set(
				err, "cannot attach to process %d: %s of '%s' changed meanwhile",
				(int)a->pid, t->name, t->module);
	}
	return 0;
}

static void restore(const struct attach *a, struct attach_shared *out)
{
	for (uint32_t i = 0; i < a->manifest.hook_count; i++) {
		const struct mg_hook *h = &a->manifest.hooks[i];
		if (!bytes_are(a, h->entry, h->patched, h->bytes))
			out->others++;
		else if (hijack_write(&a->h, h->entry, h->original, h->bytes)) {
			ms_err_sys(&out->err, "cannot write to its code");
			out->stuck = true;
		}
	}
}

static int replace(struct attach *a, struct hijack_stop *s, struct attach_shared *out)
{
	if (learn(a, s, out) || check_entries(a, &out->err))
		return -1;
	if (write_data(a, out))
		return ms_err_sys(&out->err, "cannot write to the memory of %d", (int)a->pid);
	for (uint32_t i = 0; i < a->target_count; i++) {
		const struct target *t = &a->targets[i];
		if (hijack_write(&a->h, t->hook.entry, t->patch.patched, t->patch.bytes) ||
		    !bytes_are(a, t->hook.entry, t->patch.patched, t->patch.bytes)) {
			ms_err_sys(&out->err, "cannot write to the code of %d", (int)a->pid);
			restore(a, out);
			return -1;
		}
	}
	move_threads(a, s, out);
	return 0;
}

/* Is the linker about to take modules away? It said so before it was hooked. */
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
	attach_hurry(a);
	int rc = a->held ? ATTACH_DONE : stop_all(a, s, &out->err);
	if (rc)
		return rc;
	out->threads = (unsigned)s->threads.n;
	if (is_closing(a) || (!a->held && !attach_is_alone(a, seen)))
		rc = ATTACH_AGAIN;
	else
		rc = replace(a, s, out) ? ATTACH_FAILED : ATTACH_DONE;
	out->untouched = rc == ATTACH_AGAIN || (rc == ATTACH_FAILED && !out->stuck);
	if (a->held)
		return rc;
	hijack_resume(s, a->h.proc);
	out->all_ns = s->resumed_ns - s->begin_ns;
	return rc;
}

/* ---- putting back -------------------------------------------------------------------------------
 */

/* Is there a frame of a signal that interrupted the image? */
static bool interrupted(const struct attach *a, const struct hijack_thread *t, uint64_t low,
			uint64_t high)
{
	uint64_t *words;
	size_t n = read_stack(a, t, &words);
	for (size_t i = 0; i + 2 < n; i++)
		if (words[i] - low < high - low && is_frame(&words[i]))
			return true;
	return !n; /* in doubt */
}

static bool anybody_inside(const struct attach *a, const struct hijack_stop *s)
{
	uint64_t low = a->shared.image, high = low + a->image.data;
	for (size_t i = 0; i < s->threads.n; i++) {
		const struct hijack_thread *t = &s->threads.v[i];
		if (t->gone)
			continue;
		if (t->regs.rip - low < high - low || interrupted(a, t, low, high))
			return true;
	}
	return false;
}

/* Nobody enters the image any more, and it belongs to nobody. When nobody is inside either it
 * touches neither session nor places from here on; who is goes on in them. */
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
		ms_err_sys(&out->err, "cannot write to its memory");
}

/* Nobody shall take it away a second time: something else may be there then. */
static bool disown(const struct attach *a)
{
	static const uint64_t nothing[4];
	const size_t at = offsetof(struct mg_manifest, session);
	_Static_assert(offsetof(struct mg_manifest, private_bytes) ==
			       offsetof(struct mg_manifest, session) + 24,
		       "the four are one behind the other");
	return !a->manifest_at ||
	       !hijack_write(&a->h, a->manifest_at + at, nothing, sizeof nothing);
}

/* All are stopped and nobody is inside: one of them takes the session's memory away. */
static void release(struct attach *a, struct hijack_stop *s, struct attach_shared *out)
{
	struct ms_err why = {0};
	struct hijack_call call;
	int64_t ignored;
	out->left = true;
	for (size_t i = 0; i < s->threads.n; i++) {
		if (s->threads.v[i].gone || hijack_borrow(&call, &a->h, &s->threads.v[i], 0, &why))
			continue;
		int failed = 0;
		if (!disown(a))
			a->release_count = 0;
		for (uint32_t k = 0; k < a->release_count && !failed; k++)
			if (a->release[k].start)
				failed = HIJACK_CALL(&call, &ignored, SYS_munmap,
						     a->release[k].start, a->release[k].bytes);
		out->left = failed != 0;
		if (hijack_give_back(&call))
			out->left = true;
		return;
	}
}

/* Does it run another program now? Its memory as we knew it cannot be read any more. */
static bool is_another(const struct attach *a)
{
	uint64_t magic;
	return a->manifest_at && (hijack_read(&a->h, a->manifest_at, &magic, sizeof magic) ||
				  magic != MG_MANIFEST_MAGIC);
}

/* The same of one that is stopped anyway, and where nobody can be inside. */
static int restore_held(struct attach *a, struct attach_shared *out)
{
	restore(a, out);
	shut(a, false, out);
	release(a, a->held, out);
	out->restored = true;
	return out->err.text[0] ? ATTACH_FAILED : ATTACH_DONE;
}

/* Is it stopped, so that nobody comes out of where he is? */
static bool stands_still(const struct attach *a)
{
	return hijack_state(a->h.proc, a->pid) == 'T';
}

int attach_restore(void *arg, void *shared)
{
	struct attach *a = arg;
	struct attach_shared *out = shared;
	out->left = true;
	if (a->held)
		return restore_held(a, out);
	pid_t seen, sharer = attach_sharer(a, &seen);
	if (sharer) {
		shut(a, true, out);
		attach_refuse_sharer(a, "detach from", sharer, &out->err);
		return ATTACH_FAILED;
	}
	attach_hurry(a);
	for (int i = 0; i < LEAVE_TRIES; i++) {
		struct hijack_stop s;
		bool last = i == LEAVE_TRIES - 1 || stands_still(a);
		int rc = stop_all(a, &s, &out->err);
		if (rc)
			return rc;
		if (is_another(a)) {
			hijack_resume(&s, a->h.proc);
			out->left = false;
			out->restored = true;
			return ATTACH_DONE;
		}
		if (!attach_is_alone(a, seen)) {
			hijack_resume(&s, a->h.proc);
			return ATTACH_AGAIN;
		}
		if (!out->restored)
			restore(a, out);
		out->restored = true;
		bool inside = anybody_inside(a, &s);
		if (!inside || last)
			shut(a, inside, out);
		if (!inside)
			release(a, &s, out);
		hijack_resume(&s, a->h.proc);
		out->stops++;
		uint64_t ns = s.resumed_ns - s.begin_ns;
		out->all_ns = ns > out->all_ns ? ns : out->all_ns;
		if (!inside || last)
			break;
		pause_between(i);
	}
	return out->err.text[0] ? ATTACH_FAILED : ATTACH_DONE;
}
