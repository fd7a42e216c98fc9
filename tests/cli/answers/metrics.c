// SPDX-License-Identifier: MIT
// A service with counters: one for each route, one for each worker, and one more for each request.
#include "random.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUTES = 300, BUCKETS = 512, REQUESTS = 40000, SAMPLES = 8, WINDOW = 256 };

struct metric {
	struct metric *next;
	char *name;
	unsigned long count, sum;
	unsigned samples[SAMPLES];
};
struct route {
	char *path, *page;
	size_t size;
};
struct response {
	char *head, *body;
};

static struct metric *registry[BUCKETS];
static struct route *routes;
static struct response window[WINDOW]; // the last ones, for whoever asks again
static unsigned long seed = 141;

static unsigned bucket(const char *name)
{
	unsigned h = 2166136261u;
	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619u;
	return h % BUCKETS;
}

static struct metric *metric(const char *name)
{
	struct metric **slot = &registry[bucket(name)];
	for (struct metric *m = *slot; m; m = m->next)
		if (strcmp(m->name, name) == 0)
			return m;
	struct metric *m = calloc(1, sizeof(*m)); // GUILTY: registry grown by requests, growth
	m->name = strdup(name);
	m->next = *slot;
	return *slot = m;
}

static void record(struct metric *m, unsigned value)
{
	m->samples[m->count++ % SAMPLES] = value;
	m->sum += value;
}

static void load_routes(void)
{
	char text[64];
	routes = calloc(ROUTES, sizeof(*routes));
	for (unsigned i = 0; i < ROUTES; i++) {
		snprintf(text, sizeof(text), "/shop/department/%u", i);
		routes[i].path = strdup(text);
		routes[i].size = 4000 + random_below(&seed, 12000);
		routes[i].page = malloc(routes[i].size);
		memset(routes[i].page, 'p', routes[i].size);
	}
}

static struct response respond(const struct route *r, unsigned number)
{
	struct response answer = {malloc(256), malloc(r->size)};
	snprintf(answer.head, 256, "200 OK\nX-Request: %u\nX-Path: %s\nLength: %zu\n", number,
		 r->path, r->size);
	memcpy(answer.body, r->page, r->size);
	return answer;
}

static unsigned long serve(unsigned number)
{
	char name[96];
	const struct route *r = &routes[random_below(&seed, ROUTES)];
	struct response answer = respond(r, number), *old = &window[number % WINDOW];
	snprintf(name, sizeof(name), "route.time%s", r->path);
	record(metric(name), number % 17);
	snprintf(name, sizeof(name), "worker.%u.bytes", number % 8);
	record(metric(name), (unsigned)r->size);
	if (number % 4 == 0) {
		snprintf(name, sizeof(name), "slow.request.%u", number);
		record(metric(name), number % 1000);
	}
	free(old->head);
	free(old->body);
	*old = answer;
	return r->size;
}

static unsigned long report(void)
{
	unsigned long sum = 0;
	for (unsigned i = 0; i < BUCKETS; i++)
		for (const struct metric *m = registry[i]; m; m = m->next)
			sum += m->sum;
	return sum;
}

int main(void)
{
	unsigned long bytes = 0;
	load_routes();
	for (unsigned i = 0; i < REQUESTS; i++)
		bytes += serve(i);
	printf("%lu bytes, %lu counted\n", bytes, report());
	return 0;
}
