// SPDX-License-Identifier: MIT
// A build graph: targets know what they need and who needs them. Parts of the graph are made for each configuration.
#include "random.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RULES = 900, TARGETS = 150, CONFIGURATIONS = 100, LOG = 2000 };

struct edge {
	struct edge *next;
	struct target *other;
};
struct target {
	struct target *prev, *next; // a ring, whose head is the graph's goal
	char *path;
	struct edge *needs, *needed_by;
	unsigned long stamp;
	int visited;
};
struct rule {
	char *pattern, *command;
};

static struct rule rules[RULES];
static char *log_lines[LOG];
static unsigned long seed = 171, logged;

static char *text_of(const char *format, unsigned a, unsigned b)
{
	char text[160];
	snprintf(text, sizeof(text), format, a, b);
	return strdup(text);
}

static struct target *new_target(struct target *goal, unsigned configuration, unsigned number)
{
	struct target *t = calloc(1, sizeof(*t)); // GUILTY: cycle of a doubly linked list, leak
	t->path = text_of("out/config-%u/lib/objects/file%u.o", configuration, number);
	t->prev = goal ? goal->prev : t;
	t->next = goal ? goal : t;
	t->prev->next = t;
	t->next->prev = t;
	return t;
}

static void link_targets(struct target *from, struct target *to)
{
	struct edge *edge = malloc(sizeof(*edge));
	*edge = (struct edge){from->needs, to};
	from->needs = edge;
	edge = malloc(sizeof(*edge));
	*edge = (struct edge){to->needed_by, from};
	to->needed_by = edge;
}

static struct target *make_graph(unsigned configuration)
{
	struct target *goal = new_target(NULL, configuration, 0), *made[TARGETS] = {goal};
	for (unsigned i = 1; i < TARGETS; i++) {
		made[i] = new_target(goal, configuration, i);
		link_targets(made[random_below(&seed, i)], made[i]);
	}
	return goal;
}

static void drop_edges(struct edge *edge)
{
	while (edge) {
		struct edge *next = edge->next;
		free(edge);
		edge = next;
	}
}

// Frees all but the list itself: targets were once owned by somebody else.
static void drop_graph(struct target *goal)
{
	struct target *t = goal;
	do {
		drop_edges(t->needs);
		drop_edges(t->needed_by);
		t->needs = t->needed_by = NULL;
		free(t->path);
		t->path = NULL;
		t = t->next;
	} while (t != goal);
}

static void note(const char *path, const struct rule *rule)
{
	char *line = malloc(strlen(path) + strlen(rule->command) + 32);
	sprintf(line, "[%lu] %s: %s", logged, path, rule->command);
	free(log_lines[logged % LOG]);
	log_lines[logged++ % LOG] = line;
}

static unsigned long build(struct target *t)
{
	if (t->visited++)
		return t->stamp;
	for (struct edge *edge = t->needs; edge; edge = edge->next)
		t->stamp = t->stamp * 31 + build(edge->other);
	char *command = malloc(4096);
	const struct rule *rule = &rules[(t->stamp + strlen(t->path)) % RULES];
	snprintf(command, 4096, "%s -o %s", rule->command, t->path);
	for (const char *c = command; *c; c++)
		t->stamp = t->stamp * 33 + (unsigned char)*c;
	note(t->path, rule);
	free(command);
	return t->stamp;
}

int main(void)
{
	unsigned long sum = 0;
	for (unsigned i = 0; i < RULES; i++)
		rules[i] = (struct rule){text_of("%u-*.c:%u", i, i % 7),
					 text_of("cc -c -O2 -DVARIANT=%u -Iinclude/%u", i, i * 3)};
	for (unsigned i = 0; i < CONFIGURATIONS; i++)
		for (unsigned again = 0; again < 6; again++) {
			struct target *goal = make_graph(i);
			sum ^= build(goal);
			drop_graph(goal);
		}
	printf("%lx, %lu built\n", sum, logged);
	for (unsigned i = 0; i < LOG; i++)
		free(log_lines[i]);
	return 0;
}
