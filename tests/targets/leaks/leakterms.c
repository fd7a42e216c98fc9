/* SPDX-License-Identifier: MIT
 * Blocks that are no leaks, which only the author of the program can know: pointers to them lie in
 * packed structs, or have tags.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- packed structs ---- */

struct __attribute__((packed)) record {
	char kind;
	void *body;
	short n;
};

_Alignas(4096) struct record table[1000];
struct record *heap_table;
enum { HEAP_RECORDS = 100000 }; /* of more than a megabyte, which is read in pieces */

static void *body(void)
{
	return malloc(24);
}

static void *heap_body(void)
{
	return malloc(16);
}

static void packed(void)
{
	for (size_t i = 0; i < 1000; i++)
		table[i].body = body();
	heap_table = calloc(HEAP_RECORDS, sizeof *heap_table);
	for (size_t i = 0; heap_table && i < HEAP_RECORDS; i++)
		heap_table[i].body = heap_body();
}

/* ---- tags ---- */

#define TAG (UINT64_C(0xab) << 56)

uint64_t tagged_table[50];

static uint64_t *tagged_block(void)
{
	return calloc(4, sizeof(uint64_t));
}

static void tagged(void)
{
	for (size_t i = 0; i < 50; i++) {
		uint64_t *first = tagged_block(), *second = tagged_block();
		tagged_table[i] = (uintptr_t)first | TAG;
		first[2] = (uintptr_t)second | TAG;
	}
}

/* Wipes pointers that are left on the stack. */
static void clear(void)
{
	volatile char room[16384];
	for (size_t i = 0; i < sizeof room; i++)
		room[i] = 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	static const struct {
		const char *name;
		void (*f)(void);
	} all[] = {{"packed", packed}, {"tagged", tagged}};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (!strcmp(what, all[i].name))
			all[i].f();
	free(malloc(100));
	clear();
	return 0;
}
