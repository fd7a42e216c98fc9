// SPDX-License-Identifier: MIT
// A mail filter: messages are split, matched against rules, rewritten and delivered. All memory is from xmalloc and its relatives.
#include "random.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RULES = 2500, MESSAGES = 120000 };

static void *xmalloc(size_t size)
{
	void *p = malloc(size ? size : 1);
	if (!p) {
		fputs("out of memory\n", stderr);
		exit(1);
	}
	return p;
}

static char *xstrndup(const char *s, size_t n)
{
	char *copy = xmalloc(n + 1);
	memcpy(copy, s, n);
	copy[n] = '\0';
	return copy;
}

static char *xstrdup(const char *s)
{
	return xstrndup(s, strlen(s));
}

struct rule {
	char *pattern, *folder;
	unsigned hits;
};
struct message {
	char *from, *subject, *body;
};

static struct rule **rules;
static unsigned long seed = 13;

static void load_rules(void)
{
	char text[96];
	rules = xmalloc(RULES * sizeof(*rules));
	for (unsigned i = 0; i < RULES; i++) {
		rules[i] = xmalloc(sizeof(**rules));
		snprintf(text, sizeof(text), "topic-%u", i);
		rules[i]->pattern = xstrdup(text);
		snprintf(text, sizeof(text), "archive/of/the/year/folder-%u", i % 40);
		rules[i]->folder = xstrdup(text);
		rules[i]->hits = 0;
	}
}

static struct message *read_message(unsigned number)
{
	char text[256];
	struct message *m = xmalloc(sizeof(*m));
	snprintf(text, sizeof(text), "sender-%u@example.org", number % 500);
	m->from = xstrdup(text);
	snprintf(text, sizeof(text), "Re: Re: [list] topic-%u", random_below(&seed, RULES * 2));
	m->subject = xstrdup(text);
	m->body = xmalloc(2048);
	memset(m->body, 'x', 2047);
	m->body[2047] = '\0';
	return m;
}

// The subject without what answers put before it.
static char *bare_subject(const char *subject)
{
	while (strncmp(subject, "Re: ", 4) == 0)
		subject += 4;
	return xstrdup(subject); // GUILTY: leak through a wrapper, leak
}

static struct rule *match(const struct message *m)
{
	const char *subject = bare_subject(m->subject);
	const char *topic = strstr(subject, "topic-");
	unsigned number = topic ? (unsigned)atoi(topic + 6) : RULES;
	return number < RULES && strcmp(rules[number]->pattern, topic) == 0 ? rules[number] : NULL;
}

static size_t deliver(const struct message *m, struct rule *rule)
{
	char *folder = xstrdup(rule ? rule->folder : "inbox");
	char *user = xstrndup(m->from, strcspn(m->from, "@"));
	char *head = xmalloc(strlen(folder) + strlen(user) + strlen(m->subject) + 64);
	size_t size = (size_t)sprintf(head, "X-Folder: %s\nX-User: %s\nSubject: %s\n", folder, user,
				      m->subject);
	char *whole = xmalloc(size + strlen(m->body) + 1);
	strcpy(whole, head);
	strcpy(whole + size, m->body);
	size = strlen(whole);
	if (rule)
		rule->hits++;
	free(whole);
	free(head);
	free(user);
	free(folder);
	return size;
}

int main(void)
{
	size_t bytes = 0;
	load_rules();
	for (unsigned i = 0; i < MESSAGES; i++) {
		struct message *m = read_message(i);
		bytes += deliver(m, match(m));
		free(m->body);
		free(m->subject);
		free(m->from);
		free(m);
	}
	printf("%zu bytes delivered\n", bytes);
	return 0;
}
