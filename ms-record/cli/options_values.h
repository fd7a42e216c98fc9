/* SPDX-License-Identifier: MIT
 * What the values of ms-record's options mean: each function reads the value `s` of the option of
 * its name into `o`, where strings stay what they are. 0, or -1 with `err` set.
 */
#ifndef OPTIONS_VALUES_H
#define OPTIONS_VALUES_H

#include "ms-record/session/options.h"

int options_follow(struct options *o, const char *s, struct ms_err *err);
int options_overflow(struct options *o, const char *s, struct ms_err *err);
int options_max_size(struct options *o, const char *s, struct ms_err *err);
int options_leak_check(struct options *o, const char *s, struct ms_err *err);
int options_leak_mark(struct options *o, const char *s, struct ms_err *err);
int options_start(struct options *o, const char *s, struct ms_err *err);
int options_env(struct options *o, const char *s, struct ms_err *err);
int options_interval(struct options *o, const char *s, struct ms_err *err);
int options_buffer(struct options *o, const char *s, struct ms_err *err);
int options_sample(struct options *o, const char *s, struct ms_err *err);

/* --keep, and whether it goes with the others. */
int options_keep(struct options *o, const char *arg, struct ms_err *err);
int options_check_keep(const struct options *o, struct ms_err *err);

#endif
