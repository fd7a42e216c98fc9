/* SPDX-License-Identifier: MIT
 * Keeps blocks in the members of structs that are one variable each: a service with a table, lists by
 * topic, and a list of which the half is in the table as well; a pair of pointers without a name, in a
 * base and in a union; a variable of the standard library. What each keeps is in `truth`.
 */
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <map>
#include <string>
#include <unistd.h>
#include <unordered_map>
#include <vector>

enum part { CACHE, BUS, ITEMS, BOTH, HEAD, PLAIN, FIRST, SECOND, LOOSE, PARTS };
static const char *const names[] = {"cache", "bus",   "items",  "both", "head",
				    "plain", "first", "second", "loose"};
static long bytes[PARTS], blocks[PARTS];

static void *some(int p, size_t n)
{
	bytes[p] += (long)n;
	blocks[p]++;
	return calloc(1, n);
}

template <class T, int P> struct counted {
	using value_type = T;
	template <class U> struct rebind {
		using other = counted<U, P>;
	};
	counted() = default;
	template <class U> counted(const counted<U, P> &) {}
	T *allocate(size_t n) { return static_cast<T *>(some(P, n * sizeof(T))); }
	void deallocate(T *p, size_t n)
	{
		bytes[P] -= (long)(n * sizeof(T));
		blocks[P]--;
		free(p);
	}
	template <class U> bool operator==(const counted<U, P> &) const { return true; }
	template <class U> bool operator!=(const counted<U, P> &) const { return false; }
};

namespace desk
{
struct item {
	item *next;
	char pad[192];
};
template <int P> using list = std::vector<void *, counted<void *, P>>;
using table = std::unordered_map<long, item *, std::hash<long>, std::equal_to<long>,
				 counted<std::pair<const long, item *>, CACHE>>;
using topics = std::map<long, list<BUS>, std::less<long>,
			counted<std::pair<const long, list<BUS>>, BUS>>;

class cache
{
public:
	long hits;
	table entries;
};
struct base {
	item *head;
};
struct server : base {
	long started;
	cache cache_;
	topics bus_;
	item *items_;
};

static void put(int p, item **at)
{
	item *i = static_cast<item *>(some(p, sizeof(item)));
	i->next = *at;
	*at = i;
}

static server &instance()
{
	static server one;
	return one;
}

__attribute__((noinline)) static void fill(server &s, int n)
{
	for (int i = 0; i < n; i++)
		put(HEAD, &s.head);
	for (int i = 0; i < n; i++) {
		item *own = NULL;
		put(CACHE, &own);
		s.cache_.entries[i] = own;
	}
	for (int i = 0; i < n; i++)
		s.bus_[i % 8].push_back(some(BUS, 100));
	for (int i = 0; i < n; i++)
		put(BOTH, &s.items_);
	s.cache_.entries[-1] = s.items_;
	for (int i = 0; i < n; i++)
		put(ITEMS, &s.items_);
}
}

std::unordered_map<long, long, std::hash<long>, std::equal_to<long>,
		   counted<std::pair<const long, long>, PLAIN>>
	g_plain;
struct parts {
	long x;
	union {
		void *loose, *same;
	};
	struct {
		void *first, *second;
	};
};
parts g_parts;

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 100;
	desk::fill(desk::instance(), n);
	for (int i = 0; i < n; i++)
		g_plain[i] = i;
	g_parts.loose = some(LOOSE, 5000);
	g_parts.first = some(FIRST, 6000);
	g_parts.second = some(SECOND, 7000);
	FILE *f = fopen("truth", "w");
	for (int p = 0; p < PARTS; p++)
		fprintf(f, "%s %ld %ld\n", names[p], bytes[p], blocks[p]);
	fclose(f);
	f = fopen("ready.part", "w");
	fprintf(f, "%d\n", (int)getpid());
	fclose(f);
	rename("ready.part", "ready");
	close(open("go", O_RDONLY));
	return 0;
}
