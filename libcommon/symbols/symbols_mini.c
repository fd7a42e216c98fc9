/* SPDX-License-Identifier: MIT
 * .gnu_debugdata: a small ELF file with the symbol table of a stripped one, compressed with xz, as
 * in packages of several distributions (MiniDebugInfo).
 */
#include "symbols_mini.h"

#include <sys/mman.h>

#include <lzma.h>

/* Limit in bytes: the symbols of half a million functions fit, so only a hostile file is larger. */
#define MINI_MOST ((size_t)256 << 20)
/* Memory limit for decompression, four times what data from xz -9 needs. */
#define MEMORY_MOST (UINT64_C(256) << 20)

/* Decompresses the section into `out`. Returns the size; 0 = damaged, or too large. */
static size_t decompress(const struct ms_elf_section *s, uint8_t *out)
{
	uint64_t memory = MEMORY_MOST;
	size_t from = 0, to = 0;
	lzma_ret r = lzma_stream_buffer_decode(&memory, 0, NULL, s->raw, &from, s->raw_size, out,
					       &to, MINI_MOST);
	return r == LZMA_OK ? to : 0;
}

struct ms_elf *ms_elf_mini(struct ms_elf *e, bool *damaged)
{
	struct ms_elf_section *s = ms_elf_section(e, ".gnu_debugdata");
	*damaged = s && s->damaged;
	if (!s || !s->raw || s->packing != MS_ELF_PLAIN)
		return NULL;
	void *map = mmap(NULL, MINI_MOST, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED)
		return NULL;
	size_t size = decompress(s, map), pages = (size + 4095) & ~(size_t)4095;
	munmap((uint8_t *)map + pages, MINI_MOST - pages);
	struct ms_elf *mini = size ? ms_elf_take(e->path, map, size) : NULL;
	*damaged = !mini;
	return mini;
}
