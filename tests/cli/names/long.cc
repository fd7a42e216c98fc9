/* SPDX-License-Identifier: MIT
 * Sites whose names are long, differ in template arguments alone, or have one name, one line and different callers.
 */
#include <memory>
#include <string>
#include <vector>
namespace trading::marketdata::cache {
template <typename Key, typename Value> struct ExpiringLookupTable {
	std::vector<std::unique_ptr<char[]>> kept;
	__attribute__((noinline)) void insert_or_assign_with_expiry(int n)
	{
		for (int i = 0; i < n; i++)
			kept.emplace_back(new char[sizeof(Key) + sizeof(Value)]);
	}
	__attribute__((noinline)) void insert_or_assign_without_expiry(int n)
	{
		for (int i = 0; i < n; i++)
			kept.emplace_back(new char[sizeof(Key) + sizeof(Value)]);
	}
};
struct InstrumentQuoteSnapshot { char x[300]; };
struct InstrumentTradeSnapshot { char x[500]; };
struct OrderBookLevel { char x[200]; };
struct ClientSession { char x[700]; };
}
using namespace trading::marketdata::cache;
template <typename T> using Table = ExpiringLookupTable<std::string, T>;
static Table<InstrumentQuoteSnapshot> a;
static Table<InstrumentTradeSnapshot> b;
static Table<OrderBookLevel> c;
static Table<ClientSession> d;
__attribute__((noinline)) static void fill_everything_from_the_upstream_feed(int n)
{
	a.insert_or_assign_with_expiry(n);
	b.insert_or_assign_with_expiry(n);
	c.insert_or_assign_with_expiry(n);
	d.insert_or_assign_with_expiry(n);
}
__attribute__((noinline)) static void fill_everything_from_the_fallback_file(int n)
{
	a.insert_or_assign_with_expiry(n);
	b.insert_or_assign_without_expiry(n);
	c.insert_or_assign_with_expiry(n);
	d.insert_or_assign_with_expiry(n);
}
int main()
{
	fill_everything_from_the_upstream_feed(2000);
	fill_everything_from_the_fallback_file(1500);
}
