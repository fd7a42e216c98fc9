/* SPDX-License-Identifier: MIT
 * The state of ms-top, which the loop, the keys and the plain output share; and what each source of
 * figures must be able to do.
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

/* Says which function runs for the action of a key. */
struct deed {
	enum action act;
	void (*run)(struct app *a, int arg);
	int arg;
};

/* Names the functions of a source of figures: all processes, one of them, or a trace. */
struct subject {
	/* Makes the figures of a frame. 0, or -1 with `err` set. */
	int (*look)(struct app *a, struct ms_err *err);
	/* Work between looks, for at most some 20 ms. 1: there is more; 0: not now; -1 with `err`
	 * set. NULL = there is none. */
	int (*work)(struct app *a, struct ms_err *err);
	void (*draw)(struct app *a, const struct screen_state *st);
	const struct deed *deeds;      /* up to one of ACT_NONE */
	void (*before)(struct app *a); /* each of them; NULL = nothing */
	/* Selects the first row from `from` on that matches; `step` -1: backwards. */
	void (*search)(struct app *a, size_t from, int step);
	/* Writes into `text` what y copies, where that is not the selected row. Returns its length,
	 * 0 = the row. */
	size_t (*copy)(struct app *a, char *text, size_t room);
	void (*sort)(struct app *a, int column); /* NULL = its rows have one order */
	void (*again)(struct app *a); /* rows in another order, or others, of the same look */
};
extern const struct subject subject_system, subject_process, subject_trace;

enum mode { MODE_LIST, MODE_HELP, MODE_COLUMNS, MODE_FILTER, MODE_SEARCH, MODE_QUESTION };

struct app {
	const struct options *opt;
	struct system system;
	bool has_system;
	struct rows rows;
	struct list list, regions; /* of processes; of the inspected one's regions */
	struct process process;
	bool inspecting;           /* `process` is open */
	struct trace *trace;       /* which is in front of both; NULL = none */
	struct serve *serve;       /* of --listen; NULL = none */
	struct recorder *recorder; /* whose trace is not there yet; NULL = none */
	enum mode mode;
	struct column_set columns;
	uint64_t before_groups; /* the process that was selected then, 0 = none */
	bool all;               /* by the key for that; before it there was: */
	bool all_kernel;
	char all_filter[128];
	struct chosen chosen; /* the selected process */
	int column_at;        /* in the choice of columns */
	int help_page, help_pages;
	struct pattern search;
	char before_search[96]; /* its text before what is being typed */
	size_t search_from;     /* the row that was selected when that began */
	struct grid grid;
	char *line; /* of a plain frame */
	size_t line_room;
	struct json_line json;
	struct log log;
	char typed[96];
	uint64_t before_typing; /* the row that was selected then, 0 = nobody chose one */
	char message[256];
	char question[256];                        /* in MODE_QUESTION; and what y does then */
	void (*confirmed)(struct app *a, int arg); /* with 1 */
	uint64_t asked_of;                         /* id of a process */
	bool frozen, quit;
	bool look;  /* before the next frame, whatever the time */
	bool stale; /* the frame, although no key was pressed */
	bool hurry; /* something is going to come soon */
};

int app_open(struct app *a, const struct options *o, struct ms_err *err);
void app_close(struct app *a);
const struct subject *app_subject(const struct app *a);
/* Which of its keys mean something; its rows; what they are filtered by, if they are. */
unsigned app_where(const struct app *a);
struct list *app_list(struct app *a);
struct pattern *app_filter(struct app *a);
/* Answers what is asked of us. In how many ms to do so again; -1 = when somebody asks. */
int app_answer(struct app *a);
/* Work between looks. 1: there is more; 0, or -1 with `err` set. */
int app_work(struct app *a, struct ms_err *err);
/* How long nothing need be done, in ms; -1 = for ever. `again`: of app_answer; `next`: when to look. */
int app_patience(const struct app *a, int busy, int again, uint64_t next);
/* Looks at what is open. 0, or -1 with `err` set. */
int app_look(struct app *a, struct ms_err *err);
void app_draw(struct app *a, int rows, int cols);
/* A key, as term_key gives it. */
void app_key(struct app *a, int code);
/* Chooses the first row from `from` on, round about, that matches; backwards for `step` -1. False:
 * there is none. */
bool app_find(struct app *a, struct list *l, size_t from, int step,
	      bool (*matches)(struct app *a, size_t row));
/* The one of `n` that is `step` places behind `now`, round about. */
int app_next(const int *all, size_t n, int now, int step);
/* Ends; `arg` 0: when a recording that we started would end too, only if that is confirmed. */
void app_quit(struct app *a, int arg);
/* The selected row, or what the subject says, to the terminal's clipboard. */
void app_copy(struct app *a);
/* In the last line until the next key. */
__attribute__((format(printf, 2, 3))) void app_say(struct app *a, const char *fmt, ...);
/* Does it when y is the next key. */
__attribute__((format(printf, 3, 4))) void
app_ask(struct app *a, void (*confirmed)(struct app *a, int arg), const char *fmt, ...);
/* Is anything being recorded that we started? */
bool app_records(const struct app *a);
/* False: it is said why no process can be recorded now. */
bool app_may_record(struct app *a);
/* Begins to record a process... */
void app_record(struct app *a, pid_t pid, const char *name);
/* ... and shows the trace when there is one. */
void app_recording(struct app *a);
