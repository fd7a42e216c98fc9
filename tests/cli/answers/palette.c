// SPDX-License-Identifier: MIT
// Pictures are reduced to few colours: for each a tree of its colours is built, which answers which colour is next.
#include "random.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 96, HEIGHT = 96, COLOURS = 255, PICTURES = 40, RECENT = 8 };

struct colour {
	unsigned char c[3];
};
struct node {
	struct colour colour;
	unsigned index;
	struct node *less, *more;
};
struct picture {
	struct colour *pixels;
	unsigned char *indexed;
};

static struct picture *recent[RECENT];
static unsigned *histogram;
static unsigned long seed = 111;
static int axis_now;

static int by_axis(const void *a, const void *b)
{
	return ((const struct colour *)a)->c[axis_now] - ((const struct colour *)b)->c[axis_now];
}

static struct node *build_tree(struct colour *colours, unsigned count, unsigned depth,
			       unsigned *index)
{
	if (count == 0)
		return NULL;
	axis_now = (int)(depth % 3);
	qsort(colours, count, sizeof(*colours), by_axis);
	struct node *n = malloc(sizeof(*n)); // GUILTY: tree built by recursion forgotten, leak
	n->colour = colours[count / 2];
	n->index = (*index)++;
	n->less = build_tree(colours, count / 2, depth + 1, index);
	n->more = build_tree(colours + count / 2 + 1, count - count / 2 - 1, depth + 1, index);
	return n;
}

static unsigned distance(struct colour a, struct colour b)
{
	unsigned sum = 0;
	for (int i = 0; i < 3; i++)
		sum += (unsigned)((a.c[i] - b.c[i]) * (a.c[i] - b.c[i]));
	return sum;
}

static void nearest(const struct node *n, struct colour c, unsigned depth, unsigned *best,
		    unsigned *index)
{
	if (!n)
		return;
	unsigned d = distance(n->colour, c);
	if (d < *best) {
		*best = d;
		*index = n->index;
	}
	int away = c.c[depth % 3] - n->colour.c[depth % 3];
	nearest(away < 0 ? n->less : n->more, c, depth + 1, best, index);
	if ((unsigned)(away * away) < *best)
		nearest(away < 0 ? n->more : n->less, c, depth + 1, best, index);
}

static struct picture *load_picture(void)
{
	struct picture *p = malloc(sizeof(*p));
	p->pixels = malloc(WIDTH * HEIGHT * sizeof(*p->pixels));
	p->indexed = malloc(WIDTH * HEIGHT);
	for (unsigned i = 0; i < WIDTH * HEIGHT; i++)
		for (int k = 0; k < 3; k++)
			p->pixels[i].c[k] = (unsigned char)random_below(&seed, 256);
	return p;
}

static struct colour *choose_colours(const struct picture *p)
{
	struct colour *colours = malloc(COLOURS * sizeof(*colours));
	for (unsigned i = 0; i < COLOURS; i++)
		colours[i] = p->pixels[i * 31 % (WIDTH * HEIGHT)];
	return colours;
}

static void reduce(struct picture *p)
{
	unsigned count = 0;
	struct colour *colours = choose_colours(p);
	struct node *tree = build_tree(colours, COLOURS, 0, &count);
	free(colours);
	for (unsigned i = 0; i < WIDTH * HEIGHT; i++) {
		unsigned best = ~0u, index = 0;
		nearest(tree, p->pixels[i], 0, &best, &index);
		p->indexed[i] = (unsigned char)index;
		histogram[index * 64 + best % 64]++;
	}
}

static void drop_picture(struct picture *p)
{
	if (p) {
		free(p->pixels);
		free(p->indexed);
	}
	free(p);
}

int main(void)
{
	unsigned long sum = 0;
	histogram = calloc((size_t)COLOURS * 64, sizeof(*histogram));
	for (unsigned i = 0; i < PICTURES; i++) {
		drop_picture(recent[i % RECENT]);
		recent[i % RECENT] = load_picture();
		reduce(recent[i % RECENT]);
	}
	for (unsigned i = 0; i < COLOURS * 64; i++)
		sum = sum * 31 + histogram[i];
	printf("%lx\n", sum);
	for (unsigned i = 0; i < RECENT; i++)
		drop_picture(recent[i]);
	free(histogram);
	return 0;
}
