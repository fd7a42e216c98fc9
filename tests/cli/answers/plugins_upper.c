// SPDX-License-Identifier: MIT
// The plugin of plugins.c: words in capitals, with a memory of words that it has seen.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1024 };

struct word {
	struct word *next;
	char *text, *upper;
};

char *convert(const char *text);
void finish(void);

static struct word *words[BUCKETS];
static char *scratch;

static unsigned bucket(const char *text)
{
	unsigned h = 5381;
	for (; *text; text++)
		h = h * 33 + (unsigned char)*text;
	return h % BUCKETS;
}

static const char *upper_of(const char *text)
{
	struct word **slot = &words[bucket(text)];
	for (struct word *w = *slot; w; w = w->next)
		if (strcmp(w->text, text) == 0)
			return w->upper;
	struct word *w = malloc(sizeof(*w));
	w->text = strdup(text);
	w->upper = strdup(text); // GUILTY: leak in a plugin that was closed, leak
	for (char *c = w->upper; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	w->next = *slot;
	*slot = w;
	return w->upper;
}

char *convert(const char *text)
{
	if (!scratch)
		scratch = malloc(4096);
	char *out = malloc(strlen(text) + 2), *copy = strcpy(scratch, text), *end = out;
	for (char *save, *word = strtok_r(copy, " ", &save); word;
	     word = strtok_r(NULL, " ", &save))
		end += sprintf(end, "%s ", upper_of(word));
	return out;
}

void finish(void)
{
	for (unsigned i = 0; i < BUCKETS; i++)
		while (words[i]) {
			struct word *w = words[i];
			words[i] = w->next;
			free(w->text);
			free(w);
		}
	free(scratch);
	scratch = NULL;
}
