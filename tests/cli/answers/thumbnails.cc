// SPDX-License-Identifier: MIT
// A server of thumbnails: pictures are made from sources, kept for the next request, and logged.
#include "random.h"
#include <cstdio>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace
{

using Pixels = std::vector<unsigned char>;
unsigned long seed = 23;

struct Key {
	unsigned picture, width, visitor; // the visitor makes nearly every key a new one
	bool operator==(const Key &o) const
	{
		return picture == o.picture && width == o.width && visitor == o.visitor;
	}
};
struct Hash {
	size_t operator()(const Key &k) const
	{
		return k.picture * 31u + k.width * 17u + k.visitor * 1000003u;
	}
};

class Sources
{
      public:
	Sources()
	{
		for (unsigned i = 0; i < 64; i++)
			pictures.emplace_back(128 * 128, static_cast<unsigned char>(i));
	}
	Pixels scaled(const Key &key) const
	{
		const Pixels &from = pictures[key.picture];
		Pixels to(key.width * key.width);
		for (unsigned i = 0; i < to.size(); i++)
			to[i] = static_cast<unsigned char>(from[i * 7 % from.size()] + i);
		return to;
	}

      private:
	std::vector<Pixels> pictures;
};

class Cache
{
      public:
	std::shared_ptr<const Pixels> find(const Key &key)
	{
		auto found = entries.find(key);
		return found == entries.end() ? nullptr : found->second;
	}
	void store(const Key &key, Pixels pixels)
	{
		entries[key] = std::make_shared<const Pixels>(std::move(pixels));
	}
	size_t size() const
	{
		return entries.size();
	}

      private:
	std::unordered_map<Key, std::shared_ptr<const Pixels>, Hash> entries;
};

// The last thousand requests: this one is bounded.
class Log
{
      public:
	void add(std::string line)
	{
		lines.push_back(std::move(line));
		if (lines.size() > 1000)
			lines.pop_front();
	}

      private:
	std::deque<std::string> lines;
};

Sources *sources;
Cache *cache;

std::shared_ptr<const Pixels> answer(const Key &key, Log &log)
{
	auto pixels = cache->find(key);
	log.add((pixels ? "hit for picture number " : "miss for picture number ") +
		std::to_string(key.picture) + " width " + std::to_string(key.width));
	if (!pixels) {
		Pixels made = sources->scaled(key); // GUILTY: cache that never evicts, growth
		cache->store(key, std::move(made));
		pixels = cache->find(key);
	}
	return pixels;
}

} // namespace

int main()
{
	sources = new Sources;
	cache = new Cache;
	Log log;
	unsigned long sum = 0;
	for (unsigned i = 0; i < 40000; i++) {
		Key key{random_below(&seed, 64), 16 + 8 * random_below(&seed, 3), i / 8};
		auto pixels = answer(key, log);
		std::string body(pixels->begin(), pixels->end());
		sum += body.size() + static_cast<unsigned char>(body[body.size() / 2]);
	}
	std::printf("%lu, %zu kept\n", sum, cache->size());
	return 0;
}
