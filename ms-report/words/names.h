/* SPDX-License-Identifier: MIT
 * Names of functions and places for people: made harmless, shortened, cut to a width.
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

/* How names are shown. */
struct style {
	bool ascii;      /* nothing but ASCII comes out */
	bool full_names; /* nothing is shortened or cut */
	bool color;
	size_t width;            /* columns of a line */
	const char *source_root; /* files below are shown without it; NULL = where it ran */
};

/* `s` as text for a terminal or a line of a file: control and other invisible characters, and bytes
 * that are not UTF-8, become \xNN or \u{NNNN}; with `ascii` other characters outside ASCII are
 * replaced too. The result has one line and nothing that steers a terminal, or that the log of a
 * GitHub workflow takes for a command. */
const char *name_clean(struct ms_arena *a, const char *s, bool ascii);

/* Cleans a line of source as name_clean does a name, but for places that no log reads. */
const char *name_clean_source(struct ms_arena *a, const char *s);

/* Returns how many columns a cleaned string takes on a terminal. */
size_t name_width(const char *s);
/* A cleaned name of a function in `width` columns, as ms_name_fit has it; whole where that fits. */
const char *name_fit(struct ms_arena *a, const char *s, size_t width, bool ascii);
/* Another cleaned string cut to `width` columns, at its end or at its start, with an ellipsis. */
const char *name_cut(struct ms_arena *a, const char *s, size_t width, bool ascii);
const char *name_cut_start(struct ms_arena *a, const char *s, size_t width, bool ascii);

/* Returns the language that a frame's source is written in, by the ending of its name; kind: of its
 * module. "(unknown)" = it has none. */
const char *frame_language(const struct frame *f, const char *kind);

/* Returns the name of a frame, as recorded: its function, else MODULE+0xADDRESS, else "(unknown)",
 * or in brackets why frames are missing. */
const char *frame_name(struct ms_arena *a, const struct model *m, const struct frame *f);
/* Returns the name of a frame for the screen: shortened unless full names are wanted, cleaned. */
const char *frame_label(struct ms_arena *a, const struct model *m, const struct frame *f,
			const struct style *st);
/* Returns where a frame is, cleaned: "src/cache.cpp:77" (without the source root, else without the
 * folder that all sources of its module lie in), else "[libz.so.1]", else "". */
const char *frame_place(struct ms_arena *a, const struct model *m, const struct frame *f,
			const struct style *st);

/* Returns "orderd (pid 4117)", cleaned; `pid` is the word before the number, "pid " or "". */
const char *process_label(struct ms_arena *a, const struct process *p, const char *pid, bool ascii);
/* Returns the name of a branch of a call tree: of its frame, or of a process as process_label
 * does. */
const char *branch_label(struct ms_arena *a, const struct model *m, const struct branch *b,
			 const struct style *st, const char *pid);

/* The frame that a site is named after (its user frame, else its innermost one), or NULL when it
 * has no stack. */
const struct frame *site_frame(const struct model *m, const struct site *s);
/* Its node; of folded sites (recursion.h) the outermost one in the same function, where the recursion
 * begins. */
uint32_t site_entry(const struct model *m, const struct site *s);
/* The frame just inside that one: what the user's function called. NULL = it called the allocator
 * itself. */
const struct frame *site_called(const struct model *m, const struct site *s);
/* The frame that called that node, NULL = none, or not the user's code either. */
const struct frame *site_caller(const struct model *m, const struct site *s);

/* The file name of a path. */
const char *base_name(const char *path);
