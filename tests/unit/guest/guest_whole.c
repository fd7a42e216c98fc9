/* SPDX-License-Identifier: MIT
 * Whole stacks that are remembered while sampling: when one is taken from memory and when it is walked,
 * what is sent of it, and that nothing beyond a stack is read. Stacks are made here, and walks are
 * counted.
 */
#include "ms-record/guest/whole.c"

#include <string.h>
#include <sys/mman.h>

#include "tests/unit/is.h"

#define PAGE 4096u
#define FRAMES 64u
#define ROOM 6u /* words between two return addresses */
#define WORDS 4u
#define OFFSET 3u /* of the record, in words */

struct mg_core mg;
static struct mg_session session;
static struct mg_writer t;
static uint64_t ip[FRAMES], slot[FRAMES], window[2 * FRAMES];
static struct mg_frame frame_of[FRAMES];
static struct mg_slot checks[FRAMES];
static struct {
	uint64_t rules[MG_OWN_RULES], index[MG_INDEX / 4];
	union mg_memory memory;
} own;
/* A stack, and a page behind it that cannot be read. */
static uint64_t *stack;
static const size_t stack_words = 2 * PAGE / 8;

/* Says what the next walk finds. */
static struct {
	uint32_t frames,
		checks; /* the last so many have a word that is checked, 2 above their slot */
	bool need, fails, passing; /* passing: nothing may be kept of it */
	unsigned calls, verified;
} walk;

bool mg_unwind(struct mg_writer *w, const uint64_t *frame, uint32_t words)
{
	uint64_t *out = (uint64_t *)(void *)(w->window + w->offset) + words;
	is("no previous stack", w->frames, 0);
	walk.calls++;
	if (walk.fails)
		return false;
	uint32_t n = w->frames = walk.frames, c = 0;
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t *at = frame + 1 + (n - 1 - i) * ROOM;
		w->slot[i] = (uint64_t)at;
		w->ip[i] = out[i] = *at;
		if (i < walk.checks)
			w->checks[c++] = (struct mg_slot){(uint64_t)(at + 2), at[2]};
		w->frame[i] = (struct mg_frame){.checks_to = c};
	}
	w->frame[n - 1].need = walk.need;
	w->keep = 0;
	w->root_flags = MG_F_TRUNCATED;
	w->keepable &= !walk.passing;
	return true;
}

void mg_verify(struct mg_writer *w, const uint64_t *frame, bool cut)
{
	is("of this one", (uint64_t)w, (uint64_t)&t);
	is("its caller", frame[1], w->ip[w->frames - 1]);
	is("cut", cut, true);
	walk.verified++;
}

uint64_t *mg_room_slow(struct mg_writer *w, uint32_t words)
{
	(void)w;
	(void)words;
	return NULL;
}

/* A thread with nothing remembered, on a stack whose words are all different. */
static void begin(void)
{
	memset(&own, 0, sizeof own);
	memset(&mg, 0, sizeof mg);
	memset(&walk, 0, sizeof walk);
	mg.session = &session;
	for (size_t i = 0; i < stack_words; i++)
		stack[i] = 0x400000 + i * 16;
	t = (struct mg_writer){.ip = ip,
			       .slot = slot,
			       .frame = frame_of,
			       .checks = checks,
			       .rules = own.rules,
			       .window = (unsigned char *)window,
			       .offset = OFFSET * 8,
			       .mark = sizeof window,
			       .low = (uint64_t)stack,
			       .high = (uint64_t)(stack + stack_words),
			       .capacity = FRAMES};
	walk.frames = 5;
}

/* Takes the stack of a hook with this frame. Was it walked? */
static bool walks(const uint64_t *frame)
{
	unsigned calls = walk.calls;
	t.keepable = true;
	t.root_flags = 0;
	is("taken", mg_unwind_whole(&t, mg_whole_ahead(&t, frame), frame, WORDS), true);
	is("frames", t.frames, walk.frames);
	is("flags", t.root_flags, MG_F_TRUNCATED);
	for (uint32_t i = 0; i < t.frames; i++) {
		const uint64_t *at = frame + 1 + (t.frames - 1 - i) * ROOM;
		is("where it was", t.slot[i], (uint64_t)at);
		is("an address", t.ip[i], *at);
		if (i >= t.keep)
			is("sent", window[OFFSET + WORDS + i - t.keep], *at);
	}
	return walk.calls != calls;
}

/* From the third time on nothing is walked, until a word that was read is another one. */
static void check_words(void)
{
	uint64_t *frame = stack + 100,
		 *words[] = {frame + 1 + ROOM, frame + 1 + 4 * ROOM, frame + 1 + 3 * ROOM + 2,
			     frame + 1 + 4 * ROOM + 2};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		begin();
		walk.checks = 2;
		is("the first time", walks(frame), true);
		is("the second time", walks(frame), true);
		is("the third time", walks(frame), false);
		is("rules are to be forgotten", t.rules_used, true);
		is("all is kept", t.keep, 5);
		frame[2]++;
		is("a word that nobody read", walks(frame), false);
		(*words[i])++;
		is("one that was read", walks(frame), true);
		is("sent anew", t.keep, 0);
		is("that is remembered", walks(frame), false);
		(*words[i])--;
		is("not the one before", walks(frame), true);
	}
}

static void check_bp(void)
{
	uint64_t *frame = stack + 100;
	for (int need = 0; need < 2; need++) {
		begin();
		walk.need = need;
		walks(frame);
		walks(frame);
		is("the same bp", walks(frame), false);
		frame[0]++;
		is("another bp", walks(frame), need);
	}
}

/* Two stacks in turn: what both have is not sent again. */
static void check_keep(void)
{
	begin();
	uint64_t *inner = stack + 100, *outer, *other;
	do { /* where they are remembered apart */
		outer = ++inner + 2 * ROOM;
		other = inner + 3 * ROOM;
	} while (whole_of(&t, inner) == whole_of(&t, outer) ||
		 whole_of(&t, outer) == whole_of(&t, other) ||
		 whole_of(&t, other) == whole_of(&t, inner));
	for (int i = 0; i < 2; i++) {
		walk.frames = 5;
		walks(inner);
		walk.frames = 3;
		walks(other);
		walks(outer);
	}
	walk.frames = 5;
	is("known", walks(inner), false);
	is("the outer ones are the same", t.keep, 3);
	walk.frames = 3;
	is("known, too", walks(outer), false);
	is("all of it", t.keep, 3);
	is("one with another root", walks(other), false);
	is("none of it", t.keep, 0);
	walks(outer);
	t.slot[1] += 8;
	is("as before", walks(outer), false);
	is("one was elsewhere", t.keep, 1);
	t.mark = 0;
	walk.frames = 5;
	memset(window, 0, sizeof window);
	is("without room", mg_unwind_sampled(&t, inner, WORDS), true);
	is("nothing is written", window[OFFSET + WORDS] | window[OFFSET + WORDS + 1], 0);
	is("it is taken", t.ip[4], inner[1]);
}

/* Checks that a place counts as not sent once another stack stands there. */
static void check_sent(void)
{
	uint64_t *frame = stack + 100;
	begin();
	walks(frame);
	walks(frame);
	struct mg_whole *m = mg_whole_ahead(&t, frame);
	is("it stands there", mg_whole_holds(&t, m, frame), true);
	is("it was not sent", m->sent, 0);
	m->sent = 1;
	is("known", walks(frame), false);
	is("it was sent", m->sent, 1);
	frame[1 + 2 * ROOM]++;
	is("another one", mg_whole_holds(&t, m, frame), false);
	is("walked", walks(frame), true);
	is("that was not sent", m->sent, 0);
}

static void check_never(void)
{
	uint64_t *frame = stack + 100;
	for (int why = 0; why < 6; why++) {
		begin();
		walk.passing = why == 0;
		mg.closing = why == 1;
		walk.frames = why == 2 ? MG_WHOLE_MOST + 1 : MG_WHOLE_MOST;
		walk.checks = why == 3;
		if (why == 4) { /* too many words besides */
			walk.frames = MG_WHOLE_MOST - 10;
			walk.checks = 11;
		}
		if (why == 5) /* its end is too far */
			t.high = (uint64_t)(frame + 2 + UINT16_MAX + 1);
		for (int i = 0; i < 4; i++)
			is("walked", walks(frame), true);
		for (uint32_t i = 0; i < MG_WHOLES; i++)
			is("no word is kept of it", own.memory.wholes[i].words, 0);
	}
	begin();
	walk.frames = MG_WHOLE_MOST;
	walks(frame);
	walks(frame);
	is("as many as there is room for", walks(frame), false);
	t.high = (uint64_t)(frame + 1 + (MG_WHOLE_MOST - 1) * ROOM);
	is("the outermost is beyond the stack's end", walks(frame), true);
	t.high += 8;
	walks(frame);
	is("it is the last word", walks(frame), false);
	mg.verify = true;
	walks(frame);
	is("verified", walk.verified, 1);
	for (uint32_t i = 0; i < MG_WHOLES; i++)
		own.memory.wholes[i].sp = 0;
	is("forgotten", walks(frame), true);
	walk.fails = true;
	is("cannot be walked", mg_unwind_sampled(&t, frame + 8, WORDS), false);
}

/* The thread is on a stack at whose end nothing can be read, and was on one above it: by the rule of
 * the hook's caller the next return address would lie between them. */
static void check_elsewhere(void)
{
	begin();
	uint64_t *frame = stack + 100;
	own.rules[MG_OWN_INDEX(frame[1])] =
		MG_OWN_REST(frame[1]) | (stack_words + 8) << 8 | MG_OWN_WHERE(0);
	is("on its own", whole_of(&t, frame) != NULL, true);
	t.low = t.high + 16 * PAGE;
	t.high = t.low + PAGE;
	for (int i = 0; i < 4; i++)
		is("not remembered", walks(frame), true);
}

int main(void)
{
	stack = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	is("a stack", stack != MAP_FAILED && !mprotect(stack + stack_words, PAGE, PROT_NONE), true);
	check_words();
	check_bp();
	check_keep();
	check_sent();
	check_never();
	check_elsewhere();
	return failures != 0;
}
