/* SPDX-License-Identifier: MIT
 * The arguments of conditions: sizes, spans, regular expressions and the rest.
 */
#ifndef ARGUMENTS_H
#define ARGUMENTS_H

struct condition;
struct ms_arena;
struct ms_err;
struct options;

/* Takes over `arg` of the option `name`, whose subject is set; NULL for an option without one. 0,
 * or -1 with `err` set. */
int argument_set(struct condition *c, const char *name, const char *arg, struct ms_arena *a,
		 struct ms_err *err);
void argument_free(struct condition *c);
/* A minimum above the maximum is met by nothing. 0, or -1 with `err` set. */
int arguments_check(const struct options *o, struct ms_err *err);

#endif
