// SPDX-License-Identifier: MIT
// A pool of connections to a database: queries borrow one, connections that failed are replaced.
#include "random.h"
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace
{

unsigned long seed = 91;

class Connection
{
      public:
	explicit Connection(unsigned number) : number(number), receive(4096)
	{
		for (unsigned i = 0; i < 8; i++)
			statement("SELECT name, value FROM settings WHERE id = " +
				  std::to_string(i));
	}
	unsigned statement(const std::string &sql)
	{
		auto found = prepared.find(sql);
		if (found != prepared.end())
			return found->second;
		unsigned id = static_cast<unsigned>(prepared.size());
		prepared.emplace(sql, id);
		return id;
	}
	// Some connections are lost on the way.
	bool query(const std::string &sql, std::string &answer)
	{
		if (random_below(&seed, 400) == 0)
			return false;
		unsigned id = statement(sql);
		for (size_t i = 0; i < receive.size(); i++)
			receive[i] = static_cast<char>('0' + (i + id + number) % 10);
		answer.assign(receive.begin(), receive.begin() + 200 + id * 50);
		return true;
	}

      private:
	unsigned number;
	std::vector<char> receive;
	std::map<std::string, unsigned> prepared;
};

class Pool
{
      public:
	explicit Pool(unsigned size)
	{
		while (size--)
			idle.push_back(open());
	}
	std::unique_ptr<Connection> borrow()
	{
		if (idle.empty())
			return open();
		auto connection = std::move(idle.front());
		idle.pop_front();
		return connection;
	}
	void give_back(std::unique_ptr<Connection> connection)
	{
		idle.push_back(std::move(connection));
	}
	void discard(std::unique_ptr<Connection> &connection)
	{
		connection.release(); // reset() was meant
		lost++;
	}
	unsigned lost = 0;

      private:
	std::unique_ptr<Connection> open()
	{
		return std::make_unique<Connection>(opened++); // GUILTY: unique_ptr::release, leak
	}
	std::deque<std::unique_ptr<Connection>> idle;
	unsigned opened = 0;
};

class Results
{
      public:
	void keep(unsigned id, const std::string &answer)
	{
		recent[id % 2000] = answer;
	}
	size_t bytes() const
	{
		size_t sum = 0;
		for (const auto &entry : recent)
			sum += entry.second.size();
		return sum;
	}

      private:
	std::map<unsigned, std::string> recent;
};

bool run(Pool &pool, unsigned id, Results &results)
{
	auto connection = pool.borrow();
	std::string answer;
	std::string sql = "SELECT name, value FROM settings WHERE id = " + std::to_string(id % 12);
	if (!connection->query(sql, answer)) {
		pool.discard(connection);
		return false;
	}
	results.keep(id, answer);
	pool.give_back(std::move(connection));
	return true;
}

} // namespace

int main()
{
	Pool pool(32);
	Results results;
	unsigned failed = 0;
	for (unsigned i = 0; i < 24000; i++)
		failed += !run(pool, i, results);
	std::printf("%zu bytes, %u failed, %u connections lost\n", results.bytes(), failed,
		    pool.lost);
	return 0;
}
