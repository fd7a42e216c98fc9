// SPDX-License-Identifier: MIT
// A shop: customers, a catalogue that is loaded anew now and then, orders that come and go.
#include "random.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CUSTOMERS = 4000, GOODS = 1500, ORDERS = 300000, RELOAD_EVERY = 30000 };

struct item {
	char *name;
	unsigned price, stock;
};
struct catalogue {
	struct item **items;
	unsigned count, version;
};
struct customer {
	char *name;
	unsigned spent, orders;
};
struct line {
	struct line *next;
	const struct item *item;
	unsigned quantity;
};
struct order {
	struct customer *customer;
	struct line *lines;
	char *receipt;
};

static struct customer *customers[CUSTOMERS];
static struct catalogue *current;
static unsigned long seed = 7;

static char *name_of(const char *kind, unsigned number)
{
	char name[64];
	snprintf(name, sizeof(name), "%s number %u", kind, number);
	return strdup(name);
}

static struct item *load_item(unsigned number, unsigned version)
{
	struct item *item = malloc(sizeof(*item));
	item->name = name_of("article", number);
	item->price = 100 + (number * 37 + version * 11) % 9000;
	item->stock = 1000000;
	return item;
}

static struct catalogue *load_catalogue(unsigned version)
{
	struct catalogue *c = calloc(1, sizeof(*c)); // GUILTY: forgotten root, leak
	c->items = calloc(GOODS, sizeof(*c->items));
	c->version = version;
	for (; c->count < GOODS; c->count++)
		c->items[c->count] = load_item(c->count, version);
	return c;
}

static void drop_catalogue(struct catalogue *c)
{
	for (unsigned i = 0; i < c->count; i++) {
		free(c->items[i]->name);
		free(c->items[i]);
	}
	free(c->items);
	free(c);
}

static struct order *take_order(void)
{
	struct order *order = calloc(1, sizeof(*order));
	order->customer = customers[random_below(&seed, CUSTOMERS)];
	unsigned lines = 1 + random_below(&seed, 6);
	while (lines--) {
		struct line *line = malloc(sizeof(*line));
		line->item = current->items[random_below(&seed, current->count)];
		line->quantity = 1 + random_below(&seed, 3);
		line->next = order->lines;
		order->lines = line;
	}
	return order;
}

static unsigned settle(struct order *order)
{
	unsigned sum = 0;
	order->receipt = malloc(1024);
	int at = snprintf(order->receipt, 1024, "for %s\n", order->customer->name);
	for (struct line *line = order->lines, *next; line; line = next) {
		next = line->next;
		sum += line->quantity * line->item->price;
		at += snprintf(order->receipt + at, 1024 - (size_t)at, "%u x %s\n", line->quantity,
			       line->item->name);
		free(line);
	}
	order->customer->spent += sum;
	order->customer->orders++;
	free(order->receipt);
	free(order);
	return sum;
}

int main(void)
{
	unsigned long taken = 0;
	for (unsigned i = 0; i < CUSTOMERS; i++) {
		customers[i] = calloc(1, sizeof(*customers[i]));
		customers[i]->name = name_of("customer", i);
	}
	for (unsigned i = 0; i < ORDERS; i++) {
		if (i % RELOAD_EVERY == 0)
			current = load_catalogue(i / RELOAD_EVERY);
		taken += settle(take_order());
	}
	printf("%lu taken\n", taken);
	drop_catalogue(current);
	for (unsigned i = 0; i < CUSTOMERS; i++) {
		free(customers[i]->name);
		free(customers[i]);
	}
	return 0;
}
