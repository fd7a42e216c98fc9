/* SPDX-License-Identifier: MIT
 * Feeds a fuzz target without libFuzzer: every file of a folder as it is, cut at many places, and
 * with bytes changed, and as the target's own mutator changes it.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "mutate.h"

#define LARGEST ((size_t)1 << 20)
#define CUTS 64
#define FLIPS 150
#define CHANGES 50

static unsigned long runs;

/* In memory of exactly its size, so that the sanitizers see a read past the end. */
static void run(const uint8_t *data, size_t n)
{
	uint8_t *copy = malloc(n ? n : 1);
	if (!copy)
		exit(2);
	memcpy(copy, data, n);
	LLVMFuzzerTestOneInput(copy, n);
	free(copy);
	runs++;
}

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max)
{
	static unsigned seed = 1;
	if (size < max && fuzz_random(&seed, 2))
		data[size++] = (uint8_t)fuzz_random(&seed, 256);
	else if (size && fuzz_random(&seed, 2))
		data[fuzz_random(&seed, size)] = (uint8_t)fuzz_random(&seed, 256);
	else
		size -= size > 1;
	return size;
}

/* Not every target has one. */
#pragma weak LLVMFuzzerCustomMutator
static void run_changed(const uint8_t *data, size_t n)
{
	static uint8_t changed[LARGEST];
	for (unsigned seed = 0; LLVMFuzzerCustomMutator && n && seed < CHANGES; seed++) {
		size_t now = n;
		memcpy(changed, data, n);
		for (unsigned i = 0; i <= seed % 4; i++)
			now = LLVMFuzzerCustomMutator(changed, now, LARGEST, seed * 4 + i);
		run(changed, now);
	}
}

static void run_all(uint8_t *data, size_t n)
{
	uint64_t seed = 1;
	run(data, n);
	run_changed(data, n);
	for (size_t i = 0; i < CUTS; i++)
		run(data, n * i / CUTS);
	for (size_t i = 0; n && i < FLIPS; i++) {
		seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		uint8_t *p = &data[(seed >> 20) % n], was = *p;
		*p = i % 3 ? (uint8_t)(was ^ 1u << (seed >> 60) % 8) : (uint8_t)(seed >> 50);
		run(data, n);
		*p = was;
	}
}

static int run_file(const char *folder, const char *name)
{
	static uint8_t data[LARGEST];
	char path[4096];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *f = fopen(path, "rb");
	if (!f)
		return perror(path), -1;
	size_t n = fread(data, 1, sizeof data, f);
	fclose(f);
	run_all(data, n);
	return 0;
}

int main(int argc, char **argv)
{
	DIR *d = argc == 2 ? opendir(argv[1]) : NULL;
	unsigned files = 0;
	if (!d)
		return fprintf(stderr, "usage: %s FOLDER\n", argv[0]), 2;
	for (struct dirent *e; (e = readdir(d));)
		if (e->d_name[0] != '.' && ++files && run_file(argv[1], e->d_name) != 0)
			return 2;
	closedir(d);
	printf("%u files, %lu runs\n", files, runs);
	return files ? 0 : 2;
}
