/* SPDX-License-Identifier: MIT
 * Sentences about a recording, for any format: what ran, the quality of the figures, why there are
 * none.
 */
#include "words.h"

#include "table.h"
#include "names.h"

#include "libcommon/model/facts.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

size_t command_arguments(struct model *m, const struct process *p, const char ***out)
{
	MS_ARRAY(const char *) a = {0};
	sqlite3_stmt *st =
		model_ask(m,
			  "SELECT value FROM process p, json_each(CASE WHEN"
			  " json_valid(command) THEN command ELSE json_array(command) END)"
			  " WHERE p.id = %lld AND command IS NOT NULL",
			  (long long)p->id);
	while (model_next(&st)) {
		const char *s = (const char *)sqlite3_column_text(st, 0);
		*MS_PUSH(&a) = ms_arena_strdup(&m->arena, s ? s : "");
	}
	if (!a.n)
		*MS_PUSH(&a) = p->exe ? base_name(p->exe) : "unknown program";
	*out = ms_arena_alloc(&m->arena, a.n * sizeof **out);
	memcpy(*out, a.v, a.n * sizeof *a.v);
	free(a.v);
	return a.n;
}

#define SAY(...) ms_arena_printf(&m->arena, __VA_ARGS__)

static const char *command_line(struct model *m, const struct process *p, const struct style *st)
{
	const char **v;
	size_t n = command_arguments(m, p, &v), used = 0;
	const char *line = base_name(v[0]);
	for (size_t i = 1; i < n && used < 4096; i++, used += strlen(line))
		line = SAY("%s %s", line, v[i]);
	return name_clean(&m->arena, line, st->ascii);
}

static const char *how_it_ended(struct model *m, const struct process *p)
{
	if (p->exit_signal != UNKNOWN) {
		const char *name = p->exit_signal < 65 ? sigabbrev_np((int)p->exit_signal) : NULL;
		return name ? SAY("killed by SIG%s", name)
			    : SAY("killed by signal %llu", (unsigned long long)p->exit_signal);
	}
	if (p->exit_status != UNKNOWN)
		return SAY("exit %llu", (unsigned long long)p->exit_status);
	if (p->end_reason && strcmp(p->end_reason, "exec") == 0)
		return "replaced by another program (exec)";
	if (p->end_reason && strcmp(p->end_reason, "disk") == 0)
		return "recording stopped: the disk was full";
	if (p->end_reason && strcmp(p->end_reason, "stopped") == 0)
		return "recording stopped before the process ended";
	return p->quality.growing ? "still running" : "exit status unknown";
}

static bool has_parent(const struct model *m, const struct process *child)
{
	for (size_t i = 0; i < m->processes.n; i++)
		if (m->processes.v[i].pid == child->ppid && child->ppid != UNKNOWN)
			return true;
	return false;
}

/* Counts the runs in the input. Does not count traces of further processes of a run, which have
 * ".PID." in their names; nor, since --anonymize removes names, processes whose parent is in the
 * input. */
static size_t count_runs(const struct model *m)
{
	size_t runs = 0;
	for (size_t i = 0; i < m->processes.n; i++) {
		const struct process *p = &m->processes.v[i];
		char pid[32];
		snprintf(pid, sizeof pid, ".%llu.", (unsigned long long)p->pid);
		runs += p->trace && !strstr(p->trace, pid) && !has_parent(m, p);
	}
	return runs;
}

struct words words_who(struct model *m, const struct style *st)
{
	struct words w = {0};
	const struct process *p = &m->processes.v[0];
	if (m->proc_only == PROC_ONLY_REGIONS && m->processes.n > 1) {
		words_add(&w, SAY("%s on %s", say_things(m, m->processes.n, "process"),
				  p->host ? name_clean(&m->arena, p->host, st->ascii) : "?"));
		words_add(&w, say_date(m, p->started_ns, false));
		w.n -= !w.v[w.n - 1];
		return w;
	}
	words_add(&w, name_cut(&m->arena, command_line(m, p, st), st->full_names ? 4096 : 60,
			       st->ascii));
	const char *host = p->host ? name_clean(&m->arena, p->host, st->ascii) : NULL;
	const char *pid = p->pid == UNKNOWN ? "" : SAY("pid %llu", (unsigned long long)p->pid);
	size_t more = m->processes.n - m->images - 1;
	if (more)
		pid = SAY("%s and %s", pid, say_things(m, more, "more process"));
	size_t runs = m->diff ? 1 : count_runs(m);
	if (runs > 1)
		pid = SAY("%s together: %s", say_things(m, runs, "run"), pid);
	words_add(&w, host ? SAY("%s on %s", pid, host) : pid);
	const char *date = say_date(m, p->started_ns, false);
	if (date)
		words_add(&w, date);
	if (m->proc_only == PROC_ONLY_REGIONS) /* only regions were read: nothing else is known of
						  the run */
		return w;
	const struct process *last = images_last(m, p);
	uint64_t ran = figure_sub(figure_add(last->duration_ns, last->offset_ns), p->offset_ns);
	if (ran != UNKNOWN && ran) /* from a core dump alone it is not known */
		words_add(&w, SAY("ran %s", say_time(m, ran)));
	if (m->images && more)
		words_add(&w, SAY("%s replaced by exec", say_things(m, m->images, "program")));
	else if (m->images)
		words_add(&w, SAY("%s programs, one after another (exec)",
				  say_count(m, m->processes.n)));
	words_add(&w, how_it_ended(m, last));
	return w;
}

/* Adds "3 stacks not taken" unless `n` is 0. */
static void add_some(struct model *m, struct words *w, uint64_t n, const char *one,
		     const char *what)
{
	if (figure_some(n))
		words_add(w, SAY("%s %s", say_things(m, n, one), what));
}

/* Tells whether more than a few freed blocks were never seen allocated, although everything was
 * recorded from the start. */
static bool is_elsewhere(const struct model *m)
{
	enum { FEW = 16 };
	const struct quality *q = &m->quality;
	uint64_t n = unrecorded_frees(m, q->unknown_frees);
	return figure_some(n) && n > FEW && !figure_some(q->attached) &&
	       !figure_some(q->sampled_bytes) && !m->part && !m->proc_only;
}

static const char *elsewhere(struct model *m)
{
	const char *from = heaps_unhooked(m);
	uint64_t n = unrecorded_frees(m, m->quality.unknown_frees);
	const char *said =
		SAY("at least %s blocks came from elsewhere (their frees were recorded, their "
		    "allocations were not)",
		    say_count(m, n));
	return from ? SAY("%s, perhaps from %s: record it with ms-record --hook "
			  "'FUNCTION(...) -> ptr in malloc'",
			  said, from)
		    : said;
}

/* Adds a remark on processes that went on after their recording ended. */
static void left_words(struct model *m, struct words *w)
{
	sqlite3_stmt *st =
		model_ask(m, "SELECT count(DISTINCT j.value), min(CAST(j.value AS INTEGER))"
			     " FROM process p, json_each(p.left_behind) j");
	while (model_next(&st)) {
		int n = sqlite3_column_int(st, 0), pid = sqlite3_column_int(st, 1);
		const char *who =
			n > 1 ? SAY("pid %d and %d more are still running, but", pid, n - 1)
			      : SAY("pid %d is still running, but", pid);
		if (n)
			words_add(w, SAY("%s no longer recorded: --wait=all waits for %s", who,
					 n > 1 ? "them" : "it"));
	}
}

/* Adds the number of programs that the command started and that could not be recorded. */
static void images_missed(struct model *m, struct words *w)
{
	uint64_t n = 0;
	sqlite3_stmt *st = model_ask(m, "SELECT sum(images_missed) FROM process");
	while (model_next(&st))
		n = (uint64_t)sqlite3_column_int64(st, 0);
	if (n)
		words_add(w, SAY("%s not recorded: see FILE.d/index",
				 say_things(m, n, "child program")));
}

/* Adds problems with stacks and frees; usually there are none. */
static void quality_details(struct model *m, struct words *w)
{
	const struct quality *q = &m->quality;
	add_some(m, w, q->stacks_truncated, "truncated stack", "(callers not found)");
	add_some(m, w, q->stacks_not_taken, "stack", "not taken");
	add_some(m, w, q->events_late, "event", "out of order");
	if (figure_some(q->attached) && !m->proc_only)
		unrecorded_before(m, w);
	add_some(m, w, q->inferred_frees, "free", "inferred");
	if (!is_elsewhere(m))
		add_some(m, w, unrecorded_frees(m, q->unknown_frees), "free", "of unknown blocks");
	const char *missed = q->complete && !q->growing ? NULL : heaps_unhooked(m);
	if (missed)
		words_add(w, SAY("allocations by %s not recorded: see ms-record --hook", missed));
	const char *hooks = heaps_missing(m);
	if (hooks)
		words_add(w, SAY("--hook: no module had the function %s", hooks));
	unrecorded_words(m, w);
	add_some(m, w, m->chains_unread, "Python call stack", "not read");
	if (m->interpreter_unknown)
		words_add(w, SAY("no frames of %s",
				 name_clean(&m->arena, m->interpreter_unknown, true)));
	left_words(m, w);
	images_missed(m, w);
	uint64_t children = 0;
	for (size_t i = 0; i < m->processes.n; i++)
		if (figure_some(m->processes.v[i].children_not_recorded))
			children += m->processes.v[i].children_not_recorded;
	if (children)
		words_add(w, SAY("%s not recorded", children == 1 ? "1 forked child"
								  : SAY("%s forked children",
									say_count(m, children))));
}

/* Returns which time span is counted, or that the trace was read only from a checkpoint on. */
static const char *counted(struct model *m)
{
	if (m->from_ns != UNKNOWN && m->to_ns != UNKNOWN)
		return SAY("events counted ONLY from %s to %s", say_time(m, m->from_ns),
			   say_time(m, m->to_ns));
	if (m->from_ns != UNKNOWN)
		return SAY("events counted ONLY from %s on", say_time(m, m->from_ns));
	if (m->to_ns != UNKNOWN)
		return SAY("events counted ONLY up to %s", say_time(m, m->to_ns));
	return figure_some(m->gaps.dropped_events)
		       ? NULL
		       : "trace read only in part: figures that need the whole run are n/a";
}

/* Returns a text of the processes' rows, or NULL. */
static const char *core_text(struct model *m, const char *column)
{
	const char *text = NULL;
	sqlite3_stmt *st = model_ask(m, "SELECT max(%s) FROM process", column);
	while (model_next(&st)) {
		const char *s = (const char *)sqlite3_column_text(st, 0);
		text = s ? name_clean(&m->arena, SAY("%s", s), true) : text;
	}
	return text;
}

/* Says what is known of blocks in a core dump. Returns false if nothing was read from one. */
static bool core_words(struct model *m, struct words *w)
{
	const char *core = core_text(m, "core"), *trace = core_text(m, "core_trace");
	if (!core)
		return false;
	words_add(w, m->quality.complete ? SAY("from the core dump %s", core)
					 : "INCOMPLETE, see above");
	words_add(w, "every block that was live");
	words_add(w, trace ? SAY("call stacks from %s", trace)
			   : "no call stacks: blocks by type, else by size");
	return true;
}

struct words words_quality(struct model *m)
{
	struct words w = {0};
	if (core_words(m, &w))
		return w;
	const struct quality *q = &m->quality;
	const char *unhooked = heaps_unhooked(m);
	words_add(&w, !q->complete      ? "INCOMPLETE, see above"
		      : q->growing      ? SAY("still being recorded, figures up to %s",
					      say_time(m, m->duration_ns))
		      : is_elsewhere(m) ? elsewhere(m)
		      : unhooked ? SAY("recorded in part: %s not hooked, see ms-record --hook",
				       unhooked)
				 : "complete");
	add_some(m, &w, q->events_lost, "event", "LOST");
	if (figure_some(q->sampled_bytes))
		words_add(&w, SAY("sampled every %s allocated: figures are estimates, with 95 "
				  "%% intervals",
				  say_size(m, q->sampled_bytes)));
	else if (m->proc_only)
		words_add(&w, "figures from /proc only: allocations were not recorded");
	else if (q->complete && !figure_some(q->events_lost) && !is_elsewhere(m) && !unhooked)
		words_add(&w, figure_some(m->gaps.paused_ns) ? "every event except during pauses"
			      : figure_some(m->gaps.dropped_events) ? "every event counted"
								    : "every event");
	if (words_idle(m))
		words_add(&w, words_idle(m));
	else if (figure_some(q->stacks_cut))
		words_add(&w, SAY("%s cut", say_things(m, q->stacks_cut, "stack")));
	else if (q->stacks_cut == 0 && !figure_some(q->stacks_truncated) &&
		 !figure_some(q->stacks_not_taken) && !m->chains_unread)
		words_add(&w, "all stacks complete");
	if (m->part && counted(m))
		words_add(&w, counted(m));
	const char *cut = provenance_cut(m, NONE);
	if (cut)
		words_add(&w, SAY("cut out of %s", name_clean(&m->arena, cut, true)));
	quality_details(m, &w);
	if (m->frames_nameless)
		words_add(&w, SAY("no symbols for %s in %u of %s: ms-report --modules",
				  say_things(m, m->frames_nameless, "frame"), m->modules_nameless,
				  say_things(m, m->modules_used, "module")));
	if (m->modules_unsound)
		words_add(&w, SAY("%s with unusable or partly usable debug information: ms-report "
				  "--modules",
				  say_things(m, m->modules_unsound, "module")));
	return w;
}

const char *words_incomplete(struct model *m)
{
	const struct quality *q = &m->quality;
	if (q->complete)
		return NULL;
	if (core_text(m, "core_lacks"))
		return SAY("core dump: %s", core_text(m, "core_lacks"));
	if (figure_some(q->damaged_bytes))
		return SAY(
			"%s in %s of the trace could not be read; their events are missing below",
			say_things(m, q->damaged_bytes, "byte"),
			say_things(m, q->damaged_places, "place"));
	if (diff_incomplete(m))
		return diff_incomplete(m);
	if (m->traces_unreadable)
		return SAY("%s could not be read and %s missing below: %s",
			   say_things(m, m->traces_unreadable, "trace"),
			   m->traces_unreadable == 1 ? "is" : "are",
			   name_clean(&m->arena, m->unreadable ? m->unreadable : "?", true));
	return SAY("the trace has no end (the recorder was killed, or the copy was cut short); "
		   "the figures are valid up to %s",
		   say_time(m, m->duration_ns));
}

/* Tells whether all processes were attached to with a known allocator, and no event was lost or
 * missed. */
static bool all_attached(const struct model *m)
{
	for (size_t i = 0; i < m->processes.n; i++) {
		const struct process *p = &m->processes.v[i];
		if (!figure_some(p->quality.attached) || !p->allocator || !*p->allocator ||
		    strncmp(p->allocator, "none", 4) == 0)
			return false;
	}
	return m->quality.complete && !figure_some(m->quality.events_lost) && !m->est &&
	       !figure_some(m->gaps.paused_allocations);
}

const char *words_idle(struct model *m)
{
	if (m->totals.allocations != 0 || model_site_count(m) || m->proc_only ||
	    m->hidden.filters || m->from_ns != UNKNOWN || m->to_ns != UNKNOWN || !all_attached(m))
		return NULL;
	return SAY("no allocation in %s", say_time(m, m->duration_ns));
}

const char *words_nothing(struct model *m, const struct style *st)
{
	const struct process *p = &m->processes.v[0];
	const struct hidden *h = &m->hidden;
	if (model_site_count(m) == 0 && h->filters && h->sites > 0)
		return SAY("FILTERS HIDE EVERYTHING: %s with %s live at the end, %s in all (%s)",
			   say_things(m, h->sites, "site"),
			   est_size(m, h->end.bytes, est_of(h->est, EST_END)),
			   est_things(m, h->allocations, est_of(h->est, EST_ALLOCATIONS),
				      "allocation"),
			   name_clean(&m->arena, h->filters, st->ascii));
	if (m->totals.allocations != 0 || model_site_count(m) || m->proc_only || words_idle(m))
		return NULL;
	if (m->est && !figure_some(m->quality.events_lost))
		return SAY("NO ALLOCATION WAS SAMPLED: the program allocated less than %s in all "
			   "(95 %% confidence)",
			   say_size(m, (uint64_t)(m->est->of[EST_ALLOCATED].step * 3.7)));
	const char *why = figure_some(m->quality.events_lost) ? "all events were lost"
			  : !m->quality.complete ? "the trace ends before the first allocation"
			  : figure_some(m->gaps.paused_allocations)
				  ? SAY("%s happened while recording was paused or had not begun",
					say_things(m, m->gaps.paused_allocations, "allocation"))
			  : p->allocator && *p->allocator
				  ? SAY("the program made no allocation that could be recorded "
					"(allocator: %s)",
					name_clean(&m->arena, p->allocator, st->ascii))
				  : "the program made no allocation that could be recorded";
	return SAY("NOTHING WAS RECORDED: %s", why);
}

/* Returns the exceeded suppressions: "; TOO MANY for 'leak<=10:cache': 14 blocks", or "". */
static const char *exceeded(struct model *m, const struct style *st)
{
	const char *s = "";
	sqlite3_stmt *q =
		model_ask(m, "SELECT rule, met_blocks FROM suppression"
			     " WHERE met_blocks > most_blocks ORDER BY stage, file, line");
	while (model_next(&q))
		s = SAY("%s; TOO MANY for '%s': %s", s,
			name_clean(&m->arena, (const char *)sqlite3_column_text(q, 0), st->ascii),
			say_things(m, (uint64_t)sqlite3_column_int64(q, 1), "block"));
	return s;
}

const char *words_hidden(struct model *m, const struct style *st)
{
	const struct hidden *h = &m->hidden;
	if (!h->filters)
		return "nothing (no filters)";
	const char *filters = name_clean(&m->arena, h->filters, st->ascii);
	if (!h->sites)
		return SAY("nothing, with %s%s", filters, exceeded(m, st));
	return SAY("%s with %s at %s, %s, by %s%s", say_things(m, h->sites, "site"),
		   est_size(m, h->at.bytes, est_of(h->est, EST_AT)), say_moment(m, st),
		   est_things(m, h->allocations, est_of(h->est, EST_ALLOCATIONS), "allocation"),
		   filters, exceeded(m, st));
}
