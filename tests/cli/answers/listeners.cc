// SPDX-License-Identifier: MIT
// Prices change, charts are opened and closed; a chart listens to prices while it is shown.
#include "random.h"
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace
{

unsigned long seed = 101;

class Market
{
      public:
	using Listener = std::function<void(unsigned, double)>;
	Market()
	{
		for (unsigned i = 0; i < 500; i++) {
			names.push_back("Company with a long name, number " + std::to_string(i));
			prices.emplace_back(250, 100.0 + i);
		}
	}
	unsigned listen(Listener listener)
	{
		listeners[next] = std::move(listener);
		return next++;
	}
	void forget(unsigned id)
	{
		listeners.erase(id);
	}
	void change(unsigned company, double by)
	{
		auto &history = prices[company];
		history.erase(history.begin());
		history.push_back(history.back() + by);
		for (auto &listener : listeners)
			listener.second(company, history.back());
	}
	const std::vector<double> &history(unsigned company) const
	{
		return prices[company];
	}
	const std::string &name(unsigned company) const
	{
		return names[company];
	}

      private:
	std::vector<std::string> names;
	std::vector<std::vector<double>> prices;
	std::map<unsigned, Listener> listeners;
	unsigned next = 0;
};

struct Series {
	std::vector<double> values;
	unsigned changes = 0;
};

class Chart
{
      public:
	Chart(Market &market, unsigned company) : market(market), title(market.name(company))
	{
		auto series = std::make_shared<Series>();
		series->values = market.history(company);
		shown = series;
		auto update = [series, company](unsigned changed, double value) {
			if (changed == company)
				series->values[series->changes++ % series->values.size()] = value;
		};
		id = market.listen(update); // GUILTY: listener never unregistered, growth
	}
	std::string draw() const
	{
		std::string picture = title + ": ";
		for (double value : shown->values)
			picture += static_cast<char>('a' + static_cast<unsigned>(value) % 26);
		return picture;
	}

      private:
	Market &market; // whose forget(id) nobody calls
	std::string title;
	std::shared_ptr<Series> shown;
	unsigned id;
};

// Alerts listen, too, and do it right.
class Alert
{
      public:
	explicit Alert(Market &market) : market(market), hits(std::make_unique<unsigned>(0))
	{
		unsigned *count = hits.get();
		id = market.listen([count](unsigned, double value) { *count += value > 600; });
	}
	~Alert()
	{
		market.forget(id);
	}
	unsigned count() const
	{
		return *hits;
	}

      private:
	Market &market;
	std::unique_ptr<unsigned> hits;
	unsigned id;
};

Market *market;

} // namespace

int main()
{
	market = new Market;
	size_t drawn = 0;
	for (unsigned i = 0; i < 2500; i++) {
		Alert alert(*market);
		Chart chart(*market, random_below(&seed, 500));
		for (unsigned n = 0; n < 3; n++)
			market->change(random_below(&seed, 500), (static_cast<int>(n) - 1) * 0.5);
		drawn += chart.draw().size() + alert.count();
	}
	std::printf("%zu drawn\n", drawn);
	return 0;
}
