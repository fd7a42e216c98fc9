// SPDX-License-Identifier: MIT
// A service that tracks parcels, with everything that is asked about memory in it: a tariff that takes its peak at the start, a route cache that
// never evicts, drivers who stay subscribed, a label lost on an error path, keys made of temporary strings, and an index beside the heap.
// All sizes are written here, so that each figure of a report is known: depot PARCELS MICROSECONDS. -DSLIP makes the build that is worse.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unordered_map>
#include <vector>

namespace depot
{

using Bytes = std::vector<char>;

class Tariff
{
      public:
	void load(int rows)
	{
		std::vector<Bytes> all(rows);
		for (Bytes &row : all)
			row = Bytes(400);
		zones_.assign(all.begin(), all.begin() + rows / 100);
	}

      private:
	std::vector<Bytes> zones_;
};

class Bus
{
      public:
	void subscribe(std::function<void()> handler)
	{
		handlers_.push_back(std::move(handler));
	}
	std::size_t count() const
	{
		return handlers_.size();
	}

      private:
	std::vector<std::function<void()>> handlers_;
};

struct Driver : std::enable_shared_from_this<Driver> {
	Bytes inbox = Bytes(2000);
	void arrive(Bus &bus)
	{
		bus.subscribe([self = shared_from_this()] { self->inbox[0] = 1; });
	}
	void leave() // without bus.unsubscribe(): the bus keeps the driver
	{
		inbox[0] = 0;
	}
};

struct Label {
	char *scratch;
	char text[92];
};

__attribute__((noinline)) Label *parse(int parcel)
{
	Label *label = new Label;
	label->scratch = new char[200];
	if (parcel % 10 == 0)
		return nullptr; // malformed: the label is lost
	return label;
}

struct Route {
	char legs[500];
#ifdef SLIP
	Bytes history = Bytes(300);
#endif
};

__attribute__((noinline)) std::string make_key(int parcel, int hop)
{
	std::string key(40, ' '); // a temporary string
	std::snprintf(key.data(), key.size(), "parcel %d at hop %d", parcel, hop);
	return key;
}

class Routes
{
      public:
	const Route &find(int parcel)
	{
		std::size_t digest = 0;
		for (int hop = 0; hop < 20; hop++)
			digest += make_key(parcel, hop).size();
		auto &route = entries_[parcel];
		if (!route && digest)
			route = std::make_unique<Route>();
		return *route;
	}

      private:
	std::unordered_map<int, std::unique_ptr<Route>> entries_;
};

// 24 MiB that the heap knows nothing of.
char *map_index()
{
	const std::size_t size = 24 << 20;
	char *index = static_cast<char *>(
		mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	for (std::size_t i = 0; index != MAP_FAILED && i < size; i += 4096)
		index[i] = 1;
	return index;
}

class Server
{
      public:
	void start(int rows)
	{
		index_ = map_index();
		tariff_.load(rows);
	}
	void run(int parcels, int pause_us)
	{
		for (int parcel = 0; parcel < parcels; parcel++) {
			serve(parcel);
			std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
		}
		std::printf("%d parcels, %zu drivers\n", parcels, bus_.count());
	}

      private:
	void serve(int parcel)
	{
		auto driver = std::make_shared<Driver>();
		driver->arrive(bus_);
		if (Label *label = parse(parcel)) {
			routes_.find(parcel);
			delete[] label->scratch;
			delete label;
		}
		driver->leave();
	}
	Bus bus_;
	Tariff tariff_;
	Routes routes_;
	char *index_ = nullptr;
};

// Overwrites what ended calls have left on the stack, where a scan may find the address of a lost label.
__attribute__((noinline)) void clear_stack()
{
	volatile char left[16384];
	for (std::size_t i = 0; i < sizeof left; i++)
		left[i] = 0;
}

} // namespace depot

int main(int argc, char **argv)
{
	static depot::Server server;
	server.start(20000);
	server.run(argc > 1 ? std::atoi(argv[1]) : 1000, argc > 2 ? std::atoi(argv[2]) : 0);
	depot::clear_stack();
}
