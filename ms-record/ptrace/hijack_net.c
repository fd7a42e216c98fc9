/* SPDX-License-Identifier: MIT
 * The net under a borrowed thread.
 *
 * The thread executes one instruction of ours, `syscall`, again and again, with a tracer's stop on
 * either side of it. If the tracer dies at any of them, the kernel lets the thread go on: behind
 * the `syscall` it finds a `ret`, which leads to the C library's return from a signal handler, and
 * that puts back its true state from a signal frame that we wrote:
 *
 *   in-use stack | red zone, 128 | vector state | frame of the true state | frame of the copy
 *                ^ rsp                          ^ sp of the borrowed      ^ of the copy
 *
 * The copy's own frame leads to exit_group: should it ever run, it ends at once.
 *
 * Where: under the thread's own stack if that is one (it lies in [stack], or in a map with a guard
 * below), with enough room; what was there is put back in the end. Else, of a coroutine in the heap
 * for instance, in memory that nobody has used yet: far below [stack], which the kernel lets grow.
 * All signals are blocked meanwhile, so nothing else uses the stack.
 */
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include "hijack_private.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/proc/proc.h"
#include "ms-record/guest/layout.h"

#define OUR_IMAGE "/memfd:" MG_IMAGE_NAME
#define RED_ZONE 128u
#define PIECE 262144u
#define TEXT_MAX (UINT64_C(256) << 20) /* looked through */
#define SPARE 8192u                    /* left free on the stack */
#define BELOW 65536u
#define LEGACY 512u
#define MAGIC1 0x46505853u
#define MAGIC2 0x46505845u
#define KERNEL_CONTEXT (offsetof(ucontext_t, uc_sigmask) + 8)
#define CODE_SEGMENT 0x33u
#define STACK_SEGMENT 0x2bu
#define NO_ALTSTACK 0x7ff0 /* not valid: the one that is set stays */

/* ---- what is mapped ---- */

/* Calls f for every map until it returns true. */
static void each_map(const struct hijack *h,
		     bool (*f)(void *arg, const struct ms_proc_map *m,
			       const struct ms_proc_map *below),
		     void *arg)
{
	const struct ms_proc p = {.folder = h->proc};
	static const struct ms_proc_map none = {.path = ""};
	struct ms_regions r = {0};
	ms_regions_read(&p, false, &r);
	for (size_t i = 0; i < r.n; i++)
		if (f(arg, &r.v[i].map, i ? &r.v[i - 1].map : &none))
			break;
	ms_regions_free(&r);
}

/* ---- the instructions ---- */

static const uint8_t call_code[] = {0x0f, 0x05, 0xc3}; /* syscall; ret */
/* mov $15, %rax (or %eax); syscall */
static const uint8_t return_long[] = {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};
static const uint8_t return_short[] = {0xb8, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};

struct search {
	struct hijack *h;
	uint64_t looked_at;
	uint8_t *room;
};

static void look_for(uint64_t *found, const uint8_t *in, size_t n, uint64_t at, const uint8_t *code,
		     size_t bytes)
{
	const uint8_t *p = *found ? NULL : memmem(in, n, code, bytes);
	if (p)
		*found = at + (uint64_t)(p - in);
}

static bool search_map(void *arg, const struct ms_proc_map *m, const struct ms_proc_map *below)
{
	struct search *s = arg;
	(void)below;
	/* What is ours is taken away by such a call, perhaps. */
	if (m->perms[2] != 'x' || !strcmp(m->path, "[vsyscall]") ||
	    !strncmp(m->path, OUR_IMAGE, sizeof OUR_IMAGE - 1))
		return false;
	for (uint64_t at = m->start; at < m->end && s->looked_at < TEXT_MAX;) {
		uint64_t left = m->end - at;
		size_t n = left < PIECE ? (size_t)left : PIECE;
		if (hijack_read(s->h, at, s->room, n))
			return false;
		look_for(&s->h->call_at, s->room, n, at, call_code, sizeof call_code);
		look_for(&s->h->return_at, s->room, n, at, return_long, sizeof return_long);
		look_for(&s->h->return_at, s->room, n, at, return_short, sizeof return_short);
		if (s->h->call_at && s->h->return_at)
			return true;
		s->looked_at += n;
		at += n < PIECE ? n : PIECE - sizeof return_long;
	}
	return false;
}

static bool still_there(const struct hijack *h)
{
	uint8_t b[sizeof return_long];
	if (!h->call_at || hijack_read(h, h->call_at, b, sizeof call_code) ||
	    memcmp(b, call_code, sizeof call_code) != 0)
		return false;
	return h->return_at && !hijack_read(h, h->return_at, b, sizeof b) &&
	       (!memcmp(b, return_long, sizeof return_long) ||
		!memcmp(b, return_short, sizeof return_short));
}

int hijack_find_code(struct hijack *h)
{
	if (still_there(h))
		return 0;
	struct search s = {.h = h, .room = ms_xrealloc(NULL, PIECE, 1)};
	h->call_at = h->return_at = 0;
	each_map(h, search_map, &s);
	free(s.room);
	return h->call_at ? 0 : -1;
}

/* ---- where ---- */

struct place {
	uint64_t sp;      /* of the thread */
	uint64_t low;     /* of its stack; 0 = it is none */
	uint64_t process; /* low end of [stack] */
};

static bool find_place(void *arg, const struct ms_proc_map *m, const struct ms_proc_map *below)
{
	struct place *p = arg;
	bool stack = !strcmp(m->path, "[stack]");
	bool guarded = below->end == m->start && below->perms[0] == '-' && below->perms[1] == '-';
	if (stack)
		p->process = m->start;
	if (p->sp < m->start || p->sp >= m->end || m->perms[1] != 'w' || m->perms[3] != 'p')
		return false;
	if (stack)
		p->low = m->start - BELOW; /* it grows */
	else if (guarded && !m->path[0])
		p->low = m->start;
	return false;
}

/* As PROCMAP_QUERY has it (Linux 6.11). */
struct query {
	uint64_t size, flags, address, start, end, perms, page, offset, inode;
	uint32_t major, minor, name_bytes, id_bytes;
	uint64_t name, id;
};
enum { WRITABLE = 2, SHARED = 8, ANY = 7 };
#define PROCMAP_QUERY _IOWR('f', 17, struct query)

/* The map at `address`, and its name. */
static bool query(int maps, uint64_t address, struct query *q, char *name, uint32_t bytes)
{
	*q = (struct query){.size = sizeof *q,
			    .address = address,
			    .name_bytes = bytes,
			    .name = (uintptr_t)name};
	name[0] = '\0';
	return !ioctl(maps, PROCMAP_QUERY, q);
}

/* Where it is without reading all maps, which takes long while the thread stands still: if its
 * stack pointer lies in a stack. */
static bool ask_place(const struct hijack *h, struct place *p)
{
	struct query at, below;
	char name[PATH_MAX], unused[PATH_MAX];
	int maps = openat(h->proc, "maps", O_RDONLY | O_CLOEXEC);
	bool good = maps >= 0 && query(maps, p->sp, &at, name, sizeof name) &&
		    (at.perms & (WRITABLE | SHARED)) == WRITABLE;
	bool guarded = good && query(maps, at.start - 1, &below, unused, sizeof unused) &&
		       !(below.perms & ANY);
	if (maps >= 0)
		close(maps);
	if (good && !strcmp(name, "[stack]"))
		p->low = at.start - BELOW;
	else if (guarded && !name[0])
		p->low = at.start;
	return p->low;
}

/* ---- what is in it ---- */

struct builder {
	struct hijack_net *net;
	uint64_t top, at; /* [at, top) is in net->now */
};

/* Room for `bytes` lower down, at a multiple of `align` less `off`. */
static uint8_t *grow(struct builder *b, size_t bytes, uint64_t align, uint64_t off)
{
	uint64_t at = ((b->at - bytes) & ~(align - 1)) - off;
	if (b->top - at > sizeof b->net->now)
		return NULL;
	b->at = at;
	return b->net->now + sizeof b->net->now - (b->top - at);
}

/* The vector state, as a signal frame has it. Its address, or 0. */
static uint64_t put_vectors(struct builder *b, pid_t tid)
{
	static const uint32_t one = MAGIC1, two = MAGIC2;
	uint8_t room[sizeof b->net->now / 2];
	struct iovec v = {room, sizeof room};
	if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_X86_XSTATE, &v) || v.iov_len < LEGACY + 64 ||
	    v.iov_len == sizeof room)
		return 0;
	uint8_t *to = grow(b, v.iov_len + sizeof two, 64, 0);
	if (!to)
		return 0;
	uint32_t bytes = (uint32_t)v.iov_len, all = bytes + sizeof two;
	memcpy(to, room, bytes);
	memset(to + 464, 0, 48);
	memcpy(to + 464, &one, 4);
	memcpy(to + 468, &all, 4);
	memcpy(to + 472, room + 464, 8); /* which parts there are */
	memcpy(to + 480, &bytes, 4);
	memcpy(to + bytes, &two, 4);
	return b->at;
}

/* A frame; its address, or 0. */
static uint64_t put_frame(struct builder *b, uint64_t return_at, const ucontext_t *u)
{
	uint8_t *to = grow(b, KERNEL_CONTEXT + 8, 16, 8);
	if (!to)
		return 0;
	memcpy(to, &return_at, 8);
	memcpy(to + 8, u, KERNEL_CONTEXT);
	return b->at;
}

/* Registers as they are to be when the thread goes on in user mode: the kernel itself will not look
 * at a system call that was broken off. Sleeps with a restart block return EINTR. */
static struct user_regs_struct after_call(const struct hijack_call *c)
{
	struct user_regs_struct r = c->t->regs;
	int64_t rax = (int64_t)r.rax;
	if (hijack_repair(&r, c->h->proc, c->t->tid) || (int64_t)r.orig_rax < 0)
		return r;
	if (rax <= -512 && rax >= -514) {
		r.rax = r.orig_rax;
		r.rip -= 2;
	} else if (rax == -516) {
		r.rax = SYS_restart_syscall;
		r.rip -= 2;
	}
	return r;
}

static void set_context(ucontext_t *u, const struct user_regs_struct *r, uint64_t vectors,
			uint64_t mask)
{
	greg_t *g = u->uc_mcontext.gregs;
	memset(u, 0, sizeof *u);
	u->uc_flags = 7; /* vector state, and the stack segment as it is */
	u->uc_stack.ss_flags = NO_ALTSTACK;
	const unsigned long long general[][2] = {
		{REG_R8, r->r8},   {REG_R9, r->r9},     {REG_R10, r->r10}, {REG_R11, r->r11},
		{REG_R12, r->r12}, {REG_R13, r->r13},   {REG_R14, r->r14}, {REG_R15, r->r15},
		{REG_RDI, r->rdi}, {REG_RSI, r->rsi},   {REG_RBP, r->rbp}, {REG_RBX, r->rbx},
		{REG_RDX, r->rdx}, {REG_RAX, r->rax},   {REG_RCX, r->rcx}, {REG_RSP, r->rsp},
		{REG_RIP, r->rip}, {REG_EFL, r->eflags}};
	for (size_t i = 0; i < sizeof general / sizeof *general; i++)
		g[general[i][0]] = (greg_t)general[i][1];
	g[REG_CSGSFS] = (greg_t)((r->cs & 0xffff) | (r->ss & 0xffff) << 48);
	u->uc_mcontext.fpregs = (fpregset_t)(uintptr_t)vectors;
	memcpy(&u->uc_sigmask, &mask, 8);
}

/* Both frames, and room for arguments. False: they do not fit. */
static bool build(struct hijack_call *c, struct builder *b)
{
	ucontext_t u;
	struct user_regs_struct r = after_call(c);
	uint64_t vectors = put_vectors(b, c->t->tid);
	set_context(&u, &r, vectors, c->mask);
	c->sp = vectors ? put_frame(b, c->h->return_at, &u) : 0;
	struct user_regs_struct end = {.rax = SYS_exit_group,
				       .rip = c->call_at,
				       .rsp = c->sp,
				       .eflags = 0x202,
				       .cs = CODE_SEGMENT,
				       .ss = STACK_SEGMENT};
	set_context(&u, &end, 0, UINT64_MAX);
	c->copy_sp = c->sp ? put_frame(b, c->h->return_at, &u) : 0;
	uint8_t *room = c->copy_sp ? grow(b, HIJACK_ROOM, 16, 0) : NULL;
	if (room)
		memset(room, 0, HIJACK_ROOM);
	c->room = room ? b->at : 0;
	return room;
}

static int spread(struct hijack_call *c, uint64_t top, uint64_t low, bool in_use)
{
	struct hijack_net *n = c->frame;
	struct builder b = {n, top, top};
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
	struct place p = {.sp = c->t->regs.rsp};
	if (!c->h->return_at)
		return ms_err_set(err, "no return from a signal handler was found in its memory");
	if (!ask_place(c->h, &p))
		each_map(c->h, find_place, &p);
	c->frame = ms_xcalloc(1, sizeof *c->frame);
	if (p.low && !spread(c, (p.sp - RED_ZONE) & ~UINT64_C(63), p.low + SPARE, true))
		return 0;
	if (p.process > 2 * BELOW && !spread(c, p.process - BELOW, p.process - 2 * BELOW, false))
		return 0;
	free(c->frame);
	c->frame = NULL;
	c->room = 0;
	return ms_err_set(err, "there is no room for a signal frame under its stack");
}

void hijack_take_net(struct hijack_call *c)
{
	if (c->frame && c->frame->restore)
		hijack_write(c->h, c->frame->at, c->frame->before, c->frame->bytes);
	free(c->frame);
	c->frame = NULL;
}
