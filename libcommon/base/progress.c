/* SPDX-License-Identifier: MIT
 * One line on a terminal that says how far long work is.
 */
#include "progress.h"

#include <stdio.h>
#include <unistd.h>

#include "clock.h"
#include "units.h"

#define EVERY_NS 300000000

void ms_progress_start(struct ms_progress *p, bool wanted)
{
	*p = (struct ms_progress){.on = wanted && isatty(STDERR_FILENO)};
	p->due_ns = ms_clock_ns(CLOCK_MONOTONIC) + EVERY_NS;
}

void ms_progress_show(struct ms_progress *p, const char *what, uint64_t done, uint64_t total,
		      const char *detail)
{
	char share[MS_UNIT_BUF], name[40] = "";
	uint64_t now = p->on ? ms_clock_ns(CLOCK_MONOTONIC) : 0;
	if (!p->on || now < p->due_ns)
		return;
	p->due_ns = now + EVERY_NS;
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
