/* SPDX-License-Identifier: MIT
 * A mutator of ELF files: a field of a header, of a symbol or of a relocation becomes an odd number,
 * or a section's bytes are changed in their place, so that the tables around stay right.
 */
#pragma once

#include <elf.h>

#include "mutate.h"

/* The field of `bytes` bytes at `at`. */
static inline void mutate_field(uint8_t *data, size_t at, size_t bytes, uint64_t near,
				unsigned *seed)
{
	uint64_t v = fuzz_number(seed, near);
	memcpy(data + at, &v, bytes);
}

static inline size_t mutate_elf(uint8_t *data, size_t size, size_t max, unsigned *seed)
{
	Elf64_Ehdr e;
	Elf64_Shdr s;
	if (size < sizeof e || fuzz_random(seed, 16) == 0)
		return LLVMFuzzerMutate(data, size, max);
	memcpy(&e, data, sizeof e);
	size_t sections = e.e_shoff < size ? (size - e.e_shoff) / sizeof s : 0;
	sections = sections < e.e_shnum ? sections : e.e_shnum;
	size_t segments = e.e_phoff < size ? (size - e.e_phoff) / sizeof(Elf64_Phdr) : 0;
	segments = segments < e.e_phnum ? segments : e.e_phnum;
	switch (fuzz_random(seed, 8)) {
	case 0: { /* of the file's header, behind its kind */
		size_t at = 16 + fuzz_random(seed, sizeof e - 16 - 8);
		mutate_field(data, at & ~(size_t)1, 2 + 6 * fuzz_random(seed, 2), size, seed);
		return size;
	}
	case 1:
		if (!segments)
			break;
		mutate_field(data,
			     e.e_phoff + fuzz_random(seed, segments * sizeof(Elf64_Phdr) / 8) * 8,
			     8, size, seed);
		return size;
	case 2:
	case 3:
		if (!sections)
			break;
		mutate_field(data, e.e_shoff + fuzz_random(seed, sections * sizeof s / 8) * 8,
			     4 + 4 * fuzz_random(seed, 2), size, seed);
		return size;
	}
	if (!sections)
		return LLVMFuzzerMutate(data, size, max);
	memcpy(&s, data + e.e_shoff + fuzz_random(seed, sections) * sizeof s, sizeof s);
	if (s.sh_type == SHT_NOBITS || s.sh_offset >= size || s.sh_size > size - s.sh_offset ||
	    s.sh_size < 8)
		return size;
	if (fuzz_random(seed, 2)) /* tables of words: symbols, relocations, dynamic entries */
		mutate_field(data, s.sh_offset + fuzz_random(seed, s.sh_size / 8) * 8,
			     4 + 4 * fuzz_random(seed, 2), s.sh_size, seed);
	else
		LLVMFuzzerMutate(data + s.sh_offset, s.sh_size, s.sh_size);
	return size;
}
