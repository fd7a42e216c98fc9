/* SPDX-License-Identifier: MIT
 * Attaching, the part that stops threads: the guest mapped, entries replaced, entries put back.
 * Runs in the helper process; what it finds goes back through shared memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "attach_private.h"
#include "clock.h"
#include "hijack_private.h"

#define STOP_NS UINT64_C(100000000) /* all threads: longer would be felt */
#define STOP_TRIES 20               /* then it is twice as long each time that as many failed */
#define LEAVE_TRIES 24
#define PAUSE_NS 2000000
#define PAUSE_MOST_NS 200000000
#define STACK_MOST (256u << 10) /* of a thread's, from its stack pointer up */

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif

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
	if (!hijack_stop_all(s, a->h.proc, STOP_NS << a->tries / STOP_TRIES))
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

/* A thread that is to stop needs a processor, and so do we: ahead of what merely computes, where
 * that is permitted. */
static void hurry(const struct attach *a)
{
	struct sched_param first = {.sched_priority = 10};
	if (a->held)
		return;
	sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first);
}

/* Before anything stops: what can be known then, and our own haste. */
static void get_ready(struct attach *a)
{
	if (!a->held)
		hijack_find_code(&a->h);
	hurry(a);
}

/* ---- system calls in it ------------------------------------------------------------------------
 */

struct remote {
	struct hijack_call call;
	struct ms_err *err;
	bool failed; /* a call did not come back: the rest is not tried */
	bool again;  /* another thread closed a descriptor of ours */
};

/* One call; `what` it is for, in an error. False with the error set. */
static bool try(struct remote *r, const char *what, int64_t *result, long nr,
		const uint64_t args[6])
{
	if (r->failed)
		return false;
	if (hijack_call(&r->call, nr, args, result)) {
		r->failed = true;
		ms_err_sys(r->err, "cannot %s in it", what);
		return false;
	}
	if (*result < 0 && *result > -4096) {
		errno = (int)-*result;
		r->again |= errno == EBADF;
		ms_err_sys(r->err, "cannot %s in it", what);
		return false;
	}
	return true;
}
#define TRY(r, what, result, nr, ...) try(r, what, result, nr, (const uint64_t[6]){__VA_ARGS__})

static uint64_t map(struct remote *r, const char *what, uint64_t at, uint64_t bytes, int prot,
		    int flags, int64_t fd, uint64_t offset)
{
	int64_t got;
	return TRY(r, what, &got, SYS_mmap, at, bytes, (uint64_t)prot, (uint64_t)flags,
		   (uint64_t)fd, offset)
		       ? (uint64_t)got
		       : 0;
}

static void unmap(struct remote *r, uint64_t at, uint64_t bytes)
{
	int64_t ignored;
	if (at && !r->failed)
		HIJACK_CALL(&r->call, &ignored, SYS_munmap, at, bytes);
}

/* A page for what calls have to be given. */
struct scratch {
	uint64_t page;
};

/* A memory file of it, and of ours. Its other threads run: they may close all descriptors, and the
 * number is another file's then. */
struct file {
	int64_t there;
	int own;
	char name[64]; /* as links show it */
};

/* The descriptor in it becomes ours. */
static int take_file(const struct attach *a, int64_t fd)
{
	char path[32];
	int own = a->h.pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, a->h.pidfd, (int)fd, 0);
	if (own >= 0)
		return own;
	snprintf(path, sizeof path, "fd/%lld", (long long)fd);
	return openat(a->h.proc, path, O_RDWR | O_CLOEXEC);
}

/* Is it the file still? `folder`: /proc/PID. */
static bool is_file(int folder, int64_t fd, const struct file *f)
{
	char path[32], text[sizeof f->name] = "";
	snprintf(path, sizeof path, "fd/%lld", (long long)fd);
	return readlinkat(folder, path, text, sizeof text - 1) > 0 && !strcmp(text, f->name);
}

static bool is_new(const struct file *f)
{
	struct stat st;
	int self = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool good = self >= 0 && is_file(self, f->own, f) && !fstat(f->own, &st) && !st.st_size;
	if (self >= 0)
		close(self);
	return good;
}

/* It is given its size here: there a limit of the size of files would be in the way. */
static bool make_file(struct remote *r, const struct attach *a, const struct scratch *s,
		      const char *name, unsigned flags, uint64_t bytes, struct file *f)
{
	*f = (struct file){.there = -1, .own = -1};
	snprintf(f->name, sizeof f->name, "/memfd:%s (deleted)", name);
	if (hijack_write(&a->h, s->page, name, strlen(name) + 1)) {
		ms_err_sys(r->err, "cannot write to its memory");
		return false;
	}
	if (!TRY(r, "make a memory file", &f->there, SYS_memfd_create, s->page, flags))
		return false;
	f->own = take_file(a, f->there);
	if (f->own >= 0 && is_new(f) && (!bytes || !ftruncate(f->own, (off_t)bytes)))
		return true;
	r->again |= f->own >= 0 || errno == EBADF || errno == ENOENT;
	ms_err_sys(r->err, "cannot take a memory file from it");
	return false;
}

static void close_file(struct remote *r, const struct attach *a, const struct file *f)
{
	int64_t ignored;
	if (f->there >= 0 && !r->failed && is_file(a->h.proc, f->there, f))
		HIJACK_CALL(&r->call, &ignored, SYS_close, (uint64_t)f->there);
}

/* ---- mapping ------------------------------------------------------------------------------------
 */

/* The image's address is known: its content goes there, with a gate that is shut. */
static bool write_image(struct attach *a, struct attach_shared *r)
{
	struct mg_image_gate shut = {.counted = 1};
	if (attach_image_make(&a->image, r->image, &r->err))
		return false;
	struct mg_manifest *m = attach_image_manifest(&a->image);
	m->gate = r->gate;
	memcpy(a->image.content + (m->gate_variable - r->image), &r->gate, sizeof r->gate);
	if (hijack_write(&a->h, r->gate, &shut, sizeof shut) ||
	    hijack_write(&a->h, r->image, a->image.content, a->image.bytes)) {
		ms_err_sys(&r->err, "cannot write to its memory");
		return false;
	}
	return true;
}

static bool map_image(struct remote *r, struct attach *a, const struct scratch *s,
		      struct attach_shared *out)
{
	struct attach_image im;
	int64_t ignored;
	if (attach_image_make(&im, 0, r->err))
		return false;
	size_t bytes = im.bytes, data = im.data;
	attach_image_free(&im);
	struct file f;
	bool good = make_file(r, a, s, MG_IMAGE_NAME, MFD_CLOEXEC, bytes, &f);
	if (good)
		out->image = map(r, "map the recorder's code", 0, bytes, PROT_READ | PROT_EXEC,
				 MAP_PRIVATE, f.there, 0);
	good = good && out->image &&
	       map(r, "map the recorder's data", out->image + data, bytes - data,
		   PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, f.there, data);
	close_file(r, a, &f);
	if (f.own >= 0)
		close(f.own);
	if (good)
		out->gate = map(r, "map memory", 0, 4096, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	good = good && out->gate &&
	       TRY(r, "have a page wiped in forked children (Linux 4.14 can)", &ignored,
		   SYS_madvise, out->gate, 4096, MADV_WIPEONFORK) &&
	       write_image(a, out);
	out->image_done = good;
	if (!good) {
		unmap(r, out->image, bytes);
		unmap(r, out->gate, 4096);
		out->image = out->gate = 0;
	}
	return good;
}

/* Pages for slots: where the maps showed room there may be none any more. */
static bool map_near(struct remote *r, struct attach *a, struct attach_shared *out)
{
	enum { PLACES = 8 };
	for (uint32_t i = 0; i < a->near_count; i++) {
		const struct near *n = &a->near[i];
		if (!n->fresh)
			continue;
		for (unsigned k = 0; k < PLACES && !out->near[i]; k++) {
			int64_t got;
			uint64_t at = attach_maps_room(&a->maps, n->low, n->high, NEAR_BYTES, k);
			if (!at || HIJACK_CALL(&r->call, &got, SYS_mmap, at, NEAR_BYTES,
					       PROT_READ | PROT_EXEC,
					       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
					       (uint64_t)-1, 0))
				break;
			if (got == (int64_t)at)
				out->near[i] = at;
			else if (got > 0) /* a kernel that does not know the flag */
				unmap(r, (uint64_t)got, NEAR_BYTES);
		}
		if (!out->near[i]) {
			ms_err_set(r->err, "there is no room for a jump near its allocator");
			return false;
		}
	}
	return true;
}

static bool send_file(const struct attach *a, int fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct iovec io = {"", 1};
	struct msghdr m = {.msg_iov = &io,
			   .msg_iovlen = 1,
			   .msg_control = control.bytes,
			   .msg_controllen = sizeof control.bytes};
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);
	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(h), &fd, sizeof fd);
	return sendmsg(a->channel[1], &m, MSG_NOSIGNAL) == 1;
}

/* *own: the file of the session. */
static bool map_session(struct remote *r, const struct attach *a, const struct scratch *s,
			struct attach_shared *out, int *own)
{
	int64_t ignored;
	struct file f;
	if (make_file(r, a, s, "memscope", MFD_CLOEXEC | MFD_ALLOW_SEALING, 0, &f))
		out->session = map(r, "map the buffers", 0, a->session_bytes,
				   PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, f.there, 0);
	close_file(r, a, &f);
	*own = f.own;
	if (!out->session)
		return false;
	out->private = map(r, "map memory", 0, a->private_bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!out->private)
		return false;
	HIJACK_CALL(&r->call, &ignored, SYS_madvise, out->session, a->session_bytes, MADV_DONTDUMP);
	HIJACK_CALL(&r->call, &ignored, SYS_madvise, out->private, a->private_bytes, MADV_DONTDUMP);
	/* A name by which a later recorder finds it, where the kernel can. */
	if (!hijack_write(&a->h, s->page, "memscope", 9))
		HIJACK_CALL(&r->call, &ignored, SYS_prctl, PR_SET_VMA, 0, out->private,
			    a->private_bytes, s->page);
	return true;
}

static void map_everything(struct remote *r, struct attach *a, struct attach_shared *out, int *own)
{
	struct scratch s = {map(r, "map memory", 0, 4096, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)};
	bool good = s.page && (a->adopted || map_image(r, a, &s, out)) && map_near(r, a, out) &&
		    map_session(r, a, &s, out, own);
	unmap(r, s.page, 4096);
	if (good)
		return;
	unmap(r, out->session, a->session_bytes);
	unmap(r, out->private, a->private_bytes);
	for (uint32_t i = 0; i < a->near_count; i++)
		unmap(r, out->near[i], NEAR_BYTES);
	if (out->image_done) {
		unmap(r, out->image, a->image.bytes);
		unmap(r, out->gate, 4096);
	}
}

static void map_by(struct attach *a, struct hijack_stop *s, struct remote *r,
		   struct attach_shared *out, int *own)
{
	/* One that we started is not worth a net if there is no room for it: it has done nothing
	 * yet.
	 */
	unsigned flags = a->launched ? HIJACK_NO_NET : 0;
	if (hijack_borrow(&r->call, &a->h, &s->threads.v[0], flags, &out->err))
		return;
	map_everything(r, a, out, own);
	if (hijack_give_back(&r->call)) {
		ms_err_sys(&out->err, "a thread of %d did not come back", (int)a->pid);
		r->again = false;
	}
}

int attach_map(void *arg, void *shared)
{
	struct attach *a = arg;
	struct attach_shared *out = shared, before = *out;
	struct hijack_stop here = {0}, *s = a->held ? a->held : &here;
	struct remote r = {.err = &out->err};
	int own = -1;
	get_ready(a);
	if (!a->held && hijack_stop_one(s, &a->h, STOP_NS)) {
		if (errno == ETIMEDOUT || errno == EBUSY)
			return ATTACH_AGAIN;
		ms_err_sys(&out->err, "cannot stop a thread of %d", (int)a->pid);
		return ATTACH_FAILED;
	}
	hijack_wait_begin();
	map_by(a, s, &r, out, &own);
	if (!a->held)
		hijack_resume(s, a->h.proc);
	hijack_wait_end();
	if (r.again && out->err.text[0]) {
		*out = before;
		return ATTACH_AGAIN;
	}
	out->one_ns = s->longest_ns;
	if (!out->err.text[0] && !send_file(a, own))
		ms_err_sys(&out->err, "cannot hand over a memory file");
	if (own >= 0)
		close(own);
	return out->err.text[0] ? ATTACH_FAILED : ATTACH_DONE;
}

int attach_map_near(void *arg, void *shared)
{
	struct attach *a = arg;
	struct attach_shared *out = shared;
	struct hijack_stop s;
	struct remote r = {.err = &out->err};
	hurry(a);
	if (hijack_stop_one(&s, &a->h, clock_mono() + STOP_NS)) {
		ms_err_sys(&out->err, "cannot stop a thread of %d", (int)a->pid);
		return errno == ETIMEDOUT || errno == EBUSY ? ATTACH_AGAIN : ATTACH_FAILED;
	}
	if (!hijack_borrow(&r.call, &a->h, &s.threads.v[0], 0, &out->err)) {
		map_near(&r, a, out);
		if (hijack_give_back(&r.call))
			ms_err_sys(&out->err, "a thread of %d did not come back", (int)a->pid);
	}
	hijack_resume(&s, a->h.proc);
	return out->err.text[0] ? ATTACH_FAILED : ATTACH_DONE;
}

/* ---- replacing ----------------------------------------------------------------------------------
 */

static bool bytes_are(const struct attach *a, uint64_t at, const uint8_t *bytes, size_t n)
{
	uint8_t now[MG_DISPLACED_MAX];
	return !hijack_read(&a->h, at, now, n) && !memcmp(now, bytes, n);
}

/* A thread's number stands in its control block; where, depends on the C library. */
static bool tid_at(const struct attach *a, const struct hijack_stop *s, uint32_t offset)
{
	bool any = false;
	for (size_t i = 0; i < s->threads.n; i++) {
		const struct hijack_thread *t = &s->threads.v[i];
		uint32_t tid;
		if (t->gone)
			continue;
		if (hijack_read(&a->h, t->regs.fs_base + offset, &tid, sizeof tid) || !tid)
			return false;
		/* In a namespace of its own it has another number. */
		if (tid != (uint32_t)t->tid && hijack_state(a->h.proc, (pid_t)t->tid) && i == 0 &&
		    offset != ATTACH_TID_GLIBC)
			return false;
		any = true;
	}
	return any;
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
	out->tid_offset = tid_at(a, s, ATTACH_TID_GLIBC)  ? ATTACH_TID_GLIBC
			  : tid_at(a, s, ATTACH_TID_MUSL) ? ATTACH_TID_MUSL
							  : 0;
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
	struct hijack_stop here, *s = a->held ? a->held : &here;
	hurry(a);
	int rc = a->held ? ATTACH_DONE : stop_all(a, s, &out->err);
	if (rc)
		return rc;
	out->threads = (unsigned)s->threads.n;
	if (is_closing(a))
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
	struct remote r = {.err = &why};
	out->left = true;
	for (size_t i = 0; i < s->threads.n; i++) {
		if (s->threads.v[i].gone ||
		    hijack_borrow(&r.call, &a->h, &s->threads.v[i], 0, &why))
			continue;
		if (!disown(a))
			a->release_count = 0;
		for (uint32_t k = 0; k < a->release_count; k++)
			unmap(&r, a->release[k].start, a->release[k].bytes);
		out->left = r.failed;
		if (hijack_give_back(&r.call))
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
	get_ready(a);
	if (a->held)
		return restore_held(a, out);
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
