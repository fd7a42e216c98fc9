// SPDX-License-Identifier: MIT
// A C++ service of the benchmark without its network: THREADS workers take requests from a queue,
// read their fields, look a session up that all share, and write an answer.
//
//   service THREADS REQUESTS
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

struct session {
	std::string user;
	std::map<std::string, std::string> settings;
	std::list<std::string> history;
};

// The sessions used last; those that were not for a while go.
class sessions
{
      public:
	std::shared_ptr<session> find(const std::string &key)
	{
		std::lock_guard<std::mutex> hold(lock);
		auto found = by_key.find(key);
		if (found != by_key.end()) {
			order.splice(order.begin(), order, found->second.second);
			return found->second.first;
		}
		if (by_key.size() >= most) {
			by_key.erase(order.back());
			order.pop_back();
		}
		order.push_front(key);
		auto fresh = std::make_shared<session>();
		fresh->user = "user of " + key;
		by_key[key] = {fresh, order.begin()};
		return fresh;
	}

      private:
	static constexpr size_t most = 20000;
	std::mutex lock;
	std::list<std::string> order;
	std::unordered_map<std::string,
			   std::pair<std::shared_ptr<session>, std::list<std::string>::iterator>>
		by_key;
};

class queue
{
      public:
	void put(std::string request)
	{
		std::unique_lock<std::mutex> hold(lock);
		room.wait(hold, [this] { return waiting.size() < 256; });
		waiting.push_back(std::move(request));
		some.notify_one();
	}
	bool take(std::string &request)
	{
		std::unique_lock<std::mutex> hold(lock);
		some.wait(hold, [this] { return !waiting.empty() || ended; });
		if (waiting.empty())
			return false;
		request = std::move(waiting.front());
		waiting.pop_front();
		room.notify_one();
		return true;
	}
	void end()
	{
		std::lock_guard<std::mutex> hold(lock);
		ended = true;
		some.notify_all();
	}

      private:
	std::mutex lock;
	std::condition_variable some, room;
	std::deque<std::string> waiting;
	bool ended = false;
};

static std::map<std::string, std::string> fields_of(const std::string &request)
{
	std::map<std::string, std::string> fields;
	for (size_t at = 0; at < request.size();) {
		size_t end = request.find('&', at), equal = request.find('=', at);
		end = end == std::string::npos ? request.size() : end;
		fields[request.substr(at, equal - at)] = request.substr(equal + 1, end - equal - 1);
		at = end + 1;
	}
	return fields;
}

// What a service computes with its data.
static unsigned long checked(const std::string &text)
{
	unsigned long sum = 5381;
	for (int round = 0; round < 40; round++)
		for (char c : text)
			sum = sum * 33 + static_cast<unsigned char>(c);
	return sum;
}

static std::string answer(sessions &all, const std::string &request)
{
	auto fields = fields_of(request);
	auto s = all.find(fields["session"]);
	std::ostringstream out;
	out << "{\"user\": \"" << s->user << "\", \"check\": " << checked(request);
	for (auto &[name, value] : fields)
		out << ", \"" << name << "\": \"" << value << '"';
	out << '}';
	return out.str();
}

static std::string request_of(unsigned long n)
{
	return "session=" + std::to_string(n * 2654435761u % 50000) + "&path=/items/" +
	       std::to_string(n % 977) + "&agent=" + std::string(20 + n % 60, 'a') +
	       "&accept=application/json&language=en";
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 4;
	unsigned long requests = argc > 2 ? strtoul(argv[2], nullptr, 10) : 100000;
	sessions all;
	queue waiting;
	std::vector<unsigned long> written(static_cast<size_t>(threads));
	std::vector<std::thread> workers;
	for (int i = 0; i < threads; i++)
		workers.emplace_back([&, i] {
			std::string request;
			while (waiting.take(request))
				written[static_cast<size_t>(i)] += answer(all, request).size();
		});
	for (unsigned long n = 0; n < requests; n++)
		waiting.put(request_of(n));
	waiting.end();
	unsigned long sum = 0;
	for (int i = 0; i < threads; i++) {
		workers[static_cast<size_t>(i)].join();
		sum += written[static_cast<size_t>(i)];
	}
	printf("%lu\n", sum);
	return 0;
}
