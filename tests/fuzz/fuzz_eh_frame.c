/* SPDX-License-Identifier: MIT
 * Fuzzes the guest's reader of .eh_frame: it runs inside strangers' processes, so no read may leave
 * the segment, whatever is there.
 *
 * Input: { start of .eh_frame_hdr, ip } as 16-bit offsets in the segment, then the segment. It lies
 * in the middle of 8 GB without access, so that every jump that 32 bits allow is seen.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fuzz.h"
#include "ms-record/guest/eh_frame.c"
#include "ms-record/guest/x86_64_code.c"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

#define DESERT ((size_t)8 << 30)
#define MOST ((size_t)128 << 10)

static uint8_t *oasis(void)
{
	static uint8_t *at;
	if (at)
		return at;
	uint8_t *all =
		mmap(NULL, DESERT, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (all == MAP_FAILED || mprotect(all + DESERT / 2, MOST, PROT_READ | PROT_WRITE))
		exit(2);
	ASAN_POISON_MEMORY_REGION(all + DESERT / 2, MOST);
	return at = all + DESERT / 2;
}

static void ask(const struct mg_unwind_info *image, uint64_t ip)
{
	uint64_t rule = mg_eh_frame_rule(image, ip);
	uint32_t type = MG_RULE_TYPE(rule);
	if (type < MG_RULE_FROM_SP || type >= MG_RULE_UNKNOWN || MG_RULE_BP(rule) > MG_BP_AT_BP ||
	    MG_RULE_NEED(rule) > MG_NEED_NO)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	if (n < 4 || n - 4 > MOST)
		return 0;
	uint64_t hdr = data[0] | (uint64_t)data[1] << 8, ip = data[2] | (uint64_t)data[3] << 8;
	n -= 4;
	/* The end of the segment is the end of the memory, as where a hole follows. */
	uint8_t *low = oasis() + MOST - n;
	ASAN_UNPOISON_MEMORY_REGION(low, n);
	memcpy(low, data + 4, n);
	struct mg_unwind_info image = {.low = (uint64_t)low, .high = (uint64_t)low + n};
	image.start = image.low;
	image.end = image.high;
	image.hdr = image.low + hdr;
	image.code_low = image.low;
	image.code_high = image.high;
	ask(&image, image.low + ip);
	ask(&image, (image.low + ip) | MG_EXACT_IP);
	/* Tables speak of code outside the segment that holds them. */
	image.start -= MOST;
	image.end += MOST;
	for (uint64_t i = 1; i < MOST; i += MOST / 16)
		ask(&image, image.start + i);
	image.hdr = image.code_low = image.code_high = 0;
	ask(&image, image.low + ip);
	ASAN_POISON_MEMORY_REGION(low, n);
	return 0;
}
