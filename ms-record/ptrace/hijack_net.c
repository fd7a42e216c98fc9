/* SPDX-License-Identifier: MIT
 * The net under a borrowed thread: frames that restore its state if its tracer dies.
 *
 * The thread executes one `syscall` instruction again and again, with a tracer's stop before and
 * after it. If the tracer dies at any stop, the kernel resumes the thread: after the `syscall` it
 * runs a `ret`, which leads to the C library's return from a signal handler, and that restores the
 * thread's true state from a signal frame that we wrote:
 *
 *   in-use stack | red zone, 128 | vector state | frame of the true state | frame of the copy
 *                ^ sp                           ^ sp of the borrowed      ^ of the copy
 *
 * The copy's frame leads to exit_group: if the copy ever ran, it would end at once.
 *
 * The frames lie below the thread's own stack pointer if it is in a stack with enough room
 * ([stack], or a mapping with a guard page below); the bytes replaced are restored at the end.
 * Otherwise, as for a coroutine in the heap, they lie in memory never used yet: far below [stack],
 * which the kernel lets grow. All signals are blocked meanwhile, so that nothing else uses the
 * stack.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "hijack_private.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/proc/proc.h"
#include "ms-record/base/descriptor.h"
#include "ms-record/guest/layout.h"

#define OUR_IMAGE "/memfd:" MG_IMAGE_NAME
#define RED_ZONE 128u
#define PIECE 262144u
#define TEXT_MAX (UINT64_C(256) << 20) /* bytes of code searched */
#define SPARE 8192u                    /* bytes left free on the stack */
#define BELOW 65536u

/* ---- the instructions ---- */

static void look_for(uint64_t *found, const uint8_t *in, size_t n, uint64_t at,
		     const struct cpu_code *code)
{
	const uint8_t *p = *found ? NULL : memmem(in, n, code->bytes, code->n);
	if (p)
		*found = at + (uint64_t)(p - in);
}

/* Tells whether code in a mapping may be used. The guest image is excluded, because a call might
 * unmap it. */
static bool may_have_code(const struct ms_proc_map *m)
{
	return m->perms[2] == 'x' && strcmp(m->path, "[vsyscall]") != 0 &&
	       strncmp(m->path, OUR_IMAGE, sizeof OUR_IMAGE - 1) != 0;
}

/* Tells whether a mapping holds code generated at run time, which some compilers write through a
 * second mapping of a memory file. */
static bool is_made(const struct ms_proc_map *m)
{
	return m->perms[1] == 'w' || m->path[0] != '/' || !strncmp(m->path, "/memfd:", 7);
}

/* Searches [at, end) for the instructions, until all are found or *left bytes were searched. */
static void search(struct hijack *h, uint64_t at, uint64_t end, uint8_t *room, uint64_t *left)
{
	while (at < end && *left && !(h->call_at && h->return_at)) {
		size_t n = end - at < PIECE ? (size_t)(end - at) : PIECE;
		if (hijack_read(h, at, room, n))
			return;
		look_for(&h->call_at, room, n, at, &cpu_call_code);
		look_for(&h->return_at, room, n, at, &cpu_return_code[0]);
		look_for(&h->return_at, room, n, at, &cpu_return_code[1]);
		*left -= n < *left ? n : *left;
		at += n < PIECE ? n : PIECE - sizeof cpu_return_code->bytes;
	}
}

bool hijack_is_code(const struct hijack *h, uint64_t at, const struct cpu_code *code)
{
	uint8_t now[sizeof code->bytes];
	return at && !hijack_read(h, at, now, code->n) && !memcmp(now, code->bytes, code->n);
}

int hijack_find_code(struct hijack *h)
{
	if (hijack_is_code(h, h->call_at, &cpu_call_code) &&
	    (hijack_is_code(h, h->return_at, &cpu_return_code[0]) ||
	     hijack_is_code(h, h->return_at, &cpu_return_code[1])))
		return 0;
	struct ms_regions r = {0};
	uint64_t left = TEXT_MAX;
	uint8_t *room = ms_xrealloc(NULL, PIECE, 1);
	h->call_at = h->return_at = 0;
	ms_regions_read(&(struct ms_proc){.folder = h->proc}, false, &r);
	/* Code generated at run time is searched last, because it may move and take gigabytes. */
	for (unsigned made = 0; made < 2; made++)
		for (size_t i = 0; i < r.n; i++)
			if (may_have_code(&r.v[i].map) && is_made(&r.v[i].map) == made)
				search(h, r.v[i].map.start, r.v[i].map.end, room, &left);
	ms_regions_free(&r);
	free(room);
	return h->call_at ? 0 : -1;
}

/* ---- where ---- */

struct place {
	uint64_t sp;      /* the thread's stack pointer */
	uint64_t low;     /* low end of the thread's stack; 0 = `sp` is in no stack */
	uint64_t process; /* low end of the mapping named [stack] */
};

static void find_place(const struct hijack *h, struct place *p)
{
	struct ms_regions r = {0};
	ms_regions_read(&(struct ms_proc){.folder = h->proc}, false, &r);
	for (size_t i = 0; i < r.n; i++) {
		const struct ms_proc_map *m = &r.v[i].map, *below = i ? &r.v[i - 1].map : m;
		bool stack = !strcmp(m->path, "[stack]");
		if (stack)
			p->process = m->start;
		if (p->sp < m->start || p->sp >= m->end || m->perms[1] != 'w' || m->perms[3] != 'p')
			continue;
		if (stack)
			p->low = m->start - BELOW; /* the kernel extends the main stack */
		else if (below->end == m->start && !memcmp(below->perms, "--", 2) && !m->path[0])
			p->low = m->start;
	}
	ms_regions_free(&r);
}

/* Holds the arguments of PROCMAP_QUERY (since Linux 6.11), laid out as the kernel expects them. */
struct query {
	uint64_t size, flags, address, start, end, perms, page, offset, inode;
	uint32_t major, minor, name_bytes, id_bytes;
	uint64_t name, id;
};
enum { WRITABLE = 2, SHARED = 8, ANY = 7 };
#define PROCMAP_QUERY _IOWR('f', 17, struct query)

/* Asks for the mapping at `address` and its name. Returns false if there is none or the kernel has
 * no such query. */
static bool query(int maps, uint64_t address, struct query *q, char *name, uint32_t bytes)
{
	*q = (struct query){.size = sizeof *q,
			    .address = address,
			    .name_bytes = bytes,
			    .name = (uintptr_t)name};
	name[0] = '\0';
	return !ioctl(maps, PROCMAP_QUERY, q);
}

/* Finds the stack that holds the thread's stack pointer without reading all maps, which takes long
 * while the thread is stopped. Returns false if it is in no stack. */
static bool ask_place(const struct hijack *h, struct place *p)
{
	struct query at, below;
	char name[PATH_MAX], unused[PATH_MAX];
	int maps = openat(h->proc, "maps", O_RDONLY | O_CLOEXEC);
	bool good = maps >= 0 && query(maps, p->sp, &at, name, sizeof name) &&
		    (at.perms & (WRITABLE | SHARED)) == WRITABLE;
	bool guarded = good && query(maps, at.start - 1, &below, unused, sizeof unused) &&
		       !(below.perms & ANY);
	descriptor_close(maps);
	if (good && !strcmp(name, "[stack]"))
		p->low = at.start - BELOW;
	else if (guarded && !name[0])
		p->low = at.start;
	return p->low;
}

/* ---- what is in it ---- */

uint8_t *hijack_frames_grow(struct hijack_frames *b, size_t bytes, uint64_t align, uint64_t off)
{
	uint64_t at = ((b->at - bytes) & ~(align - 1)) - off;
	if (b->top - at > sizeof b->net->now)
		return NULL;
	b->at = at;
	return b->net->now + sizeof b->net->now - (b->top - at);
}

/* Returns the registers for resuming the thread in user mode: the kernel does not restart an
 * interrupted system call then, so the registers make the thread repeat it. A sleep with a restart
 * block returns EINTR. */
static struct cpu_regs after_call(const struct hijack_call *c)
{
	struct cpu_regs r = c->t->regs;
	if (hijack_repair(&r, c->h->proc, c->t->tid) || r.call < 0)
		return r;
	if (r.result <= -512 && r.result >= -514)
		cpu_regs_again(&r, r.call);
	else if (r.result == -HIJACK_RESTART_BLOCK)
		cpu_regs_again(&r, SYS_restart_syscall);
	return r;
}

/* Builds both signal frames (see cpu_put_frames) and room for arguments. Returns false if there is
 * no space. */
static bool build(struct hijack_call *c, struct hijack_frames *b)
{
	struct cpu_regs r = after_call(c);
	uint8_t *room = cpu_put_frames(c, &r, b) ? hijack_frames_grow(b, HIJACK_ROOM, 16, 0) : NULL;
	if (room)
		memset(room, 0, HIJACK_ROOM);
	c->room = room ? b->at : 0;
	return room;
}

static int spread(struct hijack_call *c, uint64_t top, uint64_t low, bool in_use)
{
	struct hijack_net *n = c->frame;
	struct hijack_frames b = {n, top, top};
	if (!build(c, &b) || b.at < low || b.at > top)
		return -1;
	n->at = b.at;
	n->bytes = (size_t)(top - b.at);
	n->restore = in_use;
	if (in_use && hijack_read(c->h, n->at, n->before, n->bytes))
		return -1;
	return hijack_write(c->h, n->at, n->now + sizeof n->now - n->bytes, n->bytes);
}

int hijack_spread_net(struct hijack_call *c, struct ms_err *err)
{
	struct place p = {.sp = c->t->regs.sp};
	if (!c->h->return_at)
		return ms_err_set(err,
				  "its memory has no code that calls rt_sigreturn, which is needed "
				  "to resume it afterwards");
	if (!ask_place(c->h, &p))
		find_place(c->h, &p);
	c->frame = ms_xcalloc(1, sizeof *c->frame);
	if (p.low && !spread(c, (p.sp - RED_ZONE) & ~UINT64_C(63), p.low + SPARE, true))
		return 0;
	if (p.process > 2 * BELOW && !spread(c, p.process - BELOW, p.process - 2 * BELOW, false))
		return 0;
	free(c->frame);
	c->frame = NULL;
	c->room = 0;
	return ms_err_set(err, "a thread has no room for a signal frame on its stack");
}

void hijack_take_net(struct hijack_call *c)
{
	if (c->frame && c->frame->restore)
		hijack_write(c->h, c->frame->at, c->frame->before, c->frame->bytes);
	free(c->frame);
	c->frame = NULL;
}
