// SPDX-License-Identifier: MIT
// Invoices are formatted, one document each, from accounts that stay in memory.
#include "random.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ACCOUNTS = 3000, INVOICES = 250, POSITIONS = 400 };

struct position {
	char *what;
	unsigned cents;
};
struct account {
	char *owner;
	struct position *positions;
	unsigned count, room;
};

static struct account *accounts;
static unsigned long seed = 5;

static void book(struct account *a, unsigned number)
{
	char what[80];
	if (a->count == a->room) {
		a->room = a->room ? a->room * 2 : 4;
		a->positions = realloc(a->positions, a->room * sizeof(*a->positions));
	}
	snprintf(what, sizeof(what), "delivery %u, as agreed by telephone", number);
	a->positions[a->count].what = strdup(what);
	a->positions[a->count++].cents = 100 + random_below(&seed, 100000);
}

static char *append(char *text, const char *more)
{
	size_t have = text ? strlen(text) : 0, add = strlen(more);
	char *longer = malloc(have + add + 1); // GUILTY: quadratic string, churn
	if (text)
		memcpy(longer, text, have);
	memcpy(longer + have, more, add + 1);
	free(text);
	return longer;
}

static char *format_invoice(const struct account *a, unsigned number)
{
	char line[160];
	unsigned long sum = 0;
	char *text = NULL;
	snprintf(line, sizeof(line), "INVOICE %u for %s\n", number, a->owner);
	text = append(text, line);
	for (unsigned i = 0; i < POSITIONS; i++) {
		const struct position *p = &a->positions[i % a->count];
		sum += p->cents;
		snprintf(line, sizeof(line), "%4u  %-60s %6u.%02u\n", i, p->what, p->cents / 100,
			 p->cents % 100);
		text = append(text, line);
	}
	snprintf(line, sizeof(line), "SUM %lu.%02lu\n", sum / 100, sum % 100);
	return append(text, line);
}

static unsigned long send(const char *text)
{
	size_t size = strlen(text);
	char *packet = malloc(size + 64);
	unsigned long check = 0;
	int head = snprintf(packet, 64, "LENGTH %zu\n", size);
	memcpy(packet + head, text, size);
	for (size_t i = 0; i < size + (size_t)head; i++)
		check = check * 31 + (unsigned char)packet[i];
	free(packet);
	return check;
}

int main(void)
{
	unsigned long check = 0;
	accounts = calloc(ACCOUNTS, sizeof(*accounts));
	for (unsigned i = 0; i < ACCOUNTS; i++) {
		char owner[64];
		snprintf(owner, sizeof(owner), "customer %u, some street", i);
		accounts[i].owner = strdup(owner);
	}
	for (unsigned i = 0; i < ACCOUNTS * 12; i++)
		book(&accounts[i % ACCOUNTS], i);
	for (unsigned i = 0; i < INVOICES; i++) {
		char *text = format_invoice(&accounts[i * 41 % ACCOUNTS], i);
		check ^= send(text);
		free(text);
	}
	printf("%lx\n", check);
	for (unsigned i = 0; i < ACCOUNTS; i++) {
		for (unsigned p = 0; p < accounts[i].count; p++)
			free(accounts[i].positions[p].what);
		free(accounts[i].positions);
		free(accounts[i].owner);
	}
	free(accounts);
	return 0;
}
