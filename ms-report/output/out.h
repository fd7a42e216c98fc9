/* SPDX-License-Identifier: MIT
 * Room output: where a report goes.
 *   In:  bytes.
 *   Out: a file, standard output or a terminal; what the formats are called
 *   Used by: every room that writes.
 *
 * Where a report goes: a growing buffer, emptied into a file descriptor or kept for a file written
 * whole.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ms_arena;
struct ms_err;
struct ms_json;
struct ms_json_pretty;

struct out {
	char *v;
	size_t n, cap;
	int fd;    /* where it is emptied whenever it is large; 0 = never */
	int error; /* errno of the first failed write; what comes later is dropped */
	struct ms_json_pretty *pretty; /* lays out the JSON that is written; NULL = nothing does */
};

void out_put(struct out *o, const char *s, size_t n);
void out_str(struct out *o, const char *s);
void out_char(struct out *o, char c);
void out_repeat(struct out *o, const char *s, size_t times);
void out_printf(struct out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A decimal number, exact. */
void out_number(struct out *o, uint64_t n);
/* A text with entities of HTML for those of its characters that stand in `which`, which may have
 * <>&"@#|, and a backslash before those that stand in the other. */
void out_escaped(struct out *o, const char *s, const char *which, const char *backslashed);
/* Empties the buffer into fd. 0, or -1 with `err` set ("cannot write 'NAME': why") if this or any
 * earlier write failed. */
int out_flush(struct out *o, const char *name, struct ms_err *err);
void out_free(struct out *o);
/* A writer of JSON into it. */
struct ms_json out_json(struct out *o);

/* ---- what an output is written as, and where it goes ---- */

enum format {
	FORMAT_TEXT,
	FORMAT_MD,
	FORMAT_JSON,
	FORMAT_CSV,
	FORMAT_HTML,
	FORMAT_SARIF,
	FORMAT_JUNIT,
	FORMAT_GITHUB,
	FORMAT_EXPORT, /* of another program: see export.h */
};

/* How the file of a format is called, and what the beginning of one has that we wrote. */
struct file_kind {
	const char *ending; /* NULL = it is text for people */
	const char *marker; /* NULL = that cannot be told */
};

struct output {
	enum format format;
	const struct export_kind *export; /* of FORMAT_EXPORT; else NULL */
	struct file_kind file;
	const char *path; /* NULL = standard output */
	const char *name; /* of its option, "json", "export=pprof"; NULL = none was given */
	char joint;       /* between that and the name of a file */
	bool standard;    /* standard output was asked for, be it a terminal */
	bool own_name;    /* nobody named the file */
};

/* ---- own_name.c ---- */

/* How files of our own formats are called. */
struct file_kind file_kind_of(enum format f);
/* Returns the file that an output made of `input` goes to instead of a terminal, in the working
 * folder: "run.html" of "/tmp/run.trace"; NULL: it is text for people. */
const char *own_name(struct ms_arena *a, const char *input, const char *ending);
/* Looks whether that file can be written so that nothing is lost: a file that is not ours is to be
 * *kept (static), as FILE~; with `move` it is. 0, or -1 with `err` set. */
int own_name_room(const struct output *output, const char **kept, bool move, struct ms_err *err);

/* ---- pager.c ---- */

/* Shows `n` bytes of text, which go to a terminal, and waits until the reader has had enough; that
 * it was left early is no error. False when there is no pager, none is needed because the text fits
 * on the screen, or it could not be run: then nothing was shown. */
bool pager_show(const char *text, size_t n);
