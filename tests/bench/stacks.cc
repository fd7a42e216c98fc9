// SPDX-License-Identifier: MIT
// Many call stacks: recurses over a random tree by virtual calls and allocates a block at each leaf.
//
//   stacks STACKS EVENTS    a leaf for each stack; passes over all until there are so many events
//
// A stack has 20 to 80 frames. No two leaves have the same: below the node where their ways part
// one goes through the first call of visit() there and the other through the second. The tree is
// not stored but follows from the seed of its root, so every pass takes the same ways. Half of the
// blocks are freed within ten allocations; one in 256 stays for a whole pass.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

static const int LEAST = 15, MOST = 70; // calls of visit() on the way to a leaf

struct Place {
	uint64_t seed;
	long leaves;
	int depth;
};

struct Node {
	virtual ~Node() = default;
	virtual long visit(const Place &at) const = 0;
};

static const size_t KINDS = 16;
extern const Node *const kinds[KINDS];

static uint64_t mix(uint64_t z)
{
	z += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static void *recent[16];
static void **kept;
static size_t kept_room, kept_next;

static void *&slot_for(uint64_t seed)
{
	return seed >> 40 & 255 ? recent[seed >> 32 & 15] : kept[kept_next++ % kept_room];
}

__attribute__((noinline)) static long leaf(uint64_t seed)
{
	size_t size = seed % 400 + 8;
	void *&slot = slot_for(seed);
	std::free(slot);
	slot = std::malloc(size);
	*static_cast<char *>(slot) = 1;
	return static_cast<long>(size);
}

// A node with several leaves passes a quarter to three quarters of them to each of two nodes below,
// or sometimes all of them to one. With one leaf left the way goes on for a few calls.
template <int N> struct Kind : Node {
	__attribute__((noinline)) long visit(const Place &at) const override
	{
		uint64_t first = mix(at.seed), second = mix(~at.seed);
		const Node &next = *kinds[first % KINDS];
		if (at.leaves == 1 && (at.depth >= MOST || (at.depth >= LEAST && first >> 60 < 4)))
			return leaf(first) + N;
		if (at.leaves == 1 || (at.depth < MOST / 2 && first >> 60 < 6))
			return next.visit({first, at.leaves, at.depth + 1}) ^ N;
		long part = at.leaves / 4 +
			    static_cast<long>(second % static_cast<uint64_t>(at.leaves / 2 + 1));
		part = part == 0 ? 1 : part;
		long sum = next.visit({first, part, at.depth + 1});
		return kinds[second % KINDS]->visit({second, at.leaves - part, at.depth + 1}) +
		       sum * N;
	}
};

template <int N> static const Kind<N> kind;
const Node *const kinds[KINDS] = {&kind<1>,  &kind<2>,  &kind<3>,  &kind<4>,  &kind<5>,  &kind<6>,
				  &kind<7>,  &kind<8>,  &kind<9>,  &kind<10>, &kind<11>, &kind<12>,
				  &kind<13>, &kind<14>, &kind<15>, &kind<16>};

int main(int argc, char **argv)
{
	long stacks = argc > 1 ? std::atol(argv[1]) : 10000,
	     events = argc > 2 ? std::atol(argv[2]) : 1000000, sum = 0;
	if (stacks < 1 || stacks > 10000000)
		return 2;
	kept_room = static_cast<size_t>(stacks / 256 + 1);
	kept = static_cast<void **>(std::calloc(kept_room, sizeof *kept));
	for (long done = 0; done == 0 || done < events; done += stacks * 2)
		sum += kinds[0]->visit({1, stacks, 0});
	std::printf("%ld\n", sum);
	return 0;
}
