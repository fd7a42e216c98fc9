/* SPDX-License-Identifier: MIT
 * One line on a terminal that says how far long work is.
 */
#include "progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "units.h"

#define EVERY_NS 300000000

static void rest(struct ms_progress *p)
{
	clock_gettime(CLOCK_MONOTONIC, &p->due);
	p->due.tv_nsec += EVERY_NS;
	if (p->due.tv_nsec >= 1000000000) {
		p->due.tv_nsec -= 1000000000;
		p->due.tv_sec++;
	}
}

void ms_progress_start(struct ms_progress *p, bool wanted)
{
	*p = (struct ms_progress){.on = wanted && isatty(STDERR_FILENO)};
	rest(p);
}

static bool due(const struct ms_progress *p)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec != p->due.tv_sec ? now.tv_sec > p->due.tv_sec
					   : now.tv_nsec >= p->due.tv_nsec;
}

void ms_progress_show(struct ms_progress *p, const char *what, uint64_t done, uint64_t total,
		      const char *detail)
{
	char share[MS_UNIT_BUF], name[40] = "";
	if (!p->on || !due(p))
		return;
	rest(p);
	p->drawn = true;
	for (size_t i = 0; detail && detail[i] && i + 1 < sizeof name; i++)
		name[i] = detail[i] >= ' ' && detail[i] < 0x7f ? detail[i] : '?';
	if (total)
		snprintf(share, sizeof share, "%3.0f %%",
			 100.0 * (double)(done < total ? done : total) / (double)total);
	else
		ms_format_size(share, done);
	fprintf(stderr, "\r\033[K%s: %s%s%s", what, share, name[0] ? " in " : "", name);
	fflush(stderr);
}

void ms_progress_end(struct ms_progress *p)
{
	if (p->drawn)
		fputs("\r\033[K", stderr);
	p->drawn = false;
}
