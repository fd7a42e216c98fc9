// SPDX-License-Identifier: MIT
// Parts lists are imported; a list that does not hold together is refused by an exception, and the next one is tried.
#include "random.h"
#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace
{

unsigned long seed = 151;

struct Part {
	std::string name;
	unsigned weight;
	std::vector<unsigned> needs;
};

class List
{
      public:
	explicit List(unsigned number)
	    : title("parts list with the number " + std::to_string(number))
	{
	}
	void add(Part part)
	{
		parts.push_back(std::move(part));
	}
	void check() const
	{
		std::set<std::string> names;
		for (const Part &part : parts) {
			if (!names.insert(part.name).second)
				throw std::runtime_error(title + ": " + part.name +
							 " stands there twice");
			for (unsigned need : part.needs)
				if (need >= parts.size())
					throw std::out_of_range(title + ": " + part.name +
								" needs what is not there");
		}
	}
	unsigned weight() const
	{
		unsigned sum = 0;
		for (const Part &part : parts)
			sum += part.weight;
		return sum;
	}
	const std::string title;

      private:
	std::vector<Part> parts;
};

class Warehouse
{
      public:
	void store(List *list)
	{
		auto &slot = lists[list->title];
		slot.reset(list);
		if (lists.size() > 60)
			lists.erase(lists.begin());
	}
	unsigned weight() const
	{
		unsigned sum = 0;
		for (const auto &entry : lists)
			sum += entry.second->weight();
		return sum;
	}

      private:
	std::map<std::string, std::unique_ptr<List>> lists;
};

std::vector<std::string> read_rows(unsigned number)
{
	std::vector<std::string> rows;
	for (unsigned i = 0; i < 120; i++) {
		bool wrong = number % 40 == 13 && i == 100;
		rows.push_back("part " + std::to_string(i) + " of an engine with a long name;" +
			       std::to_string(wrong ? 9999 : random_below(&seed, 120)));
	}
	return rows;
}

void import(unsigned number, Warehouse &warehouse)
{
	auto rows = read_rows(number);
	List *list = new List(number); // GUILTY: leak when an exception passes, leak
	for (const std::string &row : rows) {
		size_t end = row.find(';');
		list->add({row.substr(0, end),
			   static_cast<unsigned>(row.size()),
			   {static_cast<unsigned>(std::stoul(row.substr(end + 1)))}});
	}
	list->check();
	warehouse.store(list);
}

} // namespace

int main()
{
	Warehouse warehouse;
	std::vector<std::string> complaints;
	for (unsigned i = 0; i < 2400; i++) {
		try {
			import(i, warehouse);
		} catch (const std::exception &e) {
			complaints.push_back(e.what());
		}
	}
	std::printf("%u, %zu refused\n", warehouse.weight(), complaints.size());
	return 0;
}
