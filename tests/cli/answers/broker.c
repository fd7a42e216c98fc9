// SPDX-License-Identifier: MIT
// A message broker: topics with bounded queues, subscribers, and frames that are put together from pieces up to a limit.
#include "random.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOPICS = 60, QUEUE = 64, SUBSCRIBERS = 1200, FRAMES = 9000, LIMIT = 48 << 10 };

struct message {
	size_t size;
	char bytes[];
};
struct topic {
	char *name;
	struct message *queue[QUEUE];
	unsigned head;
	unsigned long published;
};
struct subscriber {
	char *address;
	unsigned topic;
	unsigned long seen;
};
struct frame {
	char *bytes;
	size_t size, room;
};

static struct topic *topics[TOPICS];
static struct subscriber *subscribers[SUBSCRIBERS];
static unsigned long seed = 71, refused;

// As realloc, but no frame is larger than the limit.
static void *limited_realloc(void *p, size_t size)
{
	return size > LIMIT ? NULL : realloc(p, size);
}

static int add_piece(struct frame *f, const char *piece, size_t size)
{
	if (f->size + size > f->room) {
		size_t room = f->room ? f->room * 2 : 2048;
		f->bytes = limited_realloc(f->bytes, room); // GUILTY: lost when realloc fails, leak
		if (!f->bytes) {
			f->size = f->room = 0;
			return -1;
		}
		f->room = room;
	}
	memcpy(f->bytes + f->size, piece, size);
	f->size += size;
	return 0;
}

static int receive(struct frame *f, unsigned pieces)
{
	char piece[1000];
	while (pieces--) {
		memset(piece, (int)('a' + pieces % 26), sizeof(piece));
		if (add_piece(f, piece, 300 + random_below(&seed, 700)) != 0) {
			refused++;
			return -1;
		}
	}
	return 0;
}

static void publish(struct topic *t, const struct frame *f)
{
	struct message *m = malloc(sizeof(*m) + f->size);
	m->size = f->size;
	memcpy(m->bytes, f->bytes, f->size);
	free(t->queue[t->head]);
	t->queue[t->head] = m;
	t->head = (t->head + 1) % QUEUE;
	t->published++;
}

static size_t deliver(struct subscriber *s)
{
	struct topic *t = topics[s->topic];
	size_t bytes = 0;
	for (; s->seen < t->published; s->seen++) {
		struct message *m = t->queue[s->seen % QUEUE];
		if (t->published - s->seen > QUEUE)
			continue;
		char *packet = malloc(m->size + 64);
		int head = snprintf(packet, 64, "to %s\n", s->address);
		memcpy(packet + head, m->bytes, m->size);
		bytes += m->size + (size_t)head;
		free(packet);
	}
	return bytes;
}

int main(void)
{
	char text[64];
	size_t bytes = 0;
	for (unsigned i = 0; i < TOPICS; i++) {
		topics[i] = calloc(1, sizeof(*topics[i]));
		snprintf(text, sizeof(text), "prices/of/market/%u", i);
		topics[i]->name = strdup(text);
	}
	for (unsigned i = 0; i < SUBSCRIBERS; i++) {
		subscribers[i] = calloc(1, sizeof(*subscribers[i]));
		snprintf(text, sizeof(text), "10.0.%u.%u:9000", i / 256, i % 256);
		subscribers[i]->address = strdup(text);
		subscribers[i]->topic = i % TOPICS;
	}
	for (unsigned i = 0; i < FRAMES; i++) {
		struct frame f = {0};
		// now and then somebody sends more than is allowed
		unsigned pieces = i % 90 == 50 ? 100 : 1 + random_below(&seed, 8);
		if (receive(&f, pieces) == 0)
			publish(topics[random_below(&seed, TOPICS)], &f);
		free(f.bytes);
		bytes += deliver(subscribers[i % SUBSCRIBERS]);
	}
	printf("%zu bytes delivered, %lu refused\n", bytes, refused);
	return 0;
}
