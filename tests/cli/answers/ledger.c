// SPDX-License-Identifier: MIT
// A parser of bookings: lines become entries, accounts are balanced; lines that are wrong are reported and skipped.
#include "random.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 400000, ACCOUNTS = 800, KEPT = 5000 };

struct entry {
	char *account, *note;
	long cents;
};
struct account {
	char *name;
	long balance;
	unsigned entries;
};

static struct account accounts[ACCOUNTS];
static struct entry *latest[KEPT];
static unsigned long seed = 17, rejected;

static char *field(const char **at)
{
	size_t n = strcspn(*at, ";");
	char *text = strndup(*at, n);
	*at += n + ((*at)[n] == ';');
	return text;
}

static void drop_entry(struct entry *e)
{
	if (!e)
		return;
	free(e->account);
	free(e->note);
	free(e);
}

static int parse_cents(const char *text, long *cents)
{
	char *end;
	*cents = strtol(text, &end, 10);
	return end == text || *end ? -1 : 0;
}

static struct entry *parse_line(const char *line)
{
	struct entry *e = calloc(1, sizeof(*e));
	char *cents;
	e->account = field(&line);
	cents = field(&line); // GUILTY: leak on an error path, leak
	if (parse_cents(cents, &e->cents) != 0) {
		rejected++;
		drop_entry(e);
		return NULL;
	}
	free(cents);
	e->note = field(&line);
	return e;
}

static int post(const struct entry *e)
{
	unsigned number = (unsigned)atoi(e->account + strlen("account-"));
	if (number >= ACCOUNTS || strcmp(accounts[number].name, e->account) != 0)
		return -1;
	accounts[number].balance += e->cents;
	accounts[number].entries++;
	return 0;
}

static void read_line(unsigned number, char *line, size_t room)
{
	const char *wrong = number % 25 == 9 ? " euro and some" : "";
	snprintf(line, room, "account-%u;%d%s;note of booking %u, for the files",
		 random_below(&seed, ACCOUNTS), (int)random_below(&seed, 200000) - 100000, wrong,
		 number);
}

int main(void)
{
	char line[256], name[32];
	long sum = 0;
	for (unsigned i = 0; i < ACCOUNTS; i++) {
		snprintf(name, sizeof(name), "account-%u", i);
		accounts[i].name = strdup(name);
	}
	for (unsigned i = 0; i < LINES; i++) {
		read_line(i, line, sizeof(line));
		struct entry *e = parse_line(line);
		if (!e)
			continue;
		if (post(e) != 0)
			rejected++;
		drop_entry(latest[i % KEPT]);
		latest[i % KEPT] = e;
	}
	for (unsigned i = 0; i < ACCOUNTS; i++)
		sum += accounts[i].balance;
	printf("%ld, %lu rejected\n", sum, rejected);
	return 0;
}
