/* SPDX-License-Identifier: MIT
 * What the files that draw have in common.
 */
#ifndef TOP_DRAW_PRIVATE_H
#define TOP_DRAW_PRIVATE_H

struct grid;
struct ms_trend;
struct screen_state;

/* Keys, a message, or what is being typed. */
void draw_last_line(struct grid *g, const struct screen_state *st);
/* What a trend says, in a few words. */
const char *draw_verdict(const struct ms_trend *t);

#endif
