/* SPDX-License-Identifier: MIT
 * Plays the guest, as recorder.c does, and checks the stacks of the trace that comes out: deep
 * ones, those of modules that come and go, and copies.
 */
#include <elf.h>
#include <execinfo.h>
#include <link.h>

#include "recorder_play.h"

static void test_depth(void)
{
	uint64_t w[4 + 40] = {0};
	start("deep stacks");
	opt.depth = 8;
	struct ring *a = take(0, (uint32_t)getpid());
	drain_add(&drain, s);
	for (unsigned i = 0; i < 40; i++)
		w[4 + i] = 0x1000 + i; /* outermost first */
	w[0] = word0(MG_ALLOC, MG_F_STACK, 40, 0);
	w[1] = base + 1, w[2] = 0x10, w[3] = 1;
	put(a, w, 44);
	put(a, (uint64_t[]){word0(MG_ALLOC, MG_F_STACK, 1, 39), base + 2, 0x20, 1, 0x9999}, 5);
	put(a, (uint64_t[]){word0(MG_ALLOC, MG_F_STACK | MG_F_TRUNCATED, 0, 3), base + 3, 0x30, 1},
	    4);
	put(a, (uint64_t[]){word0(MG_ALLOC, MG_F_NOT_TAKEN, 0, 0), base + 4, 0x40, 1}, 4);
	put(a,
	    (uint64_t[]){word0(MG_ALLOC, MG_F_STACK, 1, 3), base + 5, 0x50, 1,
			 0x7000 | MG_EXACT_IP},
	    5);
	let_go(a);
	finish();
	opt.depth = 512;
	read_trace();
	struct ms_frame f[64];
	CHECK("stacks cut", end_fields[MS_END_STACKS_CUT], 2);
	CHECK("stacks truncated", end_fields[MS_END_STACKS_TRUNCATED], 1);
	CHECK("stacks not taken", end_fields[MS_END_STACKS_NOT_TAKEN], 1);
	CHECK("frames of the first", stack_of(events[0].stack, f, 64), 9);
	CHECK("innermost", f[0].address, 0x1000 + 39);
	CHECK("leaf part", f[3].address, 0x1000 + 36);
	CHECK("cut", f[4].flags, MS_FRAME_CUT);
	CHECK("root part", f[5].address, 0x1003);
	CHECK("outermost", f[8].address, 0x1000);
	CHECK("frames of the second", stack_of(events[1].stack, f, 64), 9);
	CHECK("its innermost", f[0].address, 0x9999);
	CHECK("its next", f[1].address, 0x1000 + 38);
	CHECK("frames of the third", stack_of(events[2].stack, f, 64), 4);
	CHECK("its end", f[3].flags, MS_FRAME_TRUNCATED);
	CHECK("frames of the fourth", stack_of(events[3].stack, f, 64), 1);
	CHECK("its only", f[0].flags, MS_FRAME_NOT_TAKEN);
	CHECK("frames of the fifth", stack_of(events[4].stack, f, 64), 4);
	CHECK("an exact address", f[0].flags, MS_FRAME_EXACT);
}

static void put_whole(struct ring *a, unsigned at, uint32_t place, uint32_t flags, unsigned count,
		      uint64_t first)
{
	uint64_t w[4 + 40] = {word0(MG_ALLOC_WHOLE, MG_F_STACK | flags, count, place), base + at,
			      at * 16, 1};
	for (unsigned i = 0; i < count; i++)
		w[4 + i] = first + i;
	put(a, w, 4 + count);
}

/* Whole stacks stand at places, and are told by them. */
static void test_whole(void)
{
	static const struct {
		unsigned frames;
		uint64_t innermost;
	} want[] = {{2, 0x1001}, {3, 0x9999}, {2, 0x1001}, {3, 0x9999}, {2, 0x2000}, {9, 0x3013},
		    {2, 0x2000}, {9, 0x3013}, {2, 0x1001}, {1, 0x4000}, {1, 0x4000}};
	start("whole stacks");
	opt.depth = 8;
	struct ring *a = take(0, (uint32_t)getpid());
	drain_add(&drain, s);
	put_whole(a, 1, 5, 0, 2, 0x1000);
	put(a, (uint64_t[]){word0(MG_ALLOC, MG_F_STACK, 1, 2), base + 2, 0x20, 1, 0x9999}, 5);
	put_whole(a, 3, 5, 0, 0, 0);
	put(a, (uint64_t[]){word0(MG_ALLOC, MG_F_STACK, 0, 3), base + 4, 0x40, 1},
	    4); /* as before that */
	put_whole(a, 5, 0, MG_F_TRUNCATED, 1, 0x2000);
	put_whole(a, 6, MG_WHOLES - 1, 0, 20, 0x3000);
	put_whole(a, 7, 0, 0, 0, 0);
	put_whole(a, 8, MG_WHOLES - 1, 0, 0, 0);
	put_whole(a, 9, 5, 0, 0, 0);
	put_whole(a, 10, 5, 0, 1, 0x4000); /* in its place */
	put_whole(a, 11, 5, 0, 0, 0);
	let_go(a);
	finish();
	opt.depth = 512;
	read_trace();
	CHECK("events", event_count, 11);
	CHECK("stacks cut", end_fields[MS_END_STACKS_CUT], 2);
	CHECK("stacks truncated", end_fields[MS_END_STACKS_TRUNCATED], 2);
	for (size_t i = 0; i < sizeof want / sizeof *want && i < event_count; i++) {
		struct ms_frame f[64];
		CHECK("frames", stack_of(events[i].stack, f, 64), want[i].frames);
		CHECK("innermost", f[0].address, want[i].innermost);
	}
}

static void test_unknown_whole(void)
{
	for (uint32_t place = 0; place < 2; place++) {
		start("a stack that stands nowhere");
		struct ring *a = take(0, (uint32_t)getpid());
		put_whole(a, 1, 3, 0, 1, 0x1000);
		put_whole(a, 2, place ? MG_WHOLES : 4, 0, 0, 0);
		let_go(a);
		drain_add(&drain, s);
		finish();
		read_trace();
		CHECK("events before", event_count, 1);
		CHECK("noticed", damaged, 1);
	}
}

static void add_module(uint32_t i, uint64_t start_at, uint32_t epoch)
{
	s->modules.table[i] = (struct mg_module){.start = start_at,
						 .end = start_at + 0x1000,
						 .bias = start_at,
						 .loaded = base + epoch,
						 .epoch_loaded = epoch};
	snprintf(s->modules.table[i].path, sizeof s->modules.table[i].path, "/nowhere/lib%u.so", i);
	__atomic_store_n(&s->mem->module_count, i + 1, __ATOMIC_RELEASE);
}

static void test_epochs(void)
{
	start("a module at a reused address");
	struct ring *a = take(0, (uint32_t)getpid()), *b = take(1, (uint32_t)getpid());
	add_module(0, 0x7000000, 0);
	drain_add(&drain, s);
	put(a, (uint64_t[]){word0(MG_ALLOC, MG_F_STACK, 1, 0), base + 1, 0x10, 1, 0x7000010}, 5);
	usleep(30000);
	__atomic_store_n(&s->mem->epoch, 1, __ATOMIC_RELEASE);
	s->modules.table[0].epoch_closed = 1;
	__atomic_store_n(&s->modules.table[0].closed, base + 2, __ATOMIC_RELEASE);
	__atomic_store_n(&s->mem->epoch, 2, __ATOMIC_RELEASE);
	add_module(1, 0x7000000, 2);
	put(a, (uint64_t[]){word0(MG_EPOCH, 0, 0, 0), base + 3, 2}, 3);
	put(a, (uint64_t[]){word0(MG_ALLOC, MG_F_STACK, 1, 0), base + 4, 0x20, 1, 0x7000010}, 5);
	usleep(30000); /* the other thread has not seen the new epoch yet */
	put(b, (uint64_t[]){word0(MG_ALLOC, MG_F_STACK, 1, 0), base + 5, 0x30, 1, 0x7000020}, 5);
	let_go(a);
	let_go(b);
	finish();
	read_trace();
	struct ms_frame f[2];
	CHECK("frames", stack_of(events[0].stack, f, 2), 1);
	CHECK("module before", f[0].module, 1);
	CHECK("frames", stack_of(events[1].stack, f, 2), 1);
	CHECK("module after", f[0].module, 2);
	CHECK("frames", stack_of(events[2].stack, f, 2), 1);
	CHECK("module of a thread that is behind", f[0].module, 1);
}

/* The recorder comes late: at the module's address there is another by now. */
static void test_gone(void)
{
	start("a module that went before it was seen");
	struct ring *a = take(0, (uint32_t)getpid());
	uint64_t here = (uintptr_t)test_gone & ~UINT64_C(4095);
	add_module(0, here, 0);
	s->modules.table[0].closed = base + 2;
	drain_add(&drain, s);
	alloc(a, 1, 0x10, 1);
	let_go(a);
	finish();
	read_trace();
	CHECK("its name is the guest's", strcmp(module_path, "/nowhere/lib0.so"), 0);
}

/* ---- stacks sent as registers and a copy ---- */

static __attribute__((noinline, no_sanitize("address"))) uint64_t peek(uint64_t address)
{
	return *(volatile const uint64_t *)(uintptr_t)address;
}

static int add_own_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct mg_module m = {.start = UINT64_MAX, .bias = info->dlpi_addr, .loaded = base};
	uint32_t n = s->mem->module_count;
	(void)size, (void)arg;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t low = info->dlpi_addr + p->p_vaddr;
		if (p->p_type == PT_LOAD && low < m.start)
			m.start = low & ~UINT64_C(4095);
		if (p->p_type == PT_LOAD && low + p->p_memsz > m.end)
			m.end = low + p->p_memsz;
		if (p->p_type == PT_GNU_EH_FRAME) {
			m.eh_frame_hdr = low;
			m.eh_frame_hdr_bytes = p->p_memsz;
		}
	}
	s->modules.table[n] = m;
	__atomic_store_n(&s->mem->module_count, n + 1, __ATOMIC_RELEASE);
	return 0;
}

static void *judge[64];
static int judged;

extern void *__libc_stack_end;

/* Sends the stack from here up in parts, as the guest does. */
static __attribute__((noinline)) void send_copy(struct ring *g)
{
	uint64_t w[8 + MG_COPY_REGS + 512], regs[MG_COPY_REGS];
	size_t part = MG_RECORD_FRAMES * 8;
	__asm__ volatile("leaq 0f(%%rip), %%rax\n0:\tmovq %%rax, (%0)\n\tmovq %%rsp, 8(%0)\n\tmovq "
			 "%%rbp, 16(%0)\n\t"
			 "movq %%rbx, 24(%0)\n\tmovq %%r12, 32(%0)\n\tmovq %%r13, 40(%0)\n\tmovq "
			 "%%r14, 48(%0)\n\t"
			 "movq %%r15, 56(%0)"
			 :
			 : "r"(regs)
			 : "rax", "memory");
	judged = backtrace(judge, 64);
	uint64_t sp = regs[MG_REG_SP], end = ((uintptr_t)__libc_stack_end | 4095) + 1;
	for (uint64_t at = 0; sp + at < end; at += part) {
		unsigned n = 4;
		size_t bytes = end - sp - at < part ? end - sp - at : part;
		w[0] = word0(MG_COPY, 0, 0, (unsigned)at);
		w[1] = base + 1, w[2] = sp, w[3] = bytes;
		for (unsigned k = 0; !at && k < MG_COPY_REGS; k++)
			w[n++] = regs[k];
		for (size_t k = 0; k < bytes / 8;
		     k++) /* other frames too: not for the sanitizer to judge */
			w[n++] = peek(sp + at + k * 8);
		put(g, w, n);
	}
	put(g, (uint64_t[]){word0(MG_ALLOC, MG_F_COPIED, 0, 0), base + 2, 0x5000, 9}, 4);
}

static __attribute__((noinline)) void caller(struct ring *g, int depth)
{
	if (depth)
		caller(g, depth - 1);
	else
		send_copy(g);
	__asm__ volatile("");
}

static void test_copy(void)
{
	start("a stack sent as a copy");
	struct ring *a = take(0, (uint32_t)getpid());
	dl_iterate_phdr(add_own_module, NULL);
	drain_add(&drain, s);
	caller(a, 10);
	let_go(a);
	usleep(100000); /* unwound while this process, whose memory it reads, still has it */
	finish();
	read_trace();
	struct ms_frame f[80];
	size_t n = stack_of(events[0].stack, f, 80);
	CHECK("remote unwinds", end_fields[MS_END_REMOTE_UNWINDS], 1);
	/* The two stacks begin at different frames, and a sanitizer puts one of its own on top. */
	int from = 0;
	while (from < judged && (uintptr_t)judge[from] != f[1].address)
		from++;
	CHECK("frames as backtrace has them", (long)n - 1, judged - from);
	for (int i = from; i < judged && (size_t)(i - from + 1) < n; i++)
		CHECK("frame", f[i - from + 1].address, (uintptr_t)judge[i]);
	CHECK("frames", n > 12, 1);
	CHECK("a module is known", f[1].module != 0, 1);
	CHECK("stacks without root", end_fields[MS_END_STACKS_TRUNCATED], 0);
}

int main(void)
{
	static void (*const tests[])(void) = {test_depth,  test_whole, test_unknown_whole,
					      test_epochs, test_gone,  test_copy};
	return run_tests(tests, sizeof tests / sizeof *tests);
}
