/* SPDX-License-Identifier: MIT
 * Fuzzes what is read of modules in another process: headers and symbols as they lie in its memory,
 * and those of the file, for functions to hook.
 *
 * Input: a program's file, which is loaded as a dynamic linker would.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"
#include "fuzz.h"
#include "mutate_elf.h"
#include "libcommon/base/err.h"
#include "ms-record/ptrace/attach_elf.h"
#include "ms-record/attach/hook_families.h"
#include "ms-record/attach/hook_find.h"

#define BASE UINT64_C(0x7f0000000000)
#define IMAGE ((size_t)128 << 10)
#define READS_MOST (1u << 18)

static uint8_t image[IMAGE];
static unsigned reads;

static bool read_memory(void *arg, uint64_t address, void *to, size_t bytes)
{
	(void)arg;
	/* a chain of 4 million links takes as many reads, and no longer */
	if (++reads > READS_MOST)
		return false;
	if (address - BASE >= IMAGE || bytes > IMAGE - (address - BASE))
		return false;
	memcpy(to, image + (address - BASE), bytes);
	return true;
}

static void load(const uint8_t *data, size_t n)
{
	Elf64_Ehdr e;
	Elf64_Phdr p;
	memset(image, 0, sizeof image);
	memcpy(image, data, n < 4096 ? n : 4096);
	if (n < sizeof e)
		return;
	memcpy(&e, data, sizeof e);
	for (unsigned i = 0; i < e.e_phnum && i < 16; i++) {
		uint64_t at = e.e_phoff + i * sizeof p;
		if (at > n || sizeof p > n - at)
			return;
		memcpy(&p, data + at, sizeof p);
		if (p.p_type == PT_LOAD && p.p_offset < n && p.p_filesz <= n - p.p_offset &&
		    p.p_vaddr < IMAGE && p.p_filesz <= IMAGE - p.p_vaddr)
			memcpy(image + p.p_vaddr, data + p.p_offset, p.p_filesz);
	}
}

static void make_files(const uint8_t *data, size_t n)
{
	struct stat st;
	char text[256];
	fuzz_file(fuzz_folder(), "root/m.so", data, n);
	if (fstatat(fuzz_folder(), "root/m.so", &st, 0))
		exit(2);
	int size = snprintf(text, sizeof text,
			    "%llx-%llx r-xp 00000000 00:00 %llu /m.so\n"
			    "%llx-%llx rw-p 00000000 00:00 0 \n",
			    (unsigned long long)BASE, (unsigned long long)BASE + IMAGE / 2,
			    (unsigned long long)st.st_ino, (unsigned long long)BASE + IMAGE / 2,
			    (unsigned long long)BASE + IMAGE);
	fuzz_file(fuzz_folder(), "maps", text, (size_t)size);
}

/* ---- functions ---- */

static void seen(void *arg, const struct hook_spec *spec, const struct hook_place *place)
{
	(void)arg;
	if (!spec->name || !place->address)
		abort();
}

static void hook(const struct hook_modules *all, const char *text)
{
	struct ms_err err = {0};
	struct hook_spec h;
	struct hook_place place;
	if (hook_spec_read(&h, text, &err))
		abort();
	int rc = hook_find(all, &h, &place, &err);
	if ((rc < 0) != (err.text[0] != '\0') || (rc == 0 && !place.address))
		abort();
	hook_spec_free(&h);
}

static void look(const struct attach_memory *mem, const struct attach_maps *maps)
{
	struct attach_symbol wanted[] = {{"malloc", 0, 0}, {"free", 0, 0}, {"pool_alloc", 0, 0}};
	struct attach_module m;
	struct hook_modules all;
	if (attach_elf_module(mem, maps, &maps->v[0], &m)) {
		if (m.start >= m.end || m.code_low >= m.code_high)
			abort();
		attach_elf_dynamic(mem, &m, wanted, 3);
		attach_elf_file(fuzz_folder(), &m, wanted, 3);
	}
	hook_modules_read(&all, fuzz_folder(), maps, mem, NULL, NULL);
	hook(&all, "pool_alloc(_, size) -> ptr");
	hook(&all, "m.so!ns::Pool::get(size) -> ptr");
	hook(&all, "ns::Pool::get(int)(size) -> ptr");
	hook_knows(&all, "tc_malloc");
	hook_knows(&all, HOOK_UNWINDER);
	for (int later = 0; later < 2; later++)
		hook_families_each(&all, &(struct hook_families){.next = 1, .later = later}, seen,
				   NULL);
	hook_operators_each(&all, "/m.so", seen, NULL);
	hook_modules_free(&all);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const struct attach_memory mem = {read_memory, NULL};
	struct attach_maps maps;
	if (n > IMAGE)
		return 0;
	reads = 0;
	load(data, n);
	make_files(data, n);
	if (attach_maps_read(&maps, fuzz_folder(), NULL) || maps.n != 2)
		abort();
	look(&mem, &maps);
	attach_maps_free(&maps);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	return mutate_elf(data, size, max, &seed);
}
