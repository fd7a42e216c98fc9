/* SPDX-License-Identifier: MIT
 * The loop: reads figures, draws, waits for a key.
 */
#include "app.h"

#include <langinfo.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "app_private.h"
#include "state.h"
#include "ms-top/serve/serve.h"
#include "ms-top/term/term.h"
#include "ms-top/trace/trace.h"
#include "ms-top/view/draw.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/clock.h"
#include "libcommon/base/err.h"
#include "libcommon/base/io.h"

#define WORK_NS 200000000u /* interval of checking for work */
#define HURRY_NS 30000000u

static int open_trace(struct app *a, const struct options *o, struct ms_err *err)
{
	a->trace = trace_open_begun(o->trace, &o->wrappers, err);
	if (!a->trace)
		return -1;
	a->trace->full_names = o->full_names;
	a->trace->sort = (enum site_column)o->site_sort;
	a->trace->reverse = o->reverse;
	a->trace->sort_open = o->sort_open && !o->json;
	a->trace->ties_by_peak = !o->json;
	pattern_set(&a->trace->filter, o->filter);
	return 0;
}

int app_open(struct app *a, const struct options *o, struct ms_err *err)
{
	*a = (struct app){.opt = o, .columns = o->columns};
	a->grid.ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
	a->rows.sort = o->sort;
	a->rows.reverse = o->reverse;
	a->rows.kernel = o->kernel;
	pattern_set(&a->rows.filter, o->filter);
	list_init(&a->list);
	list_init(&a->regions);
	if (log_open(&a->log, o->log, err) != 0)
		return -1;
	if (o->trace && open_trace(a, o, err) != 0)
		return -1;
	if (o->serve.listen && !(a->serve = serve_open(&o->serve, err)))
		return -1;
	if (o->trace)
		return 0;
	if (o->pid) {
		a->inspecting = true;
		return process_open(&a->process, o->root, o->pid, NULL, err);
	}
	a->has_system = true;
	return system_open(&a->system, o->root, err);
}

void app_close(struct app *a)
{
	serve_close(a->serve);
	recorder_stop(a->recorder);
	trace_close(a->trace);
	if (a->has_system)
		system_close(&a->system);
	if (a->inspecting)
		process_close(&a->process);
	rows_free(&a->rows);
	pattern_set(&a->search, "");
	grid_free(&a->grid);
	json_free(&a->json);
	log_close(&a->log);
	free(a->line);
}

const struct subject *app_subject(const struct app *a)
{
	return a->trace ? &subject_trace : a->inspecting ? &subject_process : &subject_system;
}

unsigned app_where(const struct app *a)
{
	if (a->trace)
		return a->trace->in_site ? IN_SITE : (unsigned)IN_SITES << a->trace->view;
	if (a->inspecting)
		return IN_PROCESS;
	return a->rows.view == ROWS_GROUPS ? IN_GROUPS : IN_PROCESSES;
}

struct list *app_list(struct app *a)
{
	struct trace *t = a->trace;
	if (t)
		return t->in_site ? &t->frames : &t->lists[t->view];
	return a->inspecting ? &a->regions : &a->list;
}

struct pattern *app_filter(struct app *a)
{
	return a->trace ? &a->trace->filter : &a->rows.filter;
}

/* Writes the figures of processes to the log. Figures of a trace are not logged, since the trace
 * itself has them. */
static void write_log(struct app *a)
{
	struct ms_err err = {0};
	if (!a->log.path)
		return;
	if (a->has_system) {
		json_system(&a->json, &a->system, &a->rows);
		log_add(&a->log, &a->json, &err);
	}
	if (a->inspecting) {
		json_process(&a->json, &a->process);
		log_add(&a->log, &a->json, &err);
	}
	if (err.text[0] && a->opt->batch)
		ms_cli_remark(&a->opt->cli, "%s", err.text);
	else if (err.text[0])
		app_say(a, "%.250s", err.text);
}

int app_look(struct app *a, struct ms_err *err)
{
	/* processes that the screen does not show are updated too, for their histories */
	if (a->has_system && subject_system.look(a, err) != 0)
		return -1;
	if (a->inspecting && subject_process.look(a, err) != 0)
		return -1;
	write_log(a);
	return a->trace ? subject_trace.look(a, err) : 0;
}

void app_say(struct app *a, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(a->message, sizeof a->message, fmt, ap);
	va_end(ap);
}

void app_ask(struct app *a, void (*confirmed)(struct app *a, int arg), const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(a->question, sizeof a->question, fmt, ap);
	va_end(ap);
	a->confirmed = confirmed;
	a->mode = MODE_QUESTION;
}

void app_draw(struct app *a, int rows, int cols)
{
	const struct subject *s = app_subject(a);
	struct screen_state st = {.columns = &a->columns,
				  .list = app_list(a),
				  .message = a->message[0] ? a->message : NULL,
				  .frozen = a->frozen,
				  .where = app_where(a),
				  .delay_s = (double)a->opt->delay_ns / 1e9};
	grid_begin(&a->grid, rows, cols);
	if (a->mode == MODE_HELP) {
		a->help_pages = draw_help(&a->grid, app_where(a), a->help_page);
		return;
	}
	if (a->mode == MODE_COLUMNS) {
		draw_columns(&a->grid, &a->columns, a->column_at, a->rows.sort);
		return;
	}
	if (a->mode == MODE_FILTER || a->mode == MODE_SEARCH) {
		/* while searching, a message is set only if nothing matches */
		st.message = a->mode == MODE_FILTER ? "filter: "
			     : a->message[0]        ? "no match: "
						    : "search: ";
		st.typed = a->typed;
	}
	if (a->mode == MODE_QUESTION)
		st.message = a->question;
	s->draw(a, &st);
}

static void draw_to_terminal(struct app *a)
{
	int rows, cols;
	term_size(&rows, &cols);
	if (rows < 1 || cols < 1)
		return;
	app_draw(a, rows, cols);
	term_show(&a->grid);
}

/* Does the subject's work between screen updates. If the screen is frozen, does so only with
 * --listen, so that clients get current figures. */
int app_work(struct app *a, struct ms_err *err)
{
	const struct subject *s = app_subject(a);
	return s->work && (!a->frozen || a->serve) ? s->work(a, err) : 0;
}

int app_answer(struct app *a)
{
	return a->serve && a->trace ? serve_work(a->serve, a->trace) : -1;
}

int app_patience(const struct app *a, int busy, int again, uint64_t next)
{
	uint64_t t = ms_clock_ns(CLOCK_MONOTONIC), left = next > t ? next - t : 0;
	uint64_t most = a->hurry || a->recorder ? HURRY_NS : app_subject(a)->work ? WORK_NS : left;
	if (a->frozen && !a->recorder && !a->serve)
		return -1;
	if (busy || a->look || a->stale)
		return 0;
	int ms = (int)((left < most && !a->frozen ? left : most) / 1000000 + 1);
	return again >= 0 && ms > again ? again : ms;
}

static int loop(struct app *a, struct ms_err *err)
{
	uint64_t frames = 0, next = 0;
	bool draw = true;
	while (!a->quit) {
		uint64_t t = ms_clock_ns(CLOCK_MONOTONIC);
		int busy = app_work(a, err);
		if (busy < 0)
			return -1;
		int again = app_answer(a);
		if (a->recorder)
			app_recording(a);
		if (a->look || (t >= next && !a->frozen)) {
			if (app_look(a, err) != 0)
				return -1;
			a->look = false;
			next = t + a->opt->delay_ns;
			frames++;
			draw = true;
		}
		if (draw || a->stale) {
			a->stale = false;
			draw_to_terminal(a);
		}
		if (a->opt->frames && frames >= a->opt->frames)
			return 0;
		int key = term_key(app_patience(a, busy, again, next));
		draw = key != TERM_NONE;
		/* handles all pending keys before the next screen update */
		for (; key != TERM_NONE && !a->quit; key = term_key(0)) {
			if (key == TERM_GONE)
				return 0;
			app_key(a, key);
		}
	}
	return 0;
}

int app_run(const struct options *given, struct ms_err *err)
{
	struct app a;
	struct options kept = *given, *o = &kept;
	state_load(o);
	int rc = app_open(&a, o, err);
	if (rc == 0)
		rc = term_open(err);
	if (rc == 0 && a.serve) {
		term_watch(serve_fd(a.serve));
		app_say(&a, "serving at %.200s", serve_where(a.serve));
	}
	if (rc == 0)
		rc = loop(&a, err);
	term_close();
	if (rc == 0)
		state_save(&a, o);
	app_close(&a);
	return rc;
}

/* ---- plain frames ---- */

static int from_environment(const char *name, int least, int otherwise)
{
	const char *s = getenv(name);
	int n = s ? atoi(s) : 0;
	return n >= least && n <= 4000 ? n : otherwise;
}

static int write_out(const char *text, size_t n, struct ms_err *err)
{
	if (ms_write_all(STDOUT_FILENO, text, n) != 0)
		return ms_err_sys(err, "cannot write");
	return 0;
}

static int print_json(struct app *a, struct ms_err *err)
{
	if (a->trace)
		json_trace(&a->json, a->trace);
	else if (a->inspecting)
		json_process(&a->json, &a->process);
	else
		json_system(&a->json, &a->system, &a->rows);
	return write_out(a->json.v, a->json.n, err);
}

/* Breaks up text that a GitHub workflow would interpret as a command: "::" at the beginning of a
 * line, "##[" anywhere. */
static void break_commands(char *line)
{
	char *at = line + strspn(line, " ");
	if (strncmp(at, "::", 2) == 0)
		*at = '?';
	for (at = line; (at = strstr(at, "##["));)
		*at = '?';
}

/* Prints a screen as plain text (a plain frame), long enough for all rows, unless LINES limits
 * it. */
static int print_frame(struct app *a, struct ms_err *err)
{
	int need = a->trace        ? draw_trace_rows(a->trace)
		   : a->inspecting ? draw_process_rows(&a->process)
				   : draw_system_rows(&a->rows);
	int cols = from_environment("COLUMNS", 20, 120), rows = from_environment("LINES", 3, need);
	size_t room = (size_t)cols * GRID_BYTES + 1;
	int last = 0;
	a->line = ms_xgrow(a->line, &a->line_room, room + 1, 1);
	app_draw(a, rows, cols);
	for (int i = 0; i < rows - 1; i++)
		if (grid_row(&a->grid, i, a->line, room))
			last = i;
	for (int i = 0; i <= last; i++) {
		size_t n = grid_row(&a->grid, i, a->line, room);
		break_commands(a->line);
		a->line[n] = '\n';
		if (write_out(a->line, n + 1, err) != 0)
			return -1;
	}
	return 0;
}

/* Tells whether no more figures will come. */
static bool over(const struct app *a)
{
	const struct ms_follow *f = a->trace ? a->trace->follow : NULL;
	if (!f)
		return a->inspecting && a->process.ended;
	return f->caught_up && (f->file == MS_FILE_CUT || f->rec->state != MS_TRACE_GROWING) &&
	       !f->waits_for[0];
}

int app_print(const struct options *o, struct ms_err *err)
{
	struct app a;
	int rc = app_open(&a, o, err);
	for (uint64_t i = 0; rc == 0 && (!o->frames || i < o->frames); i++) {
		uint64_t start = ms_clock_ns(CLOCK_MONOTONIC);
		if (i && !o->json)
			rc = write_out("\n", 1, err);
		if (rc == 0)
			rc = app_look(&a, err);
		/* plain frames (screens printed as text) have no selection */
		app_list(&a)->has = false;
		if (rc == 0)
			rc = o->json ? print_json(&a, err) : print_frame(&a, err);
		if (rc != 0 || over(&a) || i + 1 == o->frames)
			break;
		uint64_t spent = ms_clock_ns(CLOCK_MONOTONIC) - start,
			 left = spent < o->delay_ns ? o->delay_ns - spent : 0;
		nanosleep(
			&(struct timespec){(time_t)(left / 1000000000), (long)(left % 1000000000)},
			NULL);
	}
	app_close(&a);
	return rc;
}
