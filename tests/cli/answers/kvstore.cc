// SPDX-License-Identifier: MIT
// A key-value store: a table in memory, sorted runs of blocks, and iterators that merge them.
#include "random.h"
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace
{

unsigned long seed = 51;

struct Block {
	std::vector<std::pair<std::string, std::string>> pairs;
};
using Run = std::vector<std::shared_ptr<const Block>>;

class Iterator
{
      public:
	virtual ~Iterator() = default;
	virtual bool valid() const = 0;
	virtual const std::string &key() const = 0;
	virtual void next() = 0;
};

class RunIterator : public Iterator
{
      public:
	RunIterator(std::shared_ptr<const Run> run, const std::string &from) : run(std::move(run))
	{
		while (valid() && key() < from)
			next();
	}
	bool valid() const override
	{
		return block < run->size();
	}
	const std::string &key() const override
	{
		return (*run)[block]->pairs[pair].first;
	}
	void next() override
	{
		if (++pair == (*run)[block]->pairs.size()) {
			block++;
			pair = 0;
		}
	}

      private:
	std::shared_ptr<const Run> run; // what it reads stays while it lives
	size_t block = 0, pair = 0;
};

class MergingIterator : public Iterator
{
      public:
	explicit MergingIterator(std::vector<std::unique_ptr<Iterator>> parts)
	    : parts(std::move(parts))
	{
		choose();
	}
	bool valid() const override
	{
		return least != nullptr;
	}
	const std::string &key() const override
	{
		return least->key();
	}
	void next() override
	{
		least->next();
		choose();
	}

      private:
	void choose()
	{
		least = nullptr;
		for (auto &part : parts)
			if (part->valid() && (!least || part->key() < least->key()))
				least = part.get();
	}
	std::vector<std::unique_ptr<Iterator>> parts;
	Iterator *least = nullptr;
};

class Store
{
      public:
	void put(const std::string &key, std::string value)
	{
		memory[key] = std::move(value);
		if (memory.size() >= 500)
			flush();
		if (runs.size() > 4)
			compact();
	}
	Iterator *iterate(const std::string &from) const
	{
		std::vector<std::unique_ptr<Iterator>> parts;
		for (const auto &run : runs)
			parts.push_back(std::make_unique<RunIterator>(run, from));
		return new MergingIterator(std::move(parts));
	}

      private:
	static void add(Run &run, const std::map<std::string, std::string> &pairs)
	{
		std::shared_ptr<Block> block;
		for (const auto &pair : pairs) {
			if (!block || block->pairs.size() == 16) {
				block = std::make_shared<Block>();
				run.push_back(block);
			}
			block->pairs.push_back(pair);
		}
	}
	void flush()
	{
		auto run = std::make_shared<Run>();
		add(*run, memory);
		runs.push_back(run);
		memory.clear();
	}
	void compact()
	{
		std::map<std::string, std::string> all;
		for (const auto &run : runs)
			for (const auto &block : *run)
				for (const auto &pair : block->pairs)
					all[pair.first] = pair.second;
		auto run = std::make_shared<Run>();
		add(*run, all);
		runs.assign(1, run);
	}
	std::map<std::string, std::string> memory;
	std::vector<std::shared_ptr<const Run>> runs;
};

std::string key_of(unsigned n)
{
	return "user:" + std::to_string(1000000 + n) + ":profile";
}

size_t count(const Store &store, const std::string &from, unsigned limit)
{
	std::unique_ptr<Iterator> it(store.iterate(from));
	size_t n = 0;
	for (; it->valid() && n < limit; it->next())
		n++;
	return n;
}

bool exists(const Store &store, const std::string &key)
{
	Iterator *it = store.iterate(key); // GUILTY: iterator never deleted, leak
	return it->valid() && it->key() == key;
}

} // namespace

int main()
{
	Store store;
	size_t sum = 0;
	for (unsigned i = 0; i < 24000; i++) {
		store.put(key_of(random_below(&seed, 3000)),
			  std::string(60, static_cast<char>('a' + i % 26)));
		if (i % 40 == 0)
			sum += count(store, key_of(random_below(&seed, 3000)), 50);
		if (i % 300 == 0)
			sum += exists(store, key_of(random_below(&seed, 3000)));
	}
	std::printf("%zu\n", sum);
	return 0;
}
