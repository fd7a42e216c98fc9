/* SPDX-License-Identifier: MIT
 * Room diff: a comparison for people.
 *   In:  a page whose model has what ms-diff found (room model, diff.h).
 *   Out: the first screen, and a comment for a pull request.
 *   Used by: cli.
 *
 * A comparison for people: the first screen and a comment for a pull request.
 */
#pragma once

#include <stddef.h>

struct out;
struct page;

void diff_text(struct page *p, struct out *o, size_t limit);
/* Write the hidden line that identifies a comment on a pull request, and the rest of the
 * comment. */
void diff_markdown_key(struct page *p, struct out *o);
void diff_markdown(struct page *p, struct out *o, size_t limit);
