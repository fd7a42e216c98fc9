/* SPDX-License-Identifier: MIT
 * Writing a snapshot while keys are answered: what `ms-snap --at POINT -o FILE TRACE` would write.
 */
#ifndef TOP_SAVE_H
#define TOP_SAVE_H

#include <stdbool.h>
#include <stddef.h>

struct save *save_new(void);
/* Waits for what is being written. */
void save_free(struct save *s);
/* Begins. False: one is being written already, or there is no thread to be had. */
bool save_begin(struct save *s, const char *trace, const char *point);
/* True once after each: `text` says what came of it. */
bool save_ended(struct save *s, char *text, size_t room);

#endif
