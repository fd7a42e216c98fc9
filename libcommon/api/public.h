/* SPDX-License-Identifier: MIT
 * Room api: libmemscope, the public library (memscope-read.h is installed).
 *   In:  a trace, or a pid.
 *   Out: its events, stacks and figures; JSON of them.
 *   Used by: other programs, and ms-report for --events. Only the symbols in public.map are
 *            exported.
 *
 * Declarations shared by the files of libmemscope only.
 */
#pragma once

struct ms_err;

/* Copies the message to the caller's buffer of MEMSCOPE_ERROR bytes; `error` may be NULL. */
void ms_public_error(char *error, const struct ms_err *err);
