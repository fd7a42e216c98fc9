/* SPDX-License-Identifier: MIT
 * The model of the heap foresees what the C library's malloc does.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/address.h"
#include "format/event.h"

#define EVENTS 300000u
#define LIVE 3000u

static struct ms_address_encoder encoder;
static uint8_t memory[MS_ADDRESS_MEMORY(EVENTS)];
static struct {
	void *block;
	uint64_t number, size;
} live[LIVE];
static uint64_t number, seed = 1;

static unsigned number_below(unsigned n)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (unsigned)(seed >> 33) % n;
}

/* Sizes of all lists: cached, fast, small, large. */
static size_t some_size(void)
{
	static const unsigned most[] = {40, 120, 120, 400, 1000, 1100, 6000, 100000};
	return number_below(most[number_below(8)]) + 1;
}

static void step(void)
{
	unsigned i = number_below(LIVE), how = number_below(8);
	void *old = live[i].block;
	uint64_t was = (uintptr_t)old, old_size = live[i].size;
	struct ms_event ev = {.freed = live[i].number};
	if (old && how < 5) {
		ev.kind = MS_EV_FREE;
		free(old);
		live[i].block = NULL;
		ms_address_put(&encoder, &ev, was, old_size);
		return;
	}
	ev.kind = old ? MS_EV_REALLOC : MS_EV_ALLOC;
	ev.size = live[i].size = some_size();
	ev.number = live[i].number = number++;
	ev.stack = old ? 3 : how % 4 == 1;
	live[i].block = old        ? realloc(old, ev.size)
			: ev.stack ? calloc(1, ev.size)
				   : malloc(ev.size);
	ev.address = (uintptr_t)live[i].block;
	ms_address_put(&encoder, &ev, was, was ? old_size : 0);
}

int main(void)
{
#if !defined(__GLIBC__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return 0; /* another allocator */
#endif
	free(malloc(100000));
	ms_address_encoder_init(&encoder, memory, EVENTS);
	ms_address_encoder_begin(&encoder, 0, true);
	for (unsigned i = 0; i < EVENTS; i++)
		step();
	for (unsigned i = 0; i < LIVE; i++)
		free(live[i].block);
	if (encoder.missed * 100 > encoder.asked || encoder.asked < EVENTS / 4) {
		printf("%llu of %llu addresses were not foreseen\n",
		       (unsigned long long)encoder.missed, (unsigned long long)encoder.asked);
		return 1;
	}
	return 0;
}
