/* SPDX-License-Identifier: MIT
 * What the files of libmemscope, the public part of this library, share among themselves.
 */
#ifndef MS_PUBLIC_H
#define MS_PUBLIC_H

struct ms_err;

/* Copies the message to the caller's buffer of MEMSCOPE_ERROR bytes, if there is one. */
void ms_public_error(char *error, const struct ms_err *err);

#endif
