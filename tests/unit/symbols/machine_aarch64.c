/* SPDX-License-Identifier: MIT
 * Linkage tables, calls and the start of a program in aarch64's code, on any machine.
 */
#include "libcommon/symbols/symbols_elf.h"
#include "libcommon/symbols/symbols_machine.h"
#include "tests/unit/check.h"

#define BTI_C 0xd503245f
#define ADRP_16_PAGES 0x90000090 /* adrp x16, . + 64 KiB */
#define LOAD_1032 0xf9420611     /* ldr x17, [x16, #1032] */
#define ADD 0x91103210
#define BR 0xd61f0220
#define NOP 0xd503201f

static uint64_t slot(const uint32_t *words, size_t n, uint64_t at)
{
	struct ms_elf_section s = {
		.address = 0x10020, .raw = (const uint8_t *)words, .raw_size = n * 4};
	return ms_machine_of(EM_AARCH64)->slot_of(&s, at, false, 0);
}

static void test_tables(void)
{
	static const uint32_t plain[] = {ADRP_16_PAGES, LOAD_1032,  ADD, BR,
					 ADRP_16_PAGES, 0xf9420a11, ADD, BR};
	static const uint32_t marked[] = {BTI_C, ADRP_16_PAGES, LOAD_1032,  ADD, BR, NOP,
					  BTI_C, ADRP_16_PAGES, 0xf9420a11, ADD, BR, NOP};
	static const uint32_t none[] = {NOP, ADD, NOP, NOP, NOP, BR};
	for (uint64_t at = 0; at < 32; at++)
		CHECK(slot(plain, 8, at) == (at < 16 ? 0x20408u : 0x20410u), "entry at %d",
		      (int)at);
	for (uint64_t at = 0; at < 48; at += 4)
		CHECK(slot(marked, 12, at) == (at < 24 ? 0x20408u : 0x20410u),
		      "behind a landing pad: entry at %d", (int)at);
	for (uint64_t at = 0; at < 24; at += 4)
		CHECK(!slot(none, 6, at), "no entry at %d", (int)at);
	CHECK(!slot(plain, 1, 0) && !slot(plain, 8, 32), "a table that is cut off");
}

static void test_code(void)
{
	const struct ms_machine *m = ms_machine_of(EM_AARCH64);
	static const uint32_t calls[] = {0x97ffffff, NOP};
	bool through = true;
	CHECK(m->called((const uint8_t *)calls, 4, 0x1004, &through) == 0xffc && !through,
	      "bl to the instruction before");
	CHECK(!m->called((const uint8_t *)calls, 8, 0x1008, &through), "no call");
	CHECK(!m->called((const uint8_t *)calls, 0, 0x1000, &through), "nothing in front");
	/* glibc's _start, shortened */
	static const uint32_t start[] = {NOP, 0xd280001d, 0xd280001e, NOP, 0x97ffff00, 0x97ffff10};
	CHECK(m->start_bytes((const uint8_t *)start, sizeof start) == sizeof start, "the start");
	CHECK(!m->start_bytes((const uint8_t *)start, 20), "a part of it");
	CHECK(!m->start_bytes((const uint8_t *)calls, sizeof calls), "other code");
	CHECK(m->is_slot(R_AARCH64_JUMP_SLOT) && !m->is_slot(R_AARCH64_RELATIVE), "relocations");
}

int main(void)
{
	test_tables();
	test_code();
	return failures != 0;
}
