// SPDX-License-Identifier: MIT
// Orders are accepted by one thread and processed by others; mails about them are queued for a thread that is never started.
#include "random.h"
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace
{

struct Order {
	unsigned number;
	std::string customer;
	std::vector<unsigned> articles;
};
using Job = std::function<void()>;

class Queue
{
      public:
	void push(Job job, size_t most)
	{
		std::unique_lock<std::mutex> hold(lock);
		space.wait(hold, [&] { return jobs.size() < most; });
		jobs.push_back(std::move(job));
		ready.notify_one();
	}
	bool pop(Job &job)
	{
		std::unique_lock<std::mutex> hold(lock);
		ready.wait(hold, [&] { return !jobs.empty() || closed; });
		if (jobs.empty())
			return false;
		job = std::move(jobs.front());
		jobs.pop_front();
		space.notify_one();
		return true;
	}
	void close()
	{
		std::lock_guard<std::mutex> hold(lock);
		closed = true;
		ready.notify_all();
	}

      private:
	std::mutex lock;
	std::condition_variable ready, space;
	std::deque<Job> jobs;
	bool closed = false;
};

class Stock
{
      public:
	Stock()
	{
		for (unsigned i = 0; i < 8000; i++)
			names[i] = "article with a name and the number " + std::to_string(i);
	}
	size_t take(const Order &order)
	{
		std::string list;
		for (unsigned article : order.articles)
			list += names.at(article) + "\n";
		std::lock_guard<std::mutex> hold(lock);
		taken += order.articles.size();
		return list.size();
	}
	size_t taken = 0;

      private:
	std::map<unsigned, std::string> names;
	std::mutex lock;
};

Queue work, mails;
Stock *stock;

void announce(const Order &order)
{
	auto text = std::make_shared<std::string>(400, ' '); // GUILTY: queue never drained, growth
	text->replace(0, order.customer.size(), order.customer);
	mails.push([text] { std::puts(text->c_str()); }, ~size_t{0});
}

void accept(unsigned number, unsigned long &seed)
{
	auto order = std::make_shared<Order>();
	order->number = number;
	order->customer = "customer with the number " + std::to_string(random_below(&seed, 5000));
	for (unsigned i = 1 + random_below(&seed, 10); i; i--)
		order->articles.push_back(random_below(&seed, 8000));
	work.push([order] { stock->take(*order); }, 100);
	announce(*order);
}

void serve()
{
	Job job;
	while (work.pop(job))
		job();
}

} // namespace

int main()
{
	stock = new Stock;
	std::vector<std::thread> threads;
	unsigned long seed = 161;
	for (unsigned i = 0; i < 2; i++)
		threads.emplace_back(serve);
	for (unsigned i = 0; i < 12000; i++)
		accept(i, seed);
	work.close();
	for (auto &thread : threads)
		thread.join();
	std::printf("%zu taken\n", stock->taken);
	delete stock;
	return 0;
}
