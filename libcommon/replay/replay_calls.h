/* SPDX-License-Identifier: MIT
 * The calls of one site, and what sets those whose block is still live at the end apart from those
 * whose block was freed: "every 7th call, all of 4,096 B, all on one thread".
 *
 * A fact holds for at least 95 % of the live blocks and for at most half of the freed ones (an age for
 * 5 %), and by more than chance: that as many calls had it by chance is less probable than e^-7, divided
 * by the number of facts of its kind that there could be. Of few calls nothing is said, therefore.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blocks.h"
#include "format/event.h"

/* Limit of calls that are kept; the first ones. */
#define MS_CALLS_MAX (UINT32_C(4) << 20)

struct ms_call {
	uint64_t tick; /* of the allocation; of a freed block the ticks that it lived */
	uint64_t size;
	uint32_t thread; /* index of threads */
	bool freed;
};

struct ms_calls {
	struct ms_blocks live; /* the owner is the index of the call */
	MS_ARRAY(struct ms_call) all;
	uint64_t next_number; /* numbers of blocks ascend, as in a replay */
	uint64_t last_tick;   /* of the site's last event, up to which live blocks have their age */
	bool more;            /* there were more than MS_CALLS_MAX */
};

enum ms_call_kind {
	MS_CALL_THREAD, /* `low`: the thread's number in ms_call_names */
	MS_CALL_LABEL,  /* `low`: the label's number there */
	MS_CALL_SIZE,   /* sizes from `low` to `high` */
	MS_CALL_EVERY,  /* call `low`, from 1, and from then on every `high`th */
	MS_CALL_RANGE,  /* calls `low` to `high` */
	MS_CALL_ALL,    /* the facts before, if there are several, at once */
	MS_CALL_AGE     /* live for `low` ticks or more; of live blocks up to the last event */
};
#define MS_CALL_FACTS 7u

struct ms_call_fact {
	enum ms_call_kind kind;
	uint64_t low, high;
	/* how many of the live and of the freed blocks it holds for; `of`: of those for which the
	 * facts before hold, but for MS_CALL_ALL of all */
	uint64_t live, of_live, freed, of_freed;
};

/* Tells what indices of threads stand for: arrays with an element for each. */
struct ms_call_names {
	const uint32_t *thread, *label; /* equal numbers are the same; 0 = none */
	size_t n;
};

void ms_calls_init(struct ms_calls *c);
void ms_calls_free(struct ms_calls *c);
/* Takes an event, which must be of the site if it allocates. */
void ms_calls_event(struct ms_calls *c, const struct ms_event *ev);
/* Finds the facts; returns how many. `sampled`: calls cannot be counted, so that no fact on their
 * numbers is found. */
size_t ms_calls_facts(const struct ms_calls *c, const struct ms_call_names *names, bool sampled,
		      struct ms_call_fact out[MS_CALL_FACTS]);
