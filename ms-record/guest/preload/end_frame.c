/* SPDX-License-Identifier: MIT
 * The preload backend: determines from where the process is ended: the frame that called exit,
 * quick_exit or _exit, or none, if main has returned or a thread's function was the last to return.
 *
 * The frames of exit's own code lie where other frames were before, and hold words of those frames
 * in places that exit's code never writes to; such a word can hide a leak in even the simplest
 * program. So only the stack above exit's frames is searched, and the registers as the calling
 * frame left them, which exit's code has saved. If a step is not a plain one, nothing is noted, and
 * the whole stack is searched.
 */
#include <link.h>

#include "ms-record/guest/core.h"
#include "preload.h"
#include "ms-record/guest/step.h"

#define STEPS 64 /* maximum number of C library frames that a walk passes */

struct range {
	uint64_t start, end;
};
static struct range libc, guest, enders[2];

/* Holds the state of a stack walk and the callee-saved registers of the current frame. */
struct way {
	struct walk walk;
	uint64_t kept[MG_KEPT];
	bool exited; /* the walk passed exit or quick_exit */
};

static bool holds(const struct range *r, uint64_t ip)
{
	return ip - 1 - r->start < r->end - r->start;
}

/* Steps to the caller's frame. Returns false if its unwinding rule is not a simple one. */
static bool leave(struct way *w)
{
	struct mg_unwind_info info;
	int16_t at[MG_KEPT];
	if (!mg.backend.find_unwind_info(w->walk.ip, &info))
		return false;
	uint64_t rule = mg_eh_frame_kept(&info, w->walk.ip, at);
	if (MG_RULE_TYPE(rule) > MG_RULE_DEREF || !step(&w->walk, rule))
		return false;
	for (unsigned i = 0; i < MG_KEPT; i++) {
		uint64_t from = w->walk.sp + (uint64_t)(int64_t)at[i];
		if (at[i] == MG_KEPT_LOST || (at[i] && !is_slot(&w->walk, w->walk.low, from)))
			return false;
		w->kept[i] = at[i] ? load(from) : w->kept[i];
	}
	return true;
}

/* Steps from the guest's function to the caller of the function that ends the process. */
static bool leave_enders(struct way *w)
{
	bool ours = false;
	for (int n = 0; n < STEPS && !w->exited; n++) {
		if (holds(&guest, w->walk.ip))
			ours = true;
		else if (ours) /* _exit */
			return true;
		else if (!holds(&libc, w->walk.ip))
			return false;
		w->exited = holds(&enders[0], w->walk.ip) || holds(&enders[1], w->walk.ip);
		if (!leave(w))
			return false;
	}
	return w->exited;
}

/* Tells whether all frames from the current one to the thread's start are the C library's; if
 * so, `w` is at the start. */
static bool is_over(struct way *w)
{
	int n = 0;
	for (; n < STEPS && holds(&libc, w->walk.ip); n++)
		if (!leave(w))
			return MG_RULE_TYPE(mg_rule_derive(w->walk.ip)) == MG_RULE_END;
	return n && mg.main_entry - w->walk.sp <= 64;
}

/* Returns an entry for this thread: the one that it used before (when a child of vfork exited),
 * or a free one. */
static struct mg_end_frame *place(uint64_t tp)
{
	struct mg_end_frame *v = mg.session->end_frames;
	for (unsigned i = 0; i < MG_END_FRAMES; i++)
		if (__atomic_load_n(&v[i].tp, __ATOMIC_ACQUIRE) == tp)
			return &v[i];
	for (unsigned i = 0; i < MG_END_FRAMES; i++) {
		uint64_t none = 0;
		if (__atomic_compare_exchange_n(&v[i].tp, &none, tp, false, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED))
			return &v[i];
	}
	return NULL;
}

/* Notes the callee-saved registers of w's frame: all of them if the frame called exit, which has
 * saved them as any function does. _exit saves none: registers that the frame itself has changed
 * are not needed any more, and the others belong to frames further out. */
static void note_registers(struct mg_end_frame *f, const struct way *w)
{
	struct mg_unwind_info info;
	int16_t at[MG_KEPT] = {0};
	uint64_t rule = 0;
	if (!w->exited && mg.backend.find_unwind_info(w->walk.ip, &info))
		rule = mg_eh_frame_kept(&info, w->walk.ip, at);
	for (unsigned i = 0; i < MG_KEPT; i++)
		f->regs[i] = at[i] ? 0 : w->kept[i];
	f->regs[MG_KEPT] = MG_RULE_BP(rule) == MG_BP_SAME ? w->walk.bp : 0;
}

struct mg_end_frame *mg_end_frame_note(const uint64_t *frame)
{
	struct mg_range stack;
	struct way w = {.walk = {.ip = frame[1], .sp = MG_FRAME_SP(frame), .bp = frame[0]}};
	if (!mg_own_stack(w.walk.sp, &stack))
		return NULL;
	w.walk.low = w.walk.sp;
	w.walk.high = stack.end;
	for (int i = 0; i < (int)MG_KEPT; i++)
		w.kept[i] = frame[MG_ENTRY_KEPT - i];
	if (!leave_enders(&w))
		return NULL;
	struct way on = w;
	bool over = is_over(&on);
	struct mg_end_frame *f = place(mg_thread_pointer());
	if (!f)
		return NULL;
	if (over)
		w = (struct way){.walk.sp = on.walk.sp, .exited = true};
	note_registers(f, &w);
	__atomic_store_n(&f->sp, w.walk.sp, __ATOMIC_RELEASE);
	return f;
}

static void find_ender(struct range *r, const struct link_map *m, const char *name)
{
	struct mg_symbols y;
	mg_symbols_read(&y, m);
	const Elf64_Sym *s = mg_symbol(&y, name);
	if (s)
		*r = (struct range){m->l_addr + s->st_value, m->l_addr + s->st_value + s->st_size};
}

static void find_module(struct range *r, uint64_t ip)
{
	struct mg_unwind_info info;
	if (mg.backend.find_unwind_info(ip, &info))
		*r = (struct range){info.start, info.end};
}

void mg_end_frame_init(void)
{
	const struct link_map *m = NULL;
	uint64_t in_libc = (uint64_t)mg_next("__cxa_atexit", &m);
	if (!in_libc)
		return;
	find_ender(&enders[0], m, "exit");
	find_ender(&enders[1], m, "quick_exit");
	find_module(&libc, in_libc);
	find_module(&guest, (uint64_t)&mg_end_frame_init);
}
