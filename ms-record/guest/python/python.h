/* SPDX-License-Identifier: MIT
 * Declares what the files that read Python's frames share: chains (python.c), code objects
 * (python_code.c).
 */
#pragma once

#include "ms-record/guest/record.h"

#define FRAMES_MOST 1024u
#define LOOPS_MOST 1024u
#define OUT_MOST 6144u
#define RANGES 4u
#define CODE_BYTES 200u
#define NOT_READ 3u /* marks a frame that was not read; no frame can be at this address */
#define OWNED_BY_C 3u
/* maximum number of thread states per thread: the main interpreter's and another's */
#define CURRENT_MOST 2u
#define PARTS 3u
#define STR_WORDS 2u /* number of words compared of a name, or of a file name */

struct frame {
	uint64_t at; /* address; NOT_READ: stands for a chain that could not be read */
	uint64_t code, instruction, previous;
	/* set once sent: what_of(code), to detect another code object at the same address */
	uint64_t what;
	uint32_t loop; /* index, in `ip`, of the C frame that runs this frame */
};

/* Describes a code object that ms-record knows, with data to detect another one that reuses its
 * address. */
struct code {
	uint64_t address, event; /* event: number of the last event that used the code object */
	uint64_t size, line;
	uint64_t object[PARTS], length[PARTS];
	struct mg_slot words[2 * STR_WORDS];
	uint64_t lines, lines_bytes, sum;
};

struct mg_python_stack {
	uint32_t n; /* number of Python frames of the previous stack, outermost first in `frames` */
	uint32_t loops;   /* number of C frames that run Python frames */
	uint32_t scanned; /* number of C frames examined */
	bool skip, restamp;
	uint32_t range; /* index in `ranges` of the mapping looked up last */
	uint64_t event;
	uint64_t
		/* address of the thread state that runs the innermost loop of this event; 0 =
		 * unknown */
		state;
	uint64_t beyond; /* the frame at which the chain read last ended */
	struct mg_range ranges[RANGES];
	uint16_t loop[LOOPS_MOST];
	uint64_t cfa[LOOPS_MOST];
	uint32_t first[LOOPS_MOST]; /* per loop: index in `frames` of its chain's first frame */
	/* per loop: head of its chain (P5); NOT_READ = unknown; 0 = one of `current` */
	uint64_t head[LOOPS_MOST];
	uint64_t current[CURRENT_MOST]; /* current frames of the thread's states (from 3.13 on) */
	uint32_t current_count;
	struct code codes[MG_CODE_SLOTS];
	struct frame frames[FRAMES_MOST];
	struct frame found[FRAMES_MOST]; /* frames of a chain, innermost first */
	uint64_t out[OUT_MOST];
};

/* Holds the interpreter's description, as received from ms-record. */
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

/* python.c: looks up `at` in ms-record's list of mappings, and notes the mapping in `ranges`. */
bool mg_python_find(struct mg_python_stack *p, uint64_t at, uint64_t bytes);

/* Tells whether `bytes` bytes at `at` can be read: P3 in python.c. */
MG_INLINE bool can_read(struct mg_python_stack *p, uint64_t at, uint64_t bytes)
{
	const struct mg_range *r = p->ranges;
	for (uint32_t i = 0; i < RANGES; i++, r++)
		if (at - r->start < r->end - r->start && r->end - at >= bytes)
			return true;
	return mg_python_find(p, at, bytes);
}

/* Returns the code object of a frame that may be read. The lowest two bits of the pointer are
 * flags for reference counting (3.14). */
MG_INLINE uint64_t code_of(uint64_t frame)
{
	return word(frame + mg_py.code) & ~UINT64_C(3);
}

/* Returns a value that differs between code objects; `code` has to be readable. */
MG_INLINE uint64_t what_of(uint64_t code)
{
	return word(code + mg_py.object[MG_CODE_NAME]) ^ word(code + mg_py.object[MG_CODE_LINES]);
}

/* python_code.c: returns the value sent for a frame, made of the slot (table index) of its code
 * object and its instruction; sends the code object first if needed. Returns 0 if it cannot be
 * sent. */
uint64_t mg_python_sent(struct mg_writer *t, struct mg_python_stack *p, const struct frame *f);

/* Reads the chain from frame `at` on into `found`, up to the frame with which its loop was
 * entered. `own`: the loop's own _PyCFrame or frame. Stops earlier if the rest equals frames [k,
 * *end) of the previous stack, and then sets *end to the end of these frames, else to k. Returns
 * the number of frames; -1 = not readable. */
int32_t mg_python_follow(struct mg_python_stack *p, uint64_t own, uint64_t at, uint32_t loop,
			 uint32_t k, uint32_t *end);

/* python_loops.c: distance in bytes from a loop's CFA down to the loop's own _PyCFrame or frame;
 * 0 = unknown. */
extern uint64_t mg_python_below __attribute__((visibility("hidden")));
/* Determines mg_python_below. False = not yet possible. */
bool mg_python_learn(const struct mg_writer *t, struct mg_python_stack *p);
/* Sets the head of each loop's chain of Python frames. */
void mg_python_link(struct mg_python_stack *p);
