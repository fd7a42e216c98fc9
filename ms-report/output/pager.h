/* SPDX-License-Identifier: MIT
 * Long text on a terminal, through the pager that the user likes.
 */
#ifndef REPORT_PAGER_H
#define REPORT_PAGER_H

#include <stdbool.h>
#include <stddef.h>

/* Shows `n` bytes of text, which go to a terminal, and waits until the reader has had enough; that
 * it was left early is no error. False when there is no pager, none is needed because the text fits
 * on the screen, or it could not be run: then nothing was shown. */
bool pager_show(const char *text, size_t n);

#endif
