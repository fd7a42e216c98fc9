// SPDX-License-Identifier: MIT
// An ordinary C++ program of the benchmark: THREADS threads index made-up text with the standard
// containers.
//
//   words THREADS ROUNDS
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

struct entry {
	std::string word;
	std::vector<int> lines;
};

class index_of_words
{
      public:
	void add(const std::string &word, int line)
	{
		auto &e = entries[word];
		if (!e) {
			e = std::make_unique<entry>();
			e->word = word;
		}
		e->lines.push_back(line);
	}
	std::vector<std::string> most(size_t n) const
	{
		std::vector<std::pair<size_t, std::string>> all;
		for (auto &[word, e] : entries)
			all.emplace_back(e->lines.size(),
					 word + ":" + std::to_string(e->lines.size()));
		std::sort(all.begin(), all.end(), std::greater<>());
		std::vector<std::string> out;
		for (size_t i = 0; i < std::min(n, all.size()); i++)
			out.push_back(all[i].second);
		return out;
	}

      private:
	std::map<std::string, std::unique_ptr<entry>> entries;
};

static std::vector<std::string> line_of(unsigned &seed)
{
	std::vector<std::string> words;
	for (int i = 0; i < 12; i++) {
		seed = seed * 1664525u + 1013904223u;
		unsigned n = seed >> 16;
		std::string word(4 + n % 28, static_cast<char>('a' + n % 26));
		words.push_back(word + std::to_string(n % 200));
	}
	return words;
}

static std::mutex lock;
static std::unordered_map<std::string, int> shared;

static void work(unsigned seed, int rounds)
{
	for (int round = 0; round < rounds; round++) {
		index_of_words index;
		for (int line = 0; line < 300; line++)
			for (auto &word : line_of(seed))
				index.add(word, line);
		std::lock_guard<std::mutex> hold(lock);
		for (auto &word : index.most(5))
			shared[word]++;
	}
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2, rounds = argc > 2 ? atoi(argv[2]) : 10;
	std::vector<std::thread> all;
	for (int i = 0; i < threads; i++)
		all.emplace_back(work, i + 1, rounds / threads);
	for (auto &t : all)
		t.join();
	printf("%zu\n", shared.size());
	return 0;
}
