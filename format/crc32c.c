/* SPDX-License-Identifier: MIT
 * CRC-32C (Castagnoli, reflected polynomial 0x82f63b78), eight bytes at a time.
 */
#include <string.h>

#include "block.h"

/* Expands a table of 256 entries, which is linear in the bits of its index, from the entries of the
 * eight powers of two. table[k][b] is the CRC of byte b followed by k zero bytes. */
#define ENTRY(b, c0, c1, c2, c3, c4, c5, c6, c7)                                                   \
	(((b)&1 ? c0 : 0) ^ ((b)&2 ? c1 : 0) ^ ((b)&4 ? c2 : 0) ^ ((b)&8 ? c3 : 0) ^               \
	 ((b)&16 ? c4 : 0) ^ ((b)&32 ? c5 : 0) ^ ((b)&64 ? c6 : 0) ^ ((b)&128 ? c7 : 0))
#define E4(b, ...)                                                                                 \
	ENTRY(b, __VA_ARGS__), ENTRY((b) + 1, __VA_ARGS__), ENTRY((b) + 2, __VA_ARGS__),           \
		ENTRY((b) + 3, __VA_ARGS__)
#define E16(b, ...)                                                                                \
	E4(b, __VA_ARGS__), E4((b) + 4, __VA_ARGS__), E4((b) + 8, __VA_ARGS__),                    \
		E4((b) + 12, __VA_ARGS__)
#define E64(b, ...)                                                                                \
	E16(b, __VA_ARGS__), E16((b) + 16, __VA_ARGS__), E16((b) + 32, __VA_ARGS__),               \
		E16((b) + 48, __VA_ARGS__)
#define TABLE(...)                                                                                 \
	{                                                                                          \
		E64(0, __VA_ARGS__), E64(64, __VA_ARGS__), E64(128, __VA_ARGS__),                  \
			E64(192, __VA_ARGS__)                                                      \
	}

static const uint32_t table[8][256] = {
	/* clang-format off */
	TABLE(0xf26b8303, 0xe13b70f7, 0xc79a971f, 0x8ad958cf, 0x105ec76f, 0x20bd8ede, 0x417b1dbc, 0x82f63b78),
	TABLE(0x13a29877, 0x274530ee, 0x4e8a61dc, 0x9d14c3b8, 0x3fc5f181, 0x7f8be302, 0xff17c604, 0xfbc3faf9),
	TABLE(0xa541927e, 0x4f6f520d, 0x9edea41a, 0x38513ec5, 0x70a27d8a, 0xe144fb14, 0xc76580d9, 0x8b277743),
	TABLE(0xdd45aab8, 0xbf672381, 0x7b2231f3, 0xf64463e6, 0xe964b13d, 0xd725148b, 0xaba65fe7, 0x52a0c93f),
	TABLE(0x38116fac, 0x7022df58, 0xe045beb0, 0xc5670b91, 0x8f2261d3, 0x1ba8b557, 0x37516aae, 0x6ea2d55c),
	TABLE(0xef306b19, 0xdb8ca0c3, 0xb2f53777, 0x6006181f, 0xc00c303e, 0x85f4168d, 0x0e045beb, 0x1c08b7d6),
	TABLE(0x68032cc8, 0xd0065990, 0xa5e0c5d1, 0x4e2dfd53, 0x9c5bfaa6, 0x3d5b83bd, 0x7ab7077a, 0xf56e0ef4),
	TABLE(0x493c7d27, 0x9278fa4e, 0x211d826d, 0x423b04da, 0x847609b4, 0x0d006599, 0x1a00cb32, 0x34019664),
	/* clang-format on */
};

uint32_t ms_crc32c(uint32_t crc, const void *data, size_t n)
{
	const uint8_t *p = data;
	crc = ~crc;
	for (; n >= 8; n -= 8, p += 8) {
		uint64_t w;
		memcpy(&w, p, 8);
		w ^= crc;
		crc = table[7][w & 255] ^ table[6][w >> 8 & 255] ^ table[5][w >> 16 & 255] ^
		      table[4][w >> 24 & 255] ^ table[3][w >> 32 & 255] ^ table[2][w >> 40 & 255] ^
		      table[1][w >> 48 & 255] ^ table[0][w >> 56];
	}
	for (; n; n--)
		crc = crc >> 8 ^ table[0][(crc ^ *p++) & 255];
	return ~crc;
}
