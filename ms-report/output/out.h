/* SPDX-License-Identifier: MIT
 * Room output: where a report goes.
 *   In:  bytes.
 *   Out: a file, standard output or a terminal; what the formats are called
 *   Used by: every room that writes.
 *
 * The output of a report: a growing buffer, written to a file descriptor when it is large, or kept
 * for a file that is written as a whole.
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
	int fd;    /* descriptor that receives the text whenever the buffer is large; 0 = none */
	int error; /* errno of the first failed write; all later output is dropped */
	struct ms_json_pretty *pretty; /* formats the JSON written; NULL = no formatting */
};

void out_put(struct out *o, const char *s, size_t n);
void out_str(struct out *o, const char *s);
void out_char(struct out *o, char c);
void out_repeat(struct out *o, const char *s, size_t times);
void out_printf(struct out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Appends a number in decimal. */
void out_number(struct out *o, uint64_t n);
/* Appends a text with HTML entities for characters that are in `which` (any of <>&"@#|), and a
 * backslash before characters that are in `backslashed`. */
void out_escaped(struct out *o, const char *s, const char *which, const char *backslashed);
/* Writes the buffer to fd and empties it. Returns 0, or -1 with `err` set ("cannot write 'NAME':
 * why") if this or any earlier write failed. */
int out_flush(struct out *o, const char *name, struct ms_err *err);
void out_free(struct out *o);
/* Returns a JSON writer that appends to `o`. */
struct ms_json out_json(struct out *o);

/* ---- formats and files of outputs ---- */

enum format {
	FORMAT_TEXT,
	FORMAT_MD,
	FORMAT_JSON,
	FORMAT_CSV,
	FORMAT_HTML,
	FORMAT_SARIF,
	FORMAT_JUNIT,
	FORMAT_GITHUB,
	FORMAT_EXPORT, /* another program's format, see export.h */
};

/* Describes a file format: the suffix of file names, and a text that identifies files written by
 * us. */
struct file_kind {
	const char *ending; /* suffix; NULL = text for people */
	const char *marker; /* text near the start of the file; NULL = none */
};

struct output {
	enum format format;
	const struct export_kind *export; /* set for FORMAT_EXPORT; else NULL */
	struct file_kind file;
	const char *path; /* NULL = standard output */
	const char *name; /* option that requested the output, "json" or "export=pprof"; NULL =
			     none */
	char joint;       /* character between the option and a file name */
	bool standard;    /* standard output was requested, even if it is a terminal */
	bool own_name;    /* file name chosen by us */
};

/* ---- own_name.c ---- */

/* Returns the suffix and the marker of one of our own formats. */
struct file_kind file_kind_of(enum format f);
/* Returns the name of a file in the working folder for an output made of `input` that would
 * otherwise go to a terminal: "run.html" for "/tmp/run.trace"; NULL for text for people. */
const char *own_name(struct ms_arena *a, const char *input, const char *ending);
/* Checks that the file can be written without losing data. If it exists and is not ours, *kept
 * (static) is its backup name FILE~; with `move` it is renamed to that. Returns 0, or -1 with `err`
 * set. */
int own_name_room(const struct output *output, const char **kept, bool move, struct ms_err *err);

/* ---- pager.c ---- */

/* Shows `n` bytes of text in a pager on the terminal and waits until it exits; quitting early is no
 * error. Returns false if nothing was shown, because there is no pager, the text fits on the
 * screen, or the pager could not be run. */
bool pager_show(const char *text, size_t n);
