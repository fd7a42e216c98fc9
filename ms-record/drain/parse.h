/* SPDX-License-Identifier: MIT
 * Records of a ring, checked and turned into items of the merge.
 */
#ifndef PARSE_H
#define PARSE_H

#include <stdint.h>

struct session;
struct reader;

/* Reads exactly `bytes` bytes of records at the reader's place. 0, or -1 and the session is marked
 * as damaged. */
int parse_records(struct session *s, struct reader *r, uint64_t bytes);

#endif
