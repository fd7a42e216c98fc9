// SPDX-License-Identifier: MIT
// Ways through a road network; the names of turns are compared on the way.
#include "random.h"
#include <algorithm>
#include <cstdio>
#include <queue>
#include <string>
#include <vector>

namespace
{

unsigned long seed = 3;

struct Road {
	unsigned to, length;
	std::string name;
};

class Network
{
      public:
	explicit Network(unsigned count) : roads(count)
	{
		for (unsigned i = 0; i < count; i++)
			for (unsigned n = 0; n < 5; n++) {
				unsigned to = n == 0 ? (i + 1) % count : random_below(&seed, count);
				roads[i].push_back(
					{to, 1 + random_below(&seed, 100),
					 "Street named after number " + std::to_string(to % 300)});
			}
	}
	const std::vector<Road> &from(unsigned node) const
	{
		return roads[node];
	}
	unsigned size() const
	{
		return static_cast<unsigned>(roads.size());
	}

      private:
	std::vector<std::vector<Road>> roads;
};

// Names are compared without regard to case.
bool same_street(const Road &a, const Road &b)
{
	std::string left = a.name; // GUILTY: temporary in an inner loop, temporary
	for (char &c : left)
		c |= 0x20;
	return std::equal(left.begin(), left.end(), b.name.begin(), b.name.end(),
			  [](char l, char r) { return l == (r | 0x20); });
}

struct Step {
	unsigned cost, node;
	const Road *by;
	bool operator<(const Step &o) const
	{
		return cost > o.cost;
	}
};

unsigned shortest(const Network &net, unsigned start, unsigned goal, std::vector<unsigned> &path)
{
	std::vector<unsigned> best(net.size(), ~0u), before(net.size(), ~0u);
	std::priority_queue<Step> open;
	open.push({0, start, nullptr});
	best[start] = 0;
	while (!open.empty()) {
		Step step = open.top();
		open.pop();
		if (step.cost > best[step.node])
			continue;
		if (step.node == goal)
			break;
		for (const Road &road : net.from(step.node)) {
			unsigned turn = step.by && !same_street(*step.by, road) ? 3 : 0;
			unsigned cost = step.cost + road.length + turn;
			if (cost >= best[road.to])
				continue;
			best[road.to] = cost;
			before[road.to] = step.node;
			open.push({cost, road.to, &road});
		}
	}
	for (unsigned at = goal; at != ~0u; at = before[at])
		path.push_back(at);
	return best[goal];
}

} // namespace

int main()
{
	Network net(4000);
	std::vector<std::vector<unsigned>> found;
	unsigned long sum = 0;
	for (unsigned i = 0; i < 60; i++) {
		std::vector<unsigned> path;
		sum += shortest(net, random_below(&seed, 4000), random_below(&seed, 4000), path);
		found.push_back(std::move(path));
	}
	std::printf("%lu over %zu ways\n", sum, found.size());
	return 0;
}
