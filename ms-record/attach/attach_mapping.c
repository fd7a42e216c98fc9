/* SPDX-License-Identifier: MIT
 * Attaching: borrows one thread, whose system calls map what the recorder needs. Runs in the
 * helper process, and returns results through shared memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach_private.h"
#include "ms-record/ptrace/hijack_private.h"
#include "ms-record/base/descriptor.h"
#include "ms-record/base/packet.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif

/* ---- system calls in it ---------------------------------------------------------------------- */

struct remote {
	struct hijack_call call;
	struct ms_err *err;
	bool failed; /* a remote system call did not return; no more calls are made */
	bool again;  /* another thread closed a descriptor that we opened in the process: try
			again */
	int own;     /* our descriptor of the session's memory file */
	bool (*map)(struct remote *r, struct attach *a, struct attach_shared *out);
};

/* Makes one system call in the process; the system call may fail. `what` names its purpose in an
 * error. Returns false, with the error set, if the call did not return. */
static bool ask(struct remote *r, const char *what, int64_t *result, long nr,
		const uint64_t args[6])
{
	if (r->failed)
		return false;
	r->failed = hijack_call(&r->call, nr, args, result);
	if (r->failed)
		ms_err_sys(r->err, "%s in it failed", what);
	return !r->failed;
}

/* Makes one system call in the process; the system call must succeed. Returns false with the error
 * set otherwise. */
static bool try(struct remote *r, const char *what, int64_t *result, long nr,
		const uint64_t args[6])
{
	if (!ask(r, what, result, nr, args))
		return false;
	if (*result < 0 && *result > -4096) {
		errno = (int)-*result;
		r->again |= errno == EBADF;
		ms_err_sys(r->err, "%s in it failed", what);
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

/* Unlocks memory that was locked because the program called mlockall(MCL_FUTURE). */
static void unlock(struct remote *r, uint64_t at, uint64_t bytes)
{
	int64_t ignored;
	if (at && !r->failed)
		HIJACK_CALL(&r->call, &ignored, SYS_munlock, at, bytes);
}

/* Maps a large area in three steps: maps one page, unlocks it, and extends it with mremap. Then the
 * rest is not locked either, and RLIMIT_MEMLOCK does not apply. */
static uint64_t map_much(struct remote *r, const char *what, uint64_t at, uint64_t bytes, int flags,
			 int64_t fd)
{
	int64_t got;
	uint64_t page = map(r, what, at, 4096, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (!page)
		return 0;
	unlock(r, page, 4096);
	if (TRY(r, what, &got, SYS_mremap, page, 4096, bytes, MREMAP_MAYMOVE, 0, 0))
		return (uint64_t)got;
	unmap(r, page, 4096);
	return 0;
}

/* Describes a memory file that is open in the process and in ms-record. Other threads of the
 * process keep running and may close any descriptor, whose number may then refer to another
 * file. */
struct file {
	int64_t there;
	int own;
	char name[64]; /* target of the file's link in /proc/PID/fd */
};

/* Opens the process's descriptor `fd` here. Returns our descriptor, or -1 with errno set. */
static int take_file(const struct attach *a, int64_t fd)
{
	char path[32];
	int own = a->h.pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, a->h.pidfd, (int)fd, 0);
	if (own >= 0)
		return own;
	snprintf(path, sizeof path, "fd/%lld", (long long)fd);
	return openat(a->h.proc, path, O_RDWR | O_CLOEXEC);
}

/* Tells whether descriptor `fd` still refers to file `f`. `folder`: /proc/PID of the descriptor's
 * process. */
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
	bool good = is_file(self, f->own, f) && !fstat(f->own, &st) && !st.st_size;
	descriptor_close(self);
	return good;
}

/* Creates a memory file in the process. ms-record sets the size, because RLIMIT_FSIZE may limit the
 * process. */
static bool make_file(struct remote *r, const struct attach *a, uint64_t room, const char *name,
		      unsigned flags, uint64_t bytes, struct file *f)
{
	*f = (struct file){.there = -1, .own = -1};
	snprintf(f->name, sizeof f->name, "/memfd:%s (deleted)", name);
	if (hijack_write(&a->h, room, name, strlen(name) + 1)) {
		ms_err_sys(r->err, "writing to the process's memory failed");
		return false;
	}
	if (!TRY(r, "creating a memfd", &f->there, SYS_memfd_create, room, flags))
		return false;
	f->own = take_file(a, f->there);
	if (f->own >= 0 && is_new(f) && (!bytes || !ftruncate(f->own, (off_t)bytes)))
		return true;
	r->again |= f->own >= 0 || errno == EBADF || errno == ENOENT;
	ms_err_sys(r->err,
		   "the memory that the process shares with ms-record (memfd) could not be opened");
	return false;
}

static void close_file(struct remote *r, const struct attach *a, const struct file *f)
{
	int64_t ignored;
	if (f->there >= 0 && !r->failed && is_file(a->h.proc, f->there, f))
		HIJACK_CALL(&r->call, &ignored, SYS_close, (uint64_t)f->there);
}

/* ---- mapping --------------------------------------------------------------------------------- */

/* Writes the guest image, linked to its final address, and shuts the gate (the word that each hook
 * reads first), so that hooks do not record yet. */
static bool write_image(struct attach *a, struct attach_shared *r)
{
	struct mg_image_gate shut = {.counted = 1};
	attach_image_free(&a->image);
	if (attach_image_make(&a->image, r->image, &r->err))
		return false;
	struct mg_manifest *m = attach_image_manifest(&a->image);
	m->gate = r->gate;
	memcpy(a->image.content + (m->gate_variable - r->image), &r->gate, sizeof r->gate);
	if (hijack_write(&a->h, r->gate, &shut, sizeof shut) ||
	    hijack_write(&a->h, r->image, a->image.content, a->image.bytes)) {
		ms_err_sys(&r->err, "writing to the process's memory failed");
		return false;
	}
	return true;
}

static bool map_image(struct remote *r, struct attach *a, uint64_t room, struct attach_shared *out)
{
	size_t bytes = a->image.bytes, data = a->image.data;
	int64_t ignored;
	struct file f;
	bool good = make_file(r, a, room, MG_IMAGE_NAME, MFD_CLOEXEC, bytes, &f);
	if (good)
		out->image = map(r, "mapping the recorder's code", 0, bytes, PROT_READ | PROT_EXEC,
				 MAP_PRIVATE, f.there, 0);
	good = good && out->image &&
	       map(r, "mapping the recorder's data", out->image + data, bytes - data,
		   PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, f.there, data);
	close_file(r, a, &f);
	descriptor_close(f.own);
	if (good)
		out->gate = map(r, "mapping memory", 0, 4096, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return good && out->gate &&
	       TRY(r, "setting MADV_WIPEONFORK (needs Linux 4.14 or newer)", &ignored, SYS_madvise,
		   out->gate, 4096, MADV_WIPEONFORK);
}

/* Maps pages for hook slots in gaps of the address space near the functions' entries. If another
 * thread has used a gap meanwhile, tries another gap. */
static bool map_near(struct remote *r, struct attach *a, struct attach_shared *out)
{
	enum { PLACES = 32 };
	for (uint32_t i = 0; i < a->near_count; i++) {
		struct near *n = &out->near[i];
		if (!n->fresh)
			continue;
		for (unsigned k = 0; k < PLACES && !n->page; k++) {
			int64_t got;
			uint64_t at = attach_maps_room(&a->maps, n->low, n->high, MG_NEAR_BYTES, k);
			const uint64_t args[] = {at,
						 MG_NEAR_BYTES,
						 PROT_READ | PROT_EXEC,
						 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
						 (uint64_t)-1,
						 0};
			if (!at)
				break;
			if (!ask(r, "mapping memory near its allocator", &got, SYS_mmap, args))
				return false;
			if (got == (int64_t)at)
				n->page = at;
			else if (got > 0) /* a kernel that ignores MAP_FIXED_NOREPLACE mapped
					     elsewhere */
				unmap(r, (uint64_t)got, MG_NEAR_BYTES);
		}
		if (!n->page) {
			ms_err_set(
				r->err,
				"no address space for the hook is free within " MG_JUMP_REACH_NAME
				" of its allocator");
			return false;
		}
	}
	return true;
}

static bool map_session(struct remote *r, const struct attach *a, uint64_t room,
			struct attach_shared *out)
{
	int64_t ignored;
	struct file f;
	if (make_file(r, a, room, "memscope", MFD_CLOEXEC | MFD_ALLOW_SEALING, 0, &f))
		out->session = map_much(r, "mapping the buffers", 0, a->session_bytes,
					MAP_SHARED | MAP_NORESERVE, f.there);
	close_file(r, a, &f);
	r->own = f.own;
	if (!out->session)
		return false;
	/* Asks for the address directly below the session, so that one munmap can release both. */
	out->private = map_much(r, "mapping memory", out->session - a->private_bytes,
				a->private_bytes, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	if (!out->private)
		return false;
	HIJACK_CALL(&r->call, &ignored, SYS_madvise, out->session, a->session_bytes, MADV_DONTDUMP);
	HIJACK_CALL(&r->call, &ignored, SYS_madvise, out->private, a->private_bytes, MADV_DONTDUMP);
	/* If this thread is forbidden to read the processor's clock, probably all threads are. */
	int mode = PR_TSC_ENABLE;
	if (!HIJACK_CALL(&r->call, &ignored, SYS_prctl, PR_GET_TSC, room, 0, 0, 0) &&
	    !hijack_read(&a->h, room, &mode, sizeof mode))
		out->blind = mode == PR_TSC_SIGSEGV;
	/* Names the mapping, if the kernel can, so that a later recorder finds it. */
	if (!hijack_write(&a->h, room, "memscope", 9))
		HIJACK_CALL(&r->call, &ignored, SYS_prctl, PR_SET_VMA, 0, out->private,
			    a->private_bytes, room);
	return true;
}

static bool map_everything(struct remote *r, struct attach *a, struct attach_shared *out)
{
	/* Room for strings passed to system calls. */
	uint64_t page = r->call.room ? 0
				     : map(r, "mapping memory", 0, 4096, PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t room = page ? page : r->call.room;
	bool good = room && (a->adopted || map_image(r, a, room, out)) && map_near(r, a, out) &&
		    map_session(r, a, room, out);
	unmap(r, page, 4096);
	if (good) {
		for (uint32_t i = 0; i < a->near_count; i++)
			if (out->near[i].fresh)
				unlock(r, out->near[i].page, MG_NEAR_BYTES);
		if (!a->adopted) {
			unlock(r, out->image, a->image.bytes);
			unlock(r, out->gate, 4096);
		}
		return true;
	}
	unmap(r, out->session, a->session_bytes);
	unmap(r, out->private, a->private_bytes);
	for (uint32_t i = 0; i < a->near_count; i++)
		if (out->near[i].fresh)
			unmap(r, out->near[i].page, MG_NEAR_BYTES);
	if (!a->adopted) {
		unmap(r, out->image, a->image.bytes);
		unmap(r, out->gate, 4096);
		out->image = out->gate = 0;
	}
	return false;
}

static void map_by(struct attach *a, struct hijack_stop *s, struct remote *r,
		   struct attach_shared *out)
{
	/* A process that ms-record has launched, and that has not run yet, need not be able to
	 * resume by itself if ms-record dies. */
	unsigned flags = a->launched && a->held ? HIJACK_NO_NET : 0;
	if (hijack_borrow(&r->call, &a->h, &s->threads.v[0], flags, &out->err))
		return;
	r->map(r, a, out);
	if (hijack_give_back(&r->call)) {
		ms_err_sys(&out->err,
			   "a system call of the recorder in thread %d did not end; the thread "
			   "goes on when it does",
			   (int)s->threads.v[0].tid);
		r->again = false;
	}
}

/* Stops one thread and makes it map the memory, unless all threads are stopped already. */
static int map_stopped(struct attach *a, struct attach_shared *out, struct remote *r)
{
	struct hijack_stop here = {0}, *s = a->held ? a->held : &here;
	if (!a->held && hijack_stop_one(s, &a->h, ATTACH_STOP_NS)) {
		int why = errno;
		pid_t other; /* listed threads may end before they are stopped, so retry if any
				thread is left */
		if (why == ETIMEDOUT || why == EBUSY ||
		    (why == ESRCH && hijack_count(a->h.proc, &other)))
			return ATTACH_AGAIN;
		errno = why;
		ms_err_sys(&out->err, "cannot stop a thread of process %d", (int)a->pid);
		return ATTACH_FAILED;
	}
	struct hijack_thread one = s->threads.v[0];
	hijack_wait_begin();
	map_by(a, s, r, out);
	if (!a->held)
		hijack_resume(s, a->h.proc);
	hijack_wait_end();
	if (s->longest_ns > out->times.map_ns)
		out->times.map_ns = s->longest_ns;
	out->times.cut_short += s->cut_short;
	out->one_tid = one.tid;
	out->one_tp = one.regs.tp;
	return out->err.text[0] ? ATTACH_FAILED : ATTACH_DONE;
}

int attach_map(void *arg, void *shared)
{
	struct attach *a = arg;
	struct attach_shared *out = shared, before = *out;
	struct remote r = {.err = &out->err, .own = -1, .map = map_everything};
	if (!a->adopted && attach_image_make(&a->image, 0, &out->err))
		return ATTACH_FAILED;
	attach_prepare_stop(a);
	int rc = map_stopped(a, out, &r);
	if (rc == ATTACH_FAILED && r.again) {
		*out = before;
		return ATTACH_AGAIN;
	}
	/* No thread can execute the guest image before entries are replaced, so it is written while
	 * all run. */
	if (rc == ATTACH_DONE && !a->adopted && !write_image(a, out))
		rc = ATTACH_FAILED;
	else if (rc == ATTACH_DONE && !packet_send(a->channel[1], "", 1, r.own))
		rc = ms_err_sys(&out->err, "the memory that the process shares with ms-record "
					   "(memfd) could not be opened")
			     ? ATTACH_FAILED
			     : rc;
	descriptor_close(r.own);
	return rc;
}

int attach_map_near(void *arg, void *shared)
{
	struct attach *a = arg;
	struct attach_shared *out = shared;
	struct remote r = {.err = &out->err, .map = map_near};
	attach_prepare_stop(a);
	return map_stopped(a, out, &r);
}
