/* SPDX-License-Identifier: MIT
 * Code objects of an interpreter, which arrive in a ring in pieces, and frames that refer to
 * code objects.
 */
#pragma once

#include <stdint.h>

#include "parse_record.h"

struct reader;
struct session;

/* Parses a piece of a code object. Adds the number of words after the record's head to *words.
 * Returns 0, or -1 with the session marked as damaged. */
int parse_code(struct session *s, struct reader *r, const struct record *c, uint64_t *words);
/* Forgets the ring's code objects, because another thread writes the ring from now on. */
void parse_code_forget(struct reader *r);
void parse_code_free(struct reader *r);
/* Returns an interpreter's frame sent by the guest, with the slot of its code object replaced by
 * the code object's number. */
uint64_t parse_code_frame(const struct reader *r, uint64_t ip);
