/* SPDX-License-Identifier: MIT
 * Interpreters whose frames the guest reads (guest/python.c): where one is in a process, and what
 * its code objects are called.
 *
 * A source file is a module of the trace, with a list of functions; a frame in it is a function and
 * a line.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "format/stacks.h"
#include "ms-record/guest/layout.h"

struct attach_map;
struct interpreter;
struct modules;

/* Is the file that begins at that mapping an interpreter? The guest is told of the first one that it
 * can read; of any other, and of one that a forked child has by itself, it is noted what it is: its
 * family's guests are told once, of addresses that are right for all. `map` is one of those last read. */
void interpreter_look(struct modules *all, const struct attach_map *map);
/* Notes an interpreter by the name of a file that was closed before it could be looked at. */
void interpreter_missed(struct modules *all, const char *path);
/* Looks at all mappings last read, as interpreter_look does at one. */
void interpreter_find(struct modules *all);
/* Returns the name of an interpreter whose frames cannot be read, "Python 3.9"; NULL = there is
 * none. */
const char *interpreter_unknown(const struct modules *all);

struct interpreter_text {
	const uint8_t *bytes;
	size_t n;
	unsigned width; /* bytes of a character, 1, 2 or 4 */
};
struct interpreter_code {
	struct interpreter_text part[3]; /* by enum mg_code_part */
	uint32_t first_line;
};

/* Code that is of the same content has the same number, from 1; 0 = there are too many. */
#define INTERPRETER_CODES_MOST (1u << 22)
uint32_t interpreter_add_code(struct modules *all, const struct interpreter_code *c);
/* The frame at an instruction of that code, as the guest numbers them. */
struct ms_frame interpreter_frame(struct modules *all, uint32_t code, uint32_t instruction);
void interpreter_free(struct interpreter *i);

/* The line of an instruction, from 0, by CPython's table of lines; 0 = none. */
uint32_t interpreter_line(enum mg_code_lines how, const uint8_t *table, size_t n,
			  uint32_t first_line, uint32_t instruction);
