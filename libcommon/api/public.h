/* SPDX-License-Identifier: MIT
 * Room api: libmemscope, what other programs may use (memscope-read.h is installed).
 *   In:  a trace, or the number of a process.
 *   Out: its events, stacks and figures; JSON of them.
 *   Used by: programs of others, and ms-report for --events; symbols that public.map names are all
 *   that others see.
 *
 * What the files of libmemscope, the public part of this library, share among themselves.
 */
#pragma once

struct ms_err;

/* Copies the message to the caller's buffer of MEMSCOPE_ERROR bytes, if there is one. */
void ms_public_error(char *error, const struct ms_err *err);
