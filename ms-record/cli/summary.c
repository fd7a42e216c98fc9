/* SPDX-License-Identifier: MIT
 * Prints the summary to standard error at the end of the run.
 */
#include "summary.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "summary_lines.h"
#include "ms-record/attach/attach.h"
#include "ms-record/control/control.h"
#include "format/trace.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/shell.h"
#include "libcommon/base/units.h"
#include "ms-record/heap/sampled.h"

/* maximum time from the heap's peak to an RSS sample that is shown as the RSS at the peak */
#define THEN_NS UINT64_C(10000000)

/* Returns the last program image (process between two execs) of the command's process, or the first
 * image of an attached process. */
static const struct image *main_image(const struct control *c)
{
	const struct image *last = NULL;
	for (size_t i = 0; i < c->images.n; i++) {
		const struct image *m = &c->images.v[i];
		bool later = !last || (!c->attached && m->number > last->number);
		if (m->pid == c->launch.pid && later)
			last = m;
	}
	return last;
}

void summary_line(const char *label, const char *fmt, ...)
{
	char text[8192];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	ms_one_line(text);
	fprintf(stderr, "  %-9s %s\n", label, text);
}

static const char *ended(int status, char room[64])
{
	if (WIFSIGNALED(status))
		snprintf(room, 64, "was killed by signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else
		snprintf(room, 64, "exited with %d", WEXITSTATUS(status));
	return room;
}

/* Returns words for how the program ended, or that it still runs. */
static const char *became(const struct control *c, char room[64])
{
	if (!c->attached || (!c->stopped && c->status >= 0))
		return ended(c->status, room);
	return c->stopped ? "was recorded and detached" : "ended or was replaced by exec";
}

static unsigned percent(uint64_t part, uint64_t whole)
{
	return whole ? (unsigned)((part * 100 + whole / 2) / whole) : 0;
}

/* Returns words for RSS near the peak, with its time if that differs from the peak's or if pages
 * were added after the sample. */
static const char *rss_words(const struct image *m, char room[96])
{
	uint64_t peak = m->stats.peak_ns, at = m->rss_ns;
	if (!m->rss_at_peak)
		room[0] = '\0';
	else if (at + THEN_NS >= peak && at <= peak + THEN_NS &&
		 m->rss_at_peak >= m->stats.peak_bytes)
		snprintf(room, 96, "RSS then %s", SIZE(m->rss_at_peak));
	else
		snprintf(room, 96, "RSS %s at %s", SIZE(m->rss_at_peak), DURATION(at));
	return room;
}

/* Prints peak and end of a sampled heap as estimates, because not every allocation is recorded. */
static void print_sampled_heap(const struct image *m, uint64_t mean)
{
	char a[128], rss[96];
	const struct stats *t = &m->stats;
	summary_line("peak", "%s%s%s", sampled_words(a, t, mean, 1), m->rss_at_peak ? ", " : "",
		     rss_words(m, rss));
	summary_line("at end", "%s; this and the peak are estimated from %s sampled allocations",
		     sampled_words(a, t, mean, 0), COUNT(t->allocations));
}

/* Returns words for the result of the leak scan, or for why there was none. */
static const char *scan_words(const struct image *m, char room[160])
{
	const struct scan_result *r = &m->scan;
	room[0] = '\0';
	if (r->state == MS_SCAN_DONE && r->unreachable_blocks)
		snprintf(room, 160, ": %s in %s block%s unreachable", SIZE(r->unreachable_bytes),
			 COUNT(r->unreachable_blocks), PLURAL(r->unreachable_blocks));
	else if (r->state == MS_SCAN_DONE && m->stats.live_blocks)
		snprintf(room, 160, ", none unreachable");
	else if (scan_state_words(r->state) && m->stats.live_blocks)
		snprintf(room, 160, "; not scanned for leaks: %s", scan_state_words(r->state));
	return room;
}

static void print_heap(const struct image *m)
{
	const struct stats *t = &m->stats;
	char rss[96], room[160];
	bool has = *rss_words(m, rss);
	summary_line("peak", "%s at %s%s%s%s        allocations  %s (%u %% temporary)",
		     SIZE(t->peak_bytes), DURATION(t->peak_ns), has ? " (" : "", rss,
		     has ? ")" : "", COUNT(t->allocations), percent(t->temporary, t->allocations));
	summary_line("at end", "%s in %s block%s%s", SIZE(t->live_bytes), COUNT(t->live_blocks),
		     PLURAL(t->live_blocks), scan_words(m, room));
}

/* Returns words for why there was no scan at the program's exit; NULL = there was one, or the process
 * became another program. */
static const char *no_exit_scan(const struct image *m)
{
	uint64_t state = m->scan.exit_state;
	if (state == MS_SCAN_DONE || (!state && m->ending == SESSION_EXECED))
		return NULL;
	return state                         ? scan_state_words(state)
	       : !m->guest.exit_hooked       ? "its exit function could not be hooked"
	       : m->ending == SESSION_EXITED ? scan_state_words(MS_SCAN_KILLED)
					     : "its recording ended before it exited";
}

/* Prints in which programs --retention-at=exit found nothing out. */
static void print_exit(const struct control *c, const struct image *m)
{
	size_t further = 0;
	if (!c->opt->session.hooks.exit)
		return;
	for (size_t i = 0; i < c->images.n; i++)
		further += &c->images.v[i] != m && c->images.v[i].kept &&
			   no_exit_scan(&c->images.v[i]);
	if (no_exit_scan(m))
		summary_line("exit", "no scan at exit: %s", no_exit_scan(m));
	if (further)
		summary_line("exit", "no scan at exit in %zu further program%s", further,
			     PLURAL(further));
}

/* Returns words for why a condition on the control group cannot have been true, or "". */
static const char *never_words(const struct trigger *t, const struct trigger_count *n)
{
	return t->figure != TRIGGER_CGROUP ? ""
	       : !n->judged ? " (no control group with a memory controller was found)"
	       : n->unlimited && t->percent ? " (the control group has no memory limit)"
					    : "";
}

/* Prints how often the conditions of --when were true. */
static void print_triggers(const struct control *c)
{
	for (size_t i = 0; i < c->opt->triggers.n; i++) {
		const struct trigger *t = &c->opt->triggers.v[i];
		const struct trigger_count *n = &c->acting.counts[i];
		if (!t->label && n->fired > 1)
			summary_line("when", "%s: %s times, first at %s, last at %s", t->text,
				     COUNT(n->fired), DURATION(n->first_ns), DURATION(n->last_ns));
		else if (!t->label && n->fired)
			summary_line("when", "%s: once, at %s", t->text, DURATION(n->first_ns));
		else if (!t->label)
			summary_line("when", "%s: never%s", t->text, never_words(t, n));
		if (n->images > 1 && !t->label)
			summary_line("", "in %s programs", COUNT(n->images));
		if (n->unscanned)
			summary_line("",
				     "%s scan%s could not be made: ms-record runs the program "
				     "under ptrace",
				     COUNT(n->unscanned), PLURAL(n->unscanned));
		if (n->failed)
			summary_line("", "%s of %s command%s failed: %s", COUNT(n->failed),
				     COUNT(n->runs), PLURAL(n->runs), n->why);
	}
	if (c->acting.log_path)
		summary_line("", "the commands' output is in '%s'", c->acting.log_path);
}

static void print_mapped(const struct control *c, const struct image *m)
{
	const struct stats *t = &m->stats;
	if (c->opt->session.mapped)
		summary_line("mapped", "peak %s at %s, at end %s, from %s mapping call%s",
			     SIZE(t->mapped_peak_bytes), DURATION(t->mapped_peak_ns),
			     SIZE(t->mapped_bytes), COUNT(t->maps), PLURAL(t->maps));
	if (m->guest.no_usable)
		summary_line("usable", "usable sizes were not recorded: %s does not report them",
			     m->guest.allocator[0] ? m->guest.allocator : "the allocator");
}

/* Explains an empty trace. */
static void print_no_heap(const struct control *c, const struct image *m)
{
	if (!m->file)
		summary_line("heap", "%s: %s", m->name, m->note);
	else if (!c->attached && !c->attach && !m->guest.own_malloc && images_own_malloc(m))
		summary_line("heap",
			     "no allocation was seen: '%s' has its own malloc, which a preloaded "
			     "library "
			     "cannot intercept",
			     m->name);
	else if (c->opt->session.sample_bytes && m->guest.ready)
		summary_line("heap", "no allocation of '%s' was sampled", m->name);
	else if (!m->guest.ready)
		summary_line("heap",
			     "no allocation was seen: the recorder's library did not start in '%s'",
			     m->name);
	else
		summary_line("heap",
			     "no allocation was seen: '%s' allocated nothing through %s; other "
			     "allocators "
			     "need --hook",
			     m->name,
			     m->guest.allocator[0] ? m->guest.allocator : "a known allocator");
}

/* Prints which functions of --hook were not hooked. */
static void print_hooks(const struct control *c)
{
	if (c->hooks.refused.text[0])
		summary_line("hooks", "%s", c->hooks.refused.text);
	for (size_t i = 0; i < c->opt->session.hooks.n; i++)
		if (!c->hooks.placed[i] &&
		    !strstr(c->hooks.refused.text, c->opt->session.hooks.v[i].name))
			summary_line("hooks", "'%s' was not found in any program or loaded module",
				     c->opt->session.hooks.v[i].name);
}

/* Prints the processes that the command left running. */
static void print_left(const struct control *c)
{
	bool may_wait = !c->opt->wait_all && !c->attached;
	for (size_t i = 0; i < c->left.n && i < LOST_NAMED; i++)
		if (getpid() == 1)
			summary_line(
				"left",
				"pid %d will be killed when ms-record (process 1 here) exits%s",
				(int)c->left.v[i], may_wait ? ": --wait=all waits for it" : "");
		else
			summary_line("left", "pid %d is still running, but no longer recorded%s",
				     (int)c->left.v[i],
				     may_wait ? ": --wait=all waits for it" : "");
	if (c->left.n > LOST_NAMED)
		summary_line("left", "%zu more processes are still running, but no longer recorded",
			     c->left.n - LOST_NAMED);
}

/* Prints what was not recorded because an option excluded it. */
static void print_gaps(const struct control *c, const struct image *m)
{
	const struct stats *t = &m->stats;
	if (!c->run.started_ns && c->opt->session.start_mark)
		summary_line("start", "the mark '%s' was never set: nothing was recorded",
			     c->opt->session.start_mark);
	else if (!c->run.started_ns && !c->opt->start_after_ns)
		summary_line("start", "no condition of --when with the action 'start' became true: "
				      "nothing was recorded");
	else if (!c->run.started_ns)
		summary_line(
			"start",
			"the program ended within the %s of --start-after: nothing was recorded",
			DURATION(c->opt->start_after_ns));
	else if (t->started_late_ns)
		summary_line("start",
			     "recording began %s after the start: %s allocations not recorded%s",
			     DURATION(t->started_late_ns), COUNT(t->paused_allocations),
			     t->paused_ns ? ", including those during pauses" : "");
	if (m->full && c->opt->files.keep_last_ns)
		summary_line("limit",
			     "--keep=last: %s: recording stopped after %s, the program continued",
			     c->writer.limit.why, DURATION(m->full_ns));
	else if (m->full)
		summary_line(
			"limit",
			"--max-size %s was reached after %s%s%s: recording stopped, the program "
			"continued",
			SIZE(c->opt->files.max_bytes), DURATION(m->full_ns),
			c->writer.limit.why[0] ? "; --keep=live: " : "", c->writer.limit.why);
	if (m->dropped_events)
		summary_line("dropped",
			     "%s events before %s (--keep=%s); the blocks that were live at that "
			     "time are "
			     "kept",
			     COUNT(m->dropped_events), DURATION(m->dropped_ns),
			     c->opt->files.keep_last_ns ? "last" : "live");
	if (c->run.started_ns && t->paused_ns)
		summary_line("paused", "%s in all: %s allocations not recorded",
			     DURATION(t->paused_ns), COUNT(t->paused_allocations));
}

/* Prints what attaching did to one process. */
static void print_one(const struct control *c, const struct attach *attach)
{
	const struct attach_times *t = attach_times(attach);
	if (t->gave_up)
		summary_line("trouble", "the hooks could not be removed, but are inactive: %s",
			     t->trouble);
	if (t->missing[0])
		summary_line("missing", "not hooked: %s", t->missing);
	if (!c->opt->verbose)
		return;
	if (c->attached)
		summary_line("stops",
			     "to attach: one thread for %s, then all %u for %s; to detach: %u "
			     "stop%s of at "
			     "most %s",
			     DURATION(t->map_ns), t->threads, DURATION(t->patch_ns), t->leave_stops,
			     PLURAL(t->leave_stops), DURATION(t->leave_ns));
	else
		summary_line("start", "the program%s: the recorder was injected, not preloaded",
			     c->launch.inject + sizeof "it" - 1);
	if (c->attached && t->asleep + t->cut_short)
		summary_line("waiting",
			     "%u thread%s waiting in the kernel %s not stopped; %u system call%s "
			     "may have "
			     "been cut short",
			     t->asleep, PLURAL(t->asleep), t->asleep == 1 ? "was" : "were",
			     t->cut_short, PLURAL(t->cut_short));
	summary_line("hooks",
		     "%u function%s hooked, %u thread%s moved out of code that hooks replace%s%s",
		     t->hooks, PLURAL(t->hooks), t->moved, PLURAL(t->moved),
		     t->adopted ? "; hooks of an earlier ms-record were reused" : "",
		     t->left ? "; buffers were left in the process" : "");
}

/* Prints what attaching did to each of the processes. */
static void print_attached(const struct control *c)
{
	if (!c->attached)
		print_one(c, c->attach);
	for (size_t i = 0; i < c->multi_attach.all.n; i++) {
		const struct attach_process *p = &c->multi_attach.all.v[i];
		if (p->failed)
			continue;
		bool says = c->opt->verbose || (p->attach && (attach_times(p->attach)->gave_up ||
							      attach_times(p->attach)->missing[0]));
		if (c->multi_attach.all.n > 1 && says)
			summary_line("process", "%s (pid %d)", p->program, (int)p->pid);
		if (p->attach)
			print_one(c, p->attach);
		else if (c->opt->verbose)
			summary_line("hooks", "none needed: the process was on standby");
	}
}

static void print_cost(const struct image *m)
{
	const struct stats *t = &m->stats;
	if (!m->file)
		return;
	char scan[MS_UNIT_BUF + 64] = "";
	if (m->scan.pause_ns)
		snprintf(scan, sizeof scan, "; %s delayed the exit by %s",
			 m->scan.state ? "the leak scan" : "--resident",
			 DURATION(m->scan.pause_ns));
	if (t->waited_ns)
		summary_line("cost",
			     "threads waited %s in all for the recorder (longest wait %s)%s",
			     DURATION(t->waited_ns), DURATION(t->waited_max_ns), scan);
	else
		summary_line("cost", "no thread waited for the recorder%s", scan);
}

static const char *say_blocks(char room[MS_UNIT_BUF], uint64_t n)
{
	snprintf(room, MS_UNIT_BUF, "%s block%s", COUNT(n), PLURAL(n));
	return room;
}

/* Prints the blocks that existed before we attached, which no other figure includes. */
static void print_preexisting(const struct control *c, const struct image *m)
{
	char n[MS_UNIT_BUF];
	const struct preexisting_counts *b = &m->preexisting;
	if (b->state == MS_BEFORE_UNKNOWN || b->state == PREEXISTING_LOOKING)
		summary_line(
			"before",
			"the number of blocks allocated before attaching is not known (%s); %s of "
			"them "
			"were freed since",
			b->why, COUNT(m->stats.unknown_frees));
	else
		summary_line("before",
			     "not in any figure: %s%s (%s, the largest %s) allocated before "
			     "attaching; %s "
			     "(%s) of them were freed since",
			     b->state == MS_BEFORE_PART ? "at least " : "",
			     say_blocks(n, b->blocks), SIZE(b->bytes), SIZE(b->largest),
			     COUNT(b->frees), SIZE(b->freed_bytes));
	if (b->state == MS_BEFORE_PART)
		summary_line("", "the count is a minimum: %s", b->why);
	if (c->opt->verbose && b->took_ns)
		summary_line("walk", "the heap was walked in %s while the process ran",
			     DURATION(b->took_ns));
}

static void print_stacks(const struct control *c, const struct image *m)
{
	const struct stats *t = &m->stats;
	if (t->stacks_cut || t->stacks_truncated || t->stacks_not_taken)
		summary_line("stacks",
			     "%s cut by --depth, %s truncated (callers not found), %s not taken",
			     COUNT(t->stacks_cut), COUNT(t->stacks_truncated),
			     COUNT(t->stacks_not_taken));
	if (c->opt->session.verify)
		summary_line("verify", "%s stacks compared, %s differ", COUNT(t->verified),
			     COUNT(t->mismatches));
	if (m->mid_run)
		print_preexisting(c, m);
	else if (c->attached && t->unknown_frees)
		summary_line(
			"before",
			"%s blocks allocated before attaching were freed; they are in no figure",
			COUNT(t->unknown_frees));
	if (c->attached ? t->inferred_frees != 0
			: t->inferred_frees || t->unknown_frees > t->paused_allocations)
		summary_line(
			"frees",
			"%s inferred from reused addresses, %s of blocks whose allocation was not "
			"seen",
			COUNT(t->inferred_frees), COUNT(t->unknown_frees));
	if (m->guest.forks)
		summary_line(
			"forks",
			"%s forked %s: what %s before or without calling exec was not recorded",
			COUNT(m->guest.forks), m->guest.forks == 1 ? "child" : "children",
			m->guest.forks == 1 ? "it did" : "they did");
	if (!c->opt->verbose)
		return;
	summary_line("detail",
		     "%s events, %s stacks unwound by ms-record, %" PRIu64 " events put back in "
		     "order, %" PRIu64 " left out of order",
		     COUNT(t->events), COUNT(t->remote_unwinds), t->repairs, t->violations);
	if (m->guest.passed_early)
		summary_line("early",
			     "not recorded: %" PRIu64 " allocation%s before recording could begin",
			     m->guest.passed_early, PLURAL(m->guest.passed_early));
}

/* Prints the program images after the first, such as "run.trace.d/: 14 more programs, 9 MiB,
 * largest python3.4202; 22 trivial ones not kept". */
static void print_further(const struct control *c)
{
	const struct image *largest = NULL;
	uint64_t bytes = 0;
	for (size_t i = 0; i < c->images.n; i++) {
		const struct image *m = &c->images.v[i];
		if (m->number == 0 || !m->kept)
			continue;
		bytes += m->bytes;
		if (!largest || m->bytes > largest->bytes)
			largest = m;
	}
	if (largest)
		fprintf(stderr, "; %s/: %" PRIu64 " more %s, %s, largest %s.%d", c->files.folder,
			c->kept, c->kept == 1 ? "program" : "programs", SIZE(bytes), largest->name,
			(int)largest->pid);
	if (c->trivial)
		fprintf(stderr, "; %" PRIu64 " trivial %s not kept", c->trivial,
			c->trivial == 1 ? "one" : "ones");
	if (c->missed)
		fprintf(stderr, "; %" PRIu64 " could not be recorded", c->missed);
}

/* Prints which process of a tree is worth examining first: the one with the highest peak. */
static void print_worst(const struct control *c)
{
	const struct image *worst = NULL;
	char b[128];
	for (size_t i = 0; i < c->images.n; i++) {
		const struct image *m = &c->images.v[i];
		if (m->kept && (!worst || m->stats.peak_bytes > worst->stats.peak_bytes))
			worst = m;
	}
	if (worst && c->kept)
		summary_line("worst", "%s (pid %d) has the highest peak of %s programs: %s",
			     worst->name, (int)worst->pid, COUNT(c->kept + 1),
			     worst->sampled ? sampled_words(b, &worst->stats,
							    c->opt->session.sample_bytes, 1)
					    : SIZE(worst->stats.peak_bytes));
}

/* Prints a line about a program image, with -v. */
static void print_image(const struct image *m)
{
	fprintf(stderr, "  %-9s %" PRIu32 " %s", "image", m->number, m->name);
	if (m->pid)
		fprintf(stderr, " (pid %d)", (int)m->pid);
	if (m->file && m->sampled)
		fprintf(stderr, " %s: %s allocations sampled", DURATION(m->duration_ns),
			COUNT(m->stats.allocations));
	else if (m->file)
		fprintf(stderr, " %s: peak %s, %s allocations", DURATION(m->duration_ns),
			SIZE(m->stats.peak_bytes), COUNT(m->stats.allocations));
	fprintf(stderr, "%s%s\n", m->note[0] ? ", " : "", m->note);
}

static void print_files(const struct control *c)
{
	const struct image *m = images_first(c);
	if (!m)
		return;
	fprintf(stderr, "  files     %s %s (%s)", m->file, SIZE(m->bytes), m->name);
	print_further(c);
	fputc('\n', stderr);
}

static void print_symbols(const struct control *c, struct ms_arena *a)
{
	if (c->no_snap)
		summary_line("symbols", "not appended: ms-snap is not in the folder of ms-record");
	else if (c->skip_symbols)
		summary_line("symbols",
			     "not appended; to do that later: ms-snap --symbols=embed %s",
			     ms_shell_word(a, c->files.path));
	else if (c->symbols_failed && c->opt->files.max_bytes)
		summary_line("symbols",
			     "could not be appended to %u of the traces: --max-size leaves only %s",
			     c->symbols_failed, SIZE(limit_left(&c->writer.limit)));
	else if (c->symbols_failed)
		summary_line(
			"symbols",
			"could not be appended to %u of the traces; ms-snap --symbols=embed TRACE "
			"says why",
			c->symbols_failed);
}

static void print_nothing(const struct control *c)
{
	char room[64];
	const char *name = c->attached ? c->launch.program : c->opt->launch.command[0];
	const char *why =
		c->refused.text[0] ? c->refused.text : "it did not load the recorder's library";
	fprintf(stderr, "ms-record: %s %s; %s%s\n", name, became(c, room),
		c->abandoned ? "the trace is incomplete: writing it made no progress for 5 s"
			     : "nothing was recorded: ",
		c->abandoned ? "" : why);
}

void summary_print(const struct control *c)
{
	char room[64];
	const struct image *m = main_image(c);
	if (!m) {
		print_nothing(c);
		return;
	}
	fprintf(stderr, "ms-record: %s (pid %d) %s after %s", m->name, (int)m->pid, became(c, room),
		DURATION(c->end_ns - c->start_ns));
	summary_quality(c, m);
	summary_losses(c, m);
	summary_lost(c);
	summary_trouble(m);
	print_gaps(c, m);
	print_hooks(c);
	summary_other_trouble(c, m);
	print_left(c);
	if (c->refused.text[0])
		summary_line("trouble", "not every program was recorded: %s", c->refused.text);
	if (m->stats.allocations && c->opt->session.sample_bytes)
		print_sampled_heap(m, c->opt->session.sample_bytes);
	else if (m->stats.allocations)
		print_heap(m);
	else if (!m->file || c->run.started_ns)
		print_no_heap(c, m);
	print_exit(c, m);
	print_triggers(c);
	print_mapped(c, m);
	print_cost(m);
	if (c->attached || c->attach)
		print_attached(c);
	print_stacks(c, m);
	if (m->guest.allocator[0])
		summary_line("allocator", "%s", m->guest.allocator);
	print_worst(c);
	for (size_t i = 0; i < c->images.n && c->opt->verbose; i++)
		print_image(&c->images.v[i]);
	struct ms_arena a = {0};
	print_files(c);
	print_symbols(c, &a);
	bool there = images_first(c) != NULL;
	const char *file = ms_shell_word(&a, c->files.path);
	if (c->files.folder && there)
		fprintf(stderr, "next: ms-report %s\n", file);
	if (c->files.folder && there && c->kept)
		fprintf(stderr, "      ms-report --by process %s %s\n", file,
			ms_shell_word(&a, c->files.folder));
	ms_arena_free(&a);
}
