/* SPDX-License-Identifier: MIT
 * Names of functions and places for people: escaped, shortened, cut to a width.
 */
#pragma once

#include "libcommon/names/shorten.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct branch;
struct frame;
struct model;
struct ms_arena;
struct process;
struct site;

/* Describes how names are shown. */
struct style {
	bool ascii;      /* only ASCII characters */
	bool full_names; /* names are not shortened or cut */
	bool color;
	size_t width;            /* columns of a line */
	const char *source_root; /* prefix that is removed from files; NULL = the program's working
				    directory */
};

/* Returns `s` as harmless text in one line: control and other invisible characters, and bytes
 * that are not UTF-8, become \xNN or \u{NNNN}; with `ascii`, other characters outside ASCII are
 * replaced. The result cannot control a terminal, and contains no command of a GitHub workflow
 * log. */
const char *name_clean(struct ms_arena *a, const char *s, bool ascii);

/* Cleans a line of source as name_clean does, but keeps what looks like a command of a workflow
 * log. */
const char *name_clean_source(struct ms_arena *a, const char *s);

/* Returns how many columns a cleaned string takes on a terminal. */
size_t name_width(const char *s);
/* Returns a cleaned function name shortened to `width` columns, as ms_name_fit does; whole if it
 * fits. */
const char *name_fit(struct ms_arena *a, const char *s, size_t width, bool ascii);
/* Return a cleaned string cut to `width` columns, with an ellipsis: name_cut cuts off its end,
 * name_cut_start its start. */
const char *name_cut(struct ms_arena *a, const char *s, size_t width, bool ascii);
const char *name_cut_start(struct ms_arena *a, const char *s, size_t width, bool ascii);

/* Returns the language of a frame's source, from its file name's suffix; `kind`: of its module.
 * "(unknown)" = it cannot be determined. */
const char *frame_language(const struct frame *f, const char *kind);

/* Returns a frame's name as recorded: its function, else MODULE+0xADDRESS, else "(unknown)"; or in
 * brackets why frames are missing. */
const char *frame_name(struct ms_arena *a, const struct model *m, const struct frame *f);
/* Returns a frame's name for output: cleaned, and shortened unless full names are requested. */
const char *frame_label(struct ms_arena *a, const struct model *m, const struct frame *f,
			const struct style *st);
/* Returns a frame's place, cleaned: "src/cache.cpp:77" (without the source root, or else the folder
 * of all sources of its module), else "[libz.so.1]", else "". */
const char *frame_place(struct ms_arena *a, const struct model *m, const struct frame *f,
			const struct style *st);

/* Returns "orderd (pid 4117)", cleaned; `pid` is the text before the number, "pid " or "". */
const char *process_label(struct ms_arena *a, const struct process *p, const char *pid, bool ascii);
/* Returns the name of a call-tree branch: its frame's or allocator function's, or process_label of
 * its process. */
const char *branch_label(struct ms_arena *a, const struct model *m, const struct branch *b,
			 const struct style *st, const char *pid);

/* Returns the frame that a site is named after (its user frame, else its innermost one), or NULL if
 * it has no stack. */
const struct frame *site_frame(const struct model *m, const struct site *s);
/* Returns the node of site_frame; for folded sites (recursion.h), the outermost node in the same
 * function, where the recursion begins. */
uint32_t site_entry(const struct model *m, const struct site *s);
/* Returns the frame that was called by the user frame of a site; NULL = it called the allocator
 * itself. */
const struct frame *site_called(const struct model *m, const struct site *s);
/* Returns the frame that called site_entry; NULL = there is none, or it is not user code. */
const struct frame *site_caller(const struct model *m, const struct site *s);

/* Returns the file name of a path. */
const char *base_name(const char *path);
