// SPDX-License-Identifier: MIT
// A server under load by itself: threads that answer requests, with a cache that is full after some seconds. What it is started with says
// what else it does: leak (from second 20 on, one request in 40 is never forgotten), step (a table is loaded in second 40), plateau (nothing).
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

using Clock = std::chrono::steady_clock;
static const Clock::time_point start = Clock::now();

static double seconds()
{
	return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Cache {
	std::mutex lock;
	std::map<unsigned, std::string> entries;
	std::list<unsigned> order;

	std::string find(unsigned key)
	{
		std::lock_guard<std::mutex> hold(lock);
		std::string &entry = entries[key];
		if (entry.empty()) {
			entry = std::string(2000 + key % 500, 'c');
			order.push_back(key);
		}
		if (order.size() > 2000) {
			entries.erase(order.front());
			order.pop_front();
		}
		return entry;
	}
};

static Cache cache;
static std::mutex table_lock;
static std::vector<std::string *> table, forgotten;

__attribute__((noinline)) static void keep_session(const std::string &answer)
{
	std::lock_guard<std::mutex> hold(table_lock);
	forgotten.push_back(new std::string(answer)); // the leak
}

__attribute__((noinline)) static void load_table()
{
	std::lock_guard<std::mutex> hold(table_lock);
	for (int i = 0; i < 4000; i++)
		table.push_back(new std::string(4000, 't'));
}

static void serve(const char *what, unsigned number)
{
	unsigned random = number * 7919;
	bool loaded = false;
	for (unsigned n = 0;; n++) {
		random = random * 1103515245 + 12345;
		std::vector<std::string> parts;
		for (int i = 0; i < 5; i++)
			parts.push_back(cache.find((random >> 8) % 4000 + (unsigned)i));
		std::string answer;
		for (const std::string &p : parts)
			answer += p.substr(0, 400);
		if (!std::strcmp(what, "leak") && seconds() > 20 && n % 40 == 0)
			keep_session(answer);
		if (!std::strcmp(what, "step") && number == 0 && seconds() > 40 && !loaded) {
			load_table();
			loaded = true;
		}
		std::this_thread::sleep_for(std::chrono::milliseconds(1));
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "plateau";
	std::vector<std::thread> threads;
	for (unsigned i = 0; i < 2; i++)
		threads.emplace_back(serve, what, i);
	for (std::thread &t : threads)
		t.join();
}
