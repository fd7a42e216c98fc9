/* SPDX-License-Identifier: MIT
 * An ordinary C++ program with threads: containers, strings, a queue between threads, exceptions.
 */
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

struct job {
	int number;
	std::string text;
};

static std::deque<std::unique_ptr<job>> queue;
static std::mutex lock;
static std::condition_variable changed;
static bool closed;

static long handle(const job &j, std::map<int, std::string> &seen)
{
	seen[j.number % 500] = j.text + std::to_string(j.number);
	if (j.number % 1000 == 999)
		throw std::runtime_error("the thousandth: " + j.text);
	return static_cast<long>(j.text.size());
}

static long work()
{
	std::map<int, std::string> seen;
	long sum = 0;
	for (;;) {
		std::unique_ptr<job> j;
		{
			std::unique_lock<std::mutex> hold(lock);
			changed.wait(hold, [] { return closed || !queue.empty(); });
			if (queue.empty())
				return sum;
			j = std::move(queue.front());
			queue.pop_front();
		}
		try {
			sum += handle(*j, seen);
		} catch (const std::exception &e) {
			sum += static_cast<long>(std::string(e.what()).size());
		}
	}
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 1000;
	std::vector<std::future<long>> workers;
	for (int i = 0; i < 4; i++)
		workers.push_back(std::async(std::launch::async, work));
	std::unordered_map<std::string, int> words;
	for (int i = 0; i < count; i++) {
		auto j = std::make_unique<job>();
		j->number = i;
		j->text = std::string(static_cast<size_t>(i % 64), 'a' + static_cast<char>(i % 26));
		words[j->text]++;
		std::lock_guard<std::mutex> hold(lock);
		queue.push_back(std::move(j));
		changed.notify_one();
	}
	{
		std::lock_guard<std::mutex> hold(lock);
		closed = true;
	}
	changed.notify_all();
	long sum = 0;
	for (auto &w : workers)
		sum += w.get();
	printf("%ld %zu\n", sum, words.size());
	return 0;
}
