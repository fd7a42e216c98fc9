/* SPDX-License-Identifier: MIT
 * The terminal: reads keys, shows frames, and is restored at every kind of exit.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct grid;
struct ms_err;

/* Codes in addition to characters and ncurses' KEY_*. */
enum {
	TERM_NONE = -1,
	TERM_RESIZED = -2,
	TERM_GONE = -3,
	TERM_WHEEL_UP = -4,
	TERM_WHEEL_DOWN = -5,
	TERM_CLICK = -6
};

/* Opens the terminal. Returns 0, or -1 with `err` set: no terminal, or an unknown one. If standard
 * error is the terminal, output to it is stored, and shown by term_close. */
int term_open(struct ms_err *err);
void term_close(void);
void term_size(int *rows, int *cols);
void term_show(const struct grid *g);
/* Copies text to the terminal's clipboard by OSC 52, at most TERM_COPY_MOST bytes; in base64 these
 * are 74,994 bytes, which all terminals accept. Terminals do not report success. False = the
 * terminal would display the text. */
#define TERM_COPY_MOST 56244u
bool term_copy(const char *text, size_t n);
/* Makes the next term_show redraw everything. */
void term_redraw(void);
/* Returns the position of the latest TERM_CLICK. */
void term_clicked(int *row, int *col);
/* Sets a descriptor whose input also ends the wait in term_key; -1 = none. */
void term_watch(int fd);
/* Waits at most `timeout_ms` for a key. Returns TERM_GONE if the terminal is gone, or a signal
 * requests exit. */
int term_key(int timeout_ms);

/* ---- keys.c ---- */

enum action {
	ACT_NONE,
	ACT_UP,
	ACT_DOWN,
	ACT_PAGE_UP,
	ACT_PAGE_DOWN,
	ACT_FIRST,
	ACT_LAST,
	ACT_ENTER,
	ACT_BACK,
	ACT_VIEW_1,
	ACT_VIEW_2,
	ACT_VIEW_3,
	ACT_VIEW_4,
	ACT_VIEW_5,
	ACT_VIEW_6,
	ACT_NEXT_VIEW,
	ACT_SORT_NEXT,
	ACT_SORT_PREVIOUS,
	ACT_REVERSE,
	ACT_FILTER,
	ACT_SEARCH,
	ACT_SEARCH_NEXT,
	ACT_SEARCH_PREVIOUS,
	ACT_FOLLOW,
	ACT_UNDO,
	ACT_GROUP,
	ACT_COLUMNS,
	ACT_KERNEL,
	ACT_ALL,
	ACT_BASELINE,
	ACT_FREEZE,
	ACT_REFRESH,
	ACT_RECORD,
	ACT_WRITE,
	ACT_SCAN,
	ACT_COPY,
	ACT_EARLIER,
	ACT_LATER,
	ACT_FAR_EARLIER,
	ACT_FAR_LATER,
	ACT_LIVE,
	ACT_HELP,
	ACT_QUIT,
};

/* Bits of the screens in which a key has a meaning. */
enum {
	IN_PROCESSES = 1, /* as a list or a tree */
	IN_GROUPS = 2,
	IN_LIST = IN_PROCESSES | IN_GROUPS,
	IN_PROCESS = 4,
	IN_SITES = 8, /* from here on in the order of enum trace_view */
	IN_TREE = 16,
	IN_THREADS = 32,
	IN_TIMELINE = 64,
	IN_SIZES = 128,
	IN_KEPT = 256,
	IN_TRACE = IN_SITES | IN_TREE | IN_THREADS | IN_TIMELINE | IN_SIZES | IN_KEPT,
	IN_SITE = 512,
	IN_ALL = 1023
};
/* Limits in columns of a key's name and help, so that two keys fit side by side in 80 columns. */
#define KEYS_NAME 8
#define KEYS_HELP 30

struct key {
	int codes[3]; /* codes from the terminal; 0 = unused */
	enum action action;
	unsigned where;
	const char *name, *help; /* help NULL: another row of the same action has it */
	const char *brief;       /* for the last line of the screen; NULL = not shown */
};

extern const struct key keys[];
extern const size_t key_count;

enum action keys_find(int code, unsigned where);
