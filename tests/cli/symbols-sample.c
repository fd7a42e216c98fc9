/* SPDX-License-Identifier: MIT
 * Static and inlined C functions, for tests/cli/symbols.sh. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct list {
	struct list *next;
	char *text;
};

static struct list *push(struct list *l, const char *text)
{
	struct list *n = malloc(sizeof *n);
	if (!n)
		abort();
	n->text = strdup(text);
	n->next = l;
	return n;
}

static inline size_t count(const struct list *l)
{
	size_t n = 0;
	for (; l; l = l->next)
		n += strlen(l->text);
	return n;
}

__attribute__((noinline)) static struct list *build(int n)
{
	struct list *l = NULL;
	char buf[32];
	for (int i = 0; i < n; i++) {
		snprintf(buf, sizeof buf, "%d", i);
		l = push(l, buf);
	}
	return l;
}

static void release(struct list *l)
{
	while (l) {
		struct list *next = l->next;
		free(l->text);
		free(l);
		l = next;
	}
}

/* A row of the line table that is marked as the start of an epilogue, as clang and rustc write
 * them. */
__attribute__((noinline)) static void finish(int n)
{
	if (n > 1000) {
#if defined __x86_64__ && defined HAS_LOC
		__asm__ volatile(".loc 1 999 0 epilogue_begin\n\tcall abort@plt");
#endif
		puts("not reached");
	}
}

int main(int argc, char **argv)
{
	struct list *l = build(argc * 10);
	printf("%s %zu\n", argv[0], count(l));
	release(l);
	finish(argc);
	return 0;
}
