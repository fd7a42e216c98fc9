/* SPDX-License-Identifier: MIT
 * Code objects of an interpreter, which arrive in a ring in pieces, and frames that refer to
 * code objects.
 */
#pragma once

#include <stdint.h>

#include "parse_record.h"

struct reader;
struct session;

/* Parses a piece of a code object. *words grows by the words behind the record's head. Returns
 * 0, or -1 with the session marked as damaged. */
int parse_code(struct session *s, struct reader *r, const struct record *c, uint64_t *words);
/* Forgets the ring's code objects, because another thread writes the ring from now on. */
void parse_code_forget(struct reader *r);
void parse_code_free(struct reader *r);
/* Returns a frame of the guest with the number of its code object in place of the slot. */
uint64_t parse_code_frame(const struct reader *r, uint64_t ip);
