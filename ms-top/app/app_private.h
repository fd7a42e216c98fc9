/* SPDX-License-Identifier: MIT
 * The state of ms-top, shared by the loop, the keys and the plain output; and the interface of a
 * source of figures.
 */
#pragma once

#include "ms-top/proc/system.h"
#include "ms-top/view/draw.h"
#include "ms-top/cells/grid.h"
#include "ms-top/json/json.h"
#include "ms-top/json/log.h"
#include "ms-top/term/term.h"
#include "options.h"
#include "ms-top/proc/process.h"

struct app;
struct ms_err;
struct recorder;
struct serve;
struct trace;

/* Holds the function that handles an action of a key. */
struct deed {
	enum action act;
	void (*run)(struct app *a, int arg);
	int arg;
};

/* Holds the functions of a source of figures: all processes, one process, or a trace. */
struct subject {
	/* Updates the figures before the screen is drawn. Returns 0, or -1 with `err` set. */
	int (*look)(struct app *a, struct ms_err *err);
	/* Works between updates, for at most about 20 ms. Returns 1 if there is more to do, 0 if
	 * there is nothing now, or -1 with `err` set. NULL = no work. */
	int (*work)(struct app *a, struct ms_err *err);
	void (*draw)(struct app *a, const struct screen_state *st);
	const struct deed *deeds;      /* ends with ACT_NONE */
	void (*before)(struct app *a); /* called before each of `deeds`; NULL = nothing */
	/* Selects the first matching row from `from` on; `step` -1: backwards. */
	void (*search)(struct app *a, size_t from, int step);
	/* Writes the text that key y copies into `text`, and returns its length; 0 = copy the
	 * selected row. */
	size_t (*copy)(struct app *a, char *text, size_t room);
	void (*sort)(struct app *a, int column); /* NULL = the order of rows is fixed */
	void (*again)(struct app *a); /* rebuilds the rows in another order or selection, without
					 new figures */
};
extern const struct subject subject_system, subject_process, subject_trace;

enum mode { MODE_LIST, MODE_HELP, MODE_COLUMNS, MODE_FILTER, MODE_SEARCH, MODE_QUESTION };

struct app {
	const struct options *opt;
	struct system system;
	bool has_system;
	struct rows rows;
	struct list list, regions; /* list of processes; regions of the inspected process */
	struct process process;
	bool inspecting;           /* `process` is open */
	struct trace *trace;       /* shown instead of processes; NULL = none */
	struct serve *serve;       /* server of --listen; NULL = not listening */
	struct recorder *recorder; /* recorder whose trace does not exist yet; NULL = none */
	enum mode mode;
	struct column_set columns;
	uint64_t before_groups; /* process selected before groups were shown, 0 = none */
	bool all;               /* key a shows all processes; all_* are the settings to restore */
	bool all_kernel;
	char all_filter[128];
	struct chosen chosen; /* the selected process */
	int column_at;        /* column in the dialog for choosing columns */
	int help_page, help_pages;
	struct pattern search;
	char before_search[96]; /* text of the previous search */
	size_t search_from;     /* row selected when typing began */
	struct grid grid;
	char *line; /* buffer for a line of a screen printed as text */
	size_t line_room;
	struct json_line json;
	struct log log;
	char typed[96];
	uint64_t before_typing; /* id of the row selected when typing began, 0 = none chosen */
	char message[256];
	char question[256];                        /* in MODE_QUESTION; confirmed() runs if y is
						      pressed */
	void (*confirmed)(struct app *a, int arg); /* argument: 1 */
	uint64_t asked_of;                         /* id of the process in question */
	bool frozen, quit;
	bool look;  /* update the figures before the next drawing, even if none is due */
	bool stale; /* the screen must be redrawn even without a key */
	bool hurry; /* new figures are expected soon, so the wait for the next update is short */
};

int app_open(struct app *a, const struct options *o, struct ms_err *err);
void app_close(struct app *a);
const struct subject *app_subject(const struct app *a);
/* Return the set of keys with a meaning now, the list on the screen, and its filter (NULL =
 * none). */
unsigned app_where(const struct app *a);
struct list *app_list(struct app *a);
struct pattern *app_filter(struct app *a);
/* Answers requests. Returns the ms after which to call it again; -1 = when the next request
 * comes. */
int app_answer(struct app *a);
/* Works between updates of the figures. Returns 1 if there is more to do, 0 if there is not, or -1
 * with `err` set. */
int app_work(struct app *a, struct ms_err *err);
/* Returns how long to wait, in ms; -1 = without limit. `again`: from app_answer; `next`: time of
 * the next update. */
int app_patience(const struct app *a, int busy, int again, uint64_t next);
/* Updates all open subjects. Returns 0, or -1 with `err` set. */
int app_look(struct app *a, struct ms_err *err);
void app_draw(struct app *a, int rows, int cols);
/* Handles a key from term_key. */
void app_key(struct app *a, int code);
/* Selects the first matching row from `from` on, cyclically; backwards for `step` -1. False = no
 * match. */
bool app_find(struct app *a, struct list *l, size_t from, int step,
	      bool (*matches)(struct app *a, size_t row));
/* Returns the element of `all` (`n` elements) that is `step` after `now`, cyclically. */
int app_next(const int *all, size_t n, int now, int step);
/* Quits. With `arg` 0, asks for confirmation first if that would also end a recording that we
 * started. */
void app_quit(struct app *a, int arg);
/* Copies the selected row, or the subject's text, to the terminal's clipboard. */
void app_copy(struct app *a);
/* Shows a message in the last line until the next key. */
__attribute__((format(printf, 2, 3))) void app_say(struct app *a, const char *fmt, ...);
/* Asks a question, and calls `confirmed` if the next key is y. */
__attribute__((format(printf, 3, 4))) void
app_ask(struct app *a, void (*confirmed)(struct app *a, int arg), const char *fmt, ...);
/* Tells whether a recording that we started is running. */
bool app_records(const struct app *a);
/* Tells whether a process can be recorded now; if not, shows why. */
bool app_may_record(struct app *a);
/* Starts recording a process. */
void app_record(struct app *a, pid_t pid, const char *name);
/* Shows the trace of the recording that app_record started, when the trace exists. */
void app_recording(struct app *a);
