// SPDX-License-Identifier: MIT
// Templates, namespaces, virtual functions, lambdas and local classes, for tests/cli/symbols.sh.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <stdlib.h>
#include <string>
#include <vector>

namespace outer
{
namespace
{
template <class T> struct Box {
	std::vector<T> v;
	void add(const T &t) { v.push_back(t); }
	T sum() const
	{
		T r{};
		for (auto &x : v)
			r = r + x;
		return r;
	}
};

int helper(int n)
{
	Box<int> b;
	for (int i = 0; i < n; i++)
		b.add(i);
	return b.sum();
}
} // namespace

class Shape
{
      public:
	virtual ~Shape() = default;
	virtual double area(int scale) const = 0;
	static Shape *make(const char *name);
};

struct Circle : Shape {
	double r;
	explicit Circle(double q) : r(q) {}
	double area(int scale) const override { return 3.14 * r * r * scale; }
};

struct Square : Shape {
	double a;
	explicit Square(double q) : a(q) {}
	double area(int scale) const override
	{
		std::string s = std::to_string(a);
		return a * a * scale + s.size();
	}
};

Shape *Shape::make(const char *name)
{
	if (*name == 'c')
		return new Circle(2);
	return new Square(3);
}

std::map<std::string, int> words(const std::vector<std::string> &in)
{
	std::map<std::string, int> m;
	for (auto &w : in)
		m[w]++;
	return m;
}

int run(int n)
{
	std::function<int(int)> f = [n](int k) {
		std::vector<std::string> v(k, std::string(n, 'x'));
		return (int)words(v).size();
	};
	auto p = std::make_unique<Circle>(n);
	std::unique_ptr<Shape> q(Shape::make(n > 3 ? "c" : "s"));
	return f(3) + helper(n) + (int)(p->area(2) + q->area(1));
}
} // namespace outer

static void *volatile sink;

inline __attribute__((always_inline)) void make(int n)
{
	sink = malloc(n);
}

/* Is only inlined itself: what its local types do is not. */
inline __attribute__((always_inline)) int keep(int n)
{
	struct Maker {
		__attribute__((noinline)) static void one(int x)
		{
			make(x);
			sink = nullptr;
		}
	};
	auto two = [n](int x) __attribute__((noinline)) {
		make(n + x);
		sink = nullptr;
	};
	Maker::one(n);
	two(n);
	return n;
}

extern "C" int c_entry(int n)
{
	return outer::run(keep(n));
}

int main(int argc, char **)
{
	struct Local {
		static int go(int x)
		{
			std::vector<int> v(x);
			std::sort(v.begin(), v.end(), [](int a, int b) { return a > b; });
			return (int)v.size();
		}
	};
	printf("%d %d\n", c_entry(argc), Local::go(argc));
	return 0;
}
