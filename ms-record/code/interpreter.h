/* SPDX-License-Identifier: MIT
 * Interpreters whose frames the guest reads (guest/python/python.c): where one is in a process, and what
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

/* Checks whether the file that begins at `map` (one of the mappings last read) is an interpreter.
 * The guest receives the addresses of the first interpreter whose frames it can read. Another
 * interpreter, or one that only a forked child has, is recorded as unreadable: the addresses are
 * set only once, for the program image and all its forked children. */
void interpreter_look(struct modules *all, const struct attach_map *map);
/* Records an interpreter that was recognized only by its file name, because the file was closed
 * before it could be examined. */
void interpreter_missed(struct modules *all, const char *path);
/* Calls interpreter_look for each mapping last read. */
void interpreter_find(struct modules *all);
/* Returns the name of an interpreter whose frames cannot be read, such as "Python 3.9"; NULL =
 * none. */
const char *interpreter_unknown(const struct modules *all);

struct interpreter_text {
	const uint8_t *bytes;
	size_t n;
	unsigned width; /* bytes per character: 1, 2 or 4 */
};
struct interpreter_code {
	struct interpreter_text part[3]; /* indexed by enum mg_code_part */
	uint32_t first_line;
};

/* Returns the number of a code object, from 1; code objects with equal content have equal numbers.
 * 0 = there are too many. */
#define INTERPRETER_CODES_MOST (1u << 22)
uint32_t interpreter_add_code(struct modules *all, const struct interpreter_code *c);
/* Returns the frame for an instruction of code object `code`; `instruction` is numbered as in the
 * guest. */
struct ms_frame interpreter_frame(struct modules *all, uint32_t code, uint32_t instruction);
void interpreter_free(struct interpreter *i);

/* Returns the line of an instruction (counted from 0), from CPython's line table; 0 = none. */
uint32_t interpreter_line(enum mg_code_lines how, const uint8_t *table, size_t n,
			  uint32_t first_line, uint32_t instruction);
