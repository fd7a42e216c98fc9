/* SPDX-License-Identifier: MIT
 * What the readers of Python's frames share: chains (python.c) and code objects (python_code.c).
 */
#pragma once

#include "record.h"

#define FRAMES_MOST 1024u
#define LOOPS_MOST 1024u
#define OUT_MOST 6144u
#define RANGES 4u
#define CODE_BYTES 200u
#define NOT_READ 3u /* at no address that a frame could have */
#define OWNED_BY_C 3u
#define CURRENT_MOST 2u /* states of one thread: of the main interpreter and of a further one */
#define PARTS 3u
#define STR_WORDS 2u /* of a name and of a file */

struct frame {
	uint64_t at; /* NOT_READ: it stands for a chain that could not be read */
	uint64_t code, instruction, previous;
	uint64_t what; /* once it is sent: what its code holds, for another may come to lie there */
	uint32_t loop; /* the frame of C that runs it, as an index of `ip` */
};

/* One that ms-record knows, and what tells another one that comes to lie there. */
struct code {
	uint64_t address, event; /* event: in which it was used last */
	uint64_t size, line;
	uint64_t object[PARTS], length[PARTS];
	struct mg_slot words[2 * STR_WORDS];
	uint64_t lines, lines_bytes, sum;
};

struct mg_python_stack {
	uint32_t n;       /* frames of the previous stack, outermost first */
	uint32_t loops;   /* frames of C that run them, */
	uint32_t scanned; /* of so many that were looked at */
	bool skip, restamp;
	uint32_t range; /* the one that was looked up last */
	uint64_t event;
	uint64_t
		state; /* of the thread, that runs the innermost loop of this event; 0 = not known */
	uint64_t beyond; /* the frame at which the chain that was followed last ended */
	struct mg_range ranges[RANGES];
	uint16_t loop[LOOPS_MOST];
	uint64_t cfa[LOOPS_MOST];
	uint32_t first[LOOPS_MOST];     /* of its chain, in `frames` */
	uint64_t head[LOOPS_MOST];      /* P5: of its chain; NOT_READ, or 0 = one of `current` */
	uint64_t current[CURRENT_MOST]; /* frames that the thread's states name (from 3.13) */
	uint32_t current_count;
	struct code codes[MG_CODE_SLOTS];
	struct frame frames[FRAMES_MOST];
	struct frame found[FRAMES_MOST]; /* a chain, innermost first */
	uint64_t out[OUT_MOST];
};

/* The interpreter, as ms-record told of it. */
extern struct mg_python mg_py __attribute__((visibility("hidden")));

MG_INLINE uint64_t word(uint64_t at)
{
	return *(const volatile uint64_t *)at;
}

MG_INLINE uint8_t byte(uint64_t at)
{
	return *(const volatile uint8_t *)at;
}

/* Returns the number of bytes of an interpreter frame that are read. */
MG_INLINE uint64_t mg_python_frame_bytes(void)
{
	return mg_py.instruction + 16u;
}

/* python.c: looks in ms-record's list of mappings, and notes what it found. */
bool mg_python_find(struct mg_python_stack *p, uint64_t at, uint64_t bytes);

/* Can so many bytes be read? P3 in python.c. */
MG_INLINE bool can_read(struct mg_python_stack *p, uint64_t at, uint64_t bytes)
{
	const struct mg_range *r = p->ranges;
	for (uint32_t i = 0; i < RANGES; i++, r++)
		if (at - r->start < r->end - r->start && r->end - at >= bytes)
			return true;
	return mg_python_find(p, at, bytes);
}

/* The code object of a frame that may be read. Two bits say who counts it (3.14). */
MG_INLINE uint64_t code_of(uint64_t frame)
{
	return word(frame + mg_py.code) & ~UINT64_C(3);
}

/* Returns a value that tells code objects apart; `code` has to be readable. */
MG_INLINE uint64_t what_of(uint64_t code)
{
	return word(code + mg_py.object[MG_CODE_NAME]) ^ word(code + mg_py.object[MG_CODE_LINES]);
}

/* python_code.c: what is sent for a frame: its code object's slot and instruction. If need be the code
 * object goes ahead. 0 = it cannot be sent. */
uint64_t mg_python_sent(struct mg_writer *t, struct mg_python_stack *p, const struct frame *f);

/* The chain from frame `at` on into `found`, up to the frame that the loop with that _PyCFrame, or
 * frame of its own, was entered with, or up to where frames [k, *end) of the previous stack go on as
 * they are: *end is behind these, or k. How many; -1 = not to be read. */
int32_t mg_python_follow(struct mg_python_stack *p, uint64_t own, uint64_t at, uint32_t loop,
			 uint32_t k, uint32_t *end);

/* python_loops.c: how far what is the loop's own lies below its CFA; 0 = not known. */
extern uint64_t mg_python_below __attribute__((visibility("hidden")));
/* Finds that out. False = not yet. */
bool mg_python_learn(const struct mg_writer *t, struct mg_python_stack *p);
/* Heads of all chains. */
void mg_python_link(struct mg_python_stack *p);
