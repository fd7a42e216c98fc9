/* SPDX-License-Identifier: MIT
 * Code objects of an interpreter, as a ring brings them in pieces, and frames of them.
 */
#pragma once

#include <stdint.h>

#include "parse_record.h"

struct reader;
struct session;

/* A piece; *words grows by what follows the head. 0, or -1 and the session is marked as damaged. */
int parse_code(struct session *s, struct reader *r, const struct record *c, uint64_t *words);
/* Another thread writes this ring. */
void parse_code_forget(struct reader *r);
void parse_code_free(struct reader *r);
/* A frame as the guest sends it, with the number of its code object instead of that one's slot. */
uint64_t parse_code_frame(const struct reader *r, uint64_t ip);
