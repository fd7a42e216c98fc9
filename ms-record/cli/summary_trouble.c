/* SPDX-License-Identifier: MIT
 * The summary's account of what was not recorded: how complete the traces are, and why.
 */
#include "summary.h"
#include "summary_lines.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ms-record/control/control.h"

/* Returns the number of program images, except `said`, that were not fully recorded. *sum receives
 * the numbers of their lost events. */
static uint64_t other_trouble(const struct control *c, const struct image *said, struct stats *sum)
{
	uint64_t programs = 0;
	*sum = (struct stats){0};
	for (size_t i = 0; i < c->images.n; i++) {
		const struct image *m = &c->images.v[i];
		if (m == said || !(m->stats.lost || m->damage[0] || m->guest.disabled[0] ||
				   m->error || images_unhooked(m) || images_elsewhere(m)))
			continue;
		sum->lost += m->stats.lost;
		sum->crowded += m->stats.crowded;
		programs++;
	}
	return programs;
}

static void print_elsewhere(const struct image *m)
{
	const char *name = m->guest.missed, *end = strstr(name, " in ");
	fprintf(stderr,
		"at least %s blocks came from elsewhere (their frees were recorded, their "
		"allocations were not)",
		COUNT(images_elsewhere(m)));
	if (end)
		fprintf(stderr, "; perhaps from %s: --hook '%.*s(...) -> ptr in malloc'", name,
			(int)(end - name), name);
}

void summary_quality(const struct control *c, const struct image *m)
{
	const struct stats *t = &m->stats;
	struct stats others;
	const char *whose = other_trouble(c, m, &others) || c->missed ? " of this program" : "";
	fputs("; ", stderr);
	if (images_lost(m))
		fprintf(stderr, "its trace was %s", images_lost(m));
	else if (t->lost)
		fprintf(stderr, "%s events lost%s", COUNT(t->lost),
			t->violations ? ", the others recorded" : "");
	else if (m->damage[0] || m->guest.disabled[0] || m->error)
		fputs("recorded in part", stderr);
	else if (!t->events)
		fputs("nothing recorded", stderr);
	else if (c->opt->session.sample_bytes)
		fprintf(stderr, "sampled every %s of allocations on average",
			SIZE(c->opt->session.sample_bytes));
	else if (images_elsewhere(m))
		print_elsewhere(m);
	else if (images_unhooked(m))
		fprintf(stderr, "recorded in part: %s is not hooked", images_unhooked(m));
	else if (t->paused_allocations && t->paused_ns)
		fprintf(stderr, "every event%s recorded except during pauses", whose);
	else if (c->attached)
		fprintf(stderr, "every event%s recorded while attached", whose);
	else if (c->stop_why)
		fprintf(stderr, "every event%s recorded until recording was stopped by %s", whose,
			c->stop_why);
	else
		fprintf(stderr, "every event%s recorded", whose);
	if (t->violations)
		fprintf(stderr, ", %s of them out of order", COUNT(t->violations));
	fputc('\n', stderr);
}

/* Tells whether most lost events are those of threads for which there was no ring. */
static bool crowded(const struct stats *t)
{
	return t->crowded > t->lost / 2;
}

/* Returns what would have avoided most losses: a buffer four times as large, but at least 256 MiB,
 * or fewer threads. */
static const char *remedy(const struct control *c, const struct stats *t, char room[80])
{
	uint64_t mib = c->opt->session.buffer_bytes / (UINT64_C(1) << 20) * 4;
	if (crowded(t))
		snprintf(room, 80, "it had more threads at once than can be recorded");
	else
		snprintf(room, 80, "for a larger buffer: --buffer=%" PRIu64 "M",
			 mib > 256 ? mib : 256);
	return room;
}

void summary_other_trouble(const struct control *c, const struct image *said)
{
	char room[80];
	struct stats others;
	uint64_t programs = other_trouble(c, said, &others);
	const char *were = programs == 1 ? "program was" : "programs were";
	if (others.lost)
		summary_line("trouble",
			     "%" PRIu64 " further %s recorded in part, %s events lost there; %s",
			     programs, were, COUNT(others.lost), remedy(c, &others, room));
	else if (programs)
		summary_line(
			"trouble", "%" PRIu64 " further %s recorded in part or not at all%s%s%s",
			programs, were, c->files.folder ? ": see " : "",
			c->files.folder ? c->files.folder : "", c->files.folder ? "/index" : "");
}

void summary_lost(const struct control *c)
{
	size_t n = 0;
	for (size_t i = 0; i < c->images.n; i++) {
		const char *lost = images_lost(&c->images.v[i]);
		if (lost && n++ < LOST_NAMED)
			summary_line("trouble", "'%s' was %s during the recording",
				     c->images.v[i].file, lost);
	}
	if (n > LOST_NAMED)
		summary_line("trouble", "%zu more trace%s removed or replaced during the recording",
			     n - LOST_NAMED, n - LOST_NAMED == 1 ? " was" : "s were");
}

/* Explains in `text` why recording stopped early. Returns false if it did not stop early. */
static bool stopped(const struct image *m, char text[400])
{
	const char *then = "recording stopped, the program continued";
	if (m->error)
		snprintf(text, 400, "%.330s: %s", m->error, then);
	else if (m->damage[0])
		snprintf(text, 400,
			 "the recorder's data was damaged (%.200s): %s; please report it",
			 m->damage, then);
	return m->error || m->damage[0];
}

void summary_failures(const struct control *c)
{
	size_t n = 0;
	for (size_t i = 0; i < c->images.n; i++) {
		const struct image *m = &c->images.v[i];
		char why[400];
		if (stopped(m, why) && n++ < LOST_NAMED)
			fprintf(stderr, "ms-record: '%s': %s\n", m->file, why);
	}
	if (n > LOST_NAMED)
		fprintf(stderr, "ms-record: recording also stopped early in %zu more trace%s\n",
			n - LOST_NAMED, PLURAL(n - LOST_NAMED));
}

void summary_losses(const struct control *c, const struct image *m)
{
	const struct stats *t = &m->stats;
	const char *why = "";
	char room[80];
	if (c->attached && !c->opt->session.sample_bytes && !crowded(t))
		why = "; threads of an attached process never wait for the recorder; to record "
		      "less: -s 512k";
	else if (!c->attached && !c->opt->session.wait_ns && !crowded(t))
		why = "; without --buffer=drop, threads wait instead";
	if (t->lost)
		summary_line("lost", "%s of %s events%s; %s", COUNT(t->lost),
			     COUNT(t->events + t->lost), why, remedy(c, t, room));
}

void summary_trouble(const struct image *m)
{
	char why[400];
	if (stopped(m, why))
		summary_line("trouble", "%s", why);
	if (m->guest.disabled[0])
		summary_line("trouble",
			     "the recorder in the program switched itself off: %s; the program "
			     "continued",
			     m->guest.disabled);
}
