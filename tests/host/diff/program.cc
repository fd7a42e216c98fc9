// SPDX-License-Identifier: MIT
// A program for tests/host/diff.sh that is built in several ways: what compilers inline, clone, call last and merge, at some
// fifty sites. With -DREGRESSION it keeps 64 KiB more, from a site of its own; with -DRENAMED one function has another name.
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#ifdef RENAMED
#define read_header read_prologue
#endif

void *kept[4096];
size_t count;

static void keep(void *p)
{
	kept[count++ % 4096] = p;
}

// inlined where the compiler likes
static inline void *checked(size_t n)
{
	void *p = malloc(n);
	if (!p)
		abort();
	return p;
}

static inline void *filled(size_t n)
{
	return memset(checked(n), 1, n);
}

namespace parse {

struct Token {
	char *text;
	int kind;
};

class Reader {
public:
	explicit Reader(int depth) : depth_(depth) {}
	void read_header(int lines);
	Token *read_token(int kind);
	void read_body(int tokens);

private:
	int depth_;
	std::vector<int> offsets_;
	std::map<int, std::string> names_;
	std::vector<Token *> tokens_;
};

__attribute__((noinline)) void Reader::read_header(int lines)
{
	for (int i = 0; i < lines; i++) {
		keep(checked(100));
		names_[i] = std::string(40 + static_cast<size_t>(depth_), 'x');
		offsets_.push_back(i);
	}
	keep(filled(300));
}

Token *Reader::read_token(int kind)
{
	auto *t = new Token;
	t->text = strdup("a token of some length");
	t->kind = kind;
	return t;
}

void Reader::read_body(int tokens)
{
	for (int i = 0; i < tokens; i++)
		tokens_.push_back(read_token(i));
	for (int i = 0; i < tokens; i += 2) {
		free(tokens_[static_cast<size_t>(i)]->text);
		delete tokens_[static_cast<size_t>(i)];
		tokens_[static_cast<size_t>(i)] = nullptr;
	}
}

} // namespace parse

template <typename T> static T *make_array(size_t n)
{
	return new T[n];
}

template <typename T> struct Pool {
	std::vector<T *> all;
	T *get()
	{
		all.push_back(make_array<T>(10));
		return all.back();
	}
};

struct Shape {
	virtual ~Shape() = default;
	virtual void *draw(size_t n) = 0;
};
struct Circle : Shape {
	void *draw(size_t n) override { return malloc(n); } // called last
};
struct Square : Shape {
	void *draw(size_t n) override
	{
		void *a = malloc(n);
		keep(malloc(n + 8));
		return a;
	}
};

// the last thing that it does is a call: its frame may be gone
__attribute__((noinline)) static void *tail_call(size_t n)
{
	return malloc(n + 1);
}

__attribute__((noinline)) static void *tail_chain(size_t n)
{
	return tail_call(n * 2);
}

static void *recursive(int depth, size_t n)
{
	if (depth > 0)
		return recursive(depth - 1, n + 1);
	return malloc(n);
}

// gcc makes copies of such functions for constant arguments
__attribute__((noinline)) static void *by_kind(int kind, size_t n)
{
	switch (kind) {
	case 0:
		return calloc(n, 2);
	case 1:
		return checked(n * 3);
	default: {
		void *p = malloc(n);
		return realloc(p, n * 4);
	}
	}
}

static void cache(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		void *a = checked(static_cast<size_t>(64 + i));
		void *b = checked(static_cast<size_t>(128 + i));
		if (i % 3 == 0)
			keep(a);
		else
			free(a);
		free(b);
	}
}

static void with_lambda(const std::function<void *(size_t)> &f)
{
	for (size_t i = 1; i < 8; i++)
		keep(f(i * 10));
}

static void strings()
{
	static std::vector<std::string> all;
	for (int i = 0; i < 30; i++)
		all.push_back(std::string("prefix that does not fit inside ") + std::to_string(i));
	static std::map<std::string, std::unique_ptr<int>> index;
	for (const auto &s : all)
		index[s] = std::make_unique<int>(1);
}

#ifdef REGRESSION
static void forget_buffer()
{
	for (int i = 0; i < 16; i++)
		keep(checked(4096));
}
#endif

int main()
{
	parse::Reader reader(3), *other = new parse::Reader(9);
	reader.read_header(20);
	reader.read_body(50);
	other->read_header(10);
	other->read_body(30);
	Pool<int> ints;
	Pool<double> doubles;
	for (int i = 0; i < 12; i++) {
		keep(ints.get());
		keep(doubles.get());
	}
	Shape *shapes[] = {new Circle, new Square, new Circle};
	for (Shape *s : shapes)
		for (size_t i = 1; i < 5; i++)
			keep(s->draw(i * 16));
	for (size_t i = 0; i < 10; i++) {
		keep(tail_call(i));
		keep(tail_chain(i));
		keep(recursive(static_cast<int>(i % 4), 50));
	}
	for (int kind = 0; kind < 3; kind++)
		for (size_t i = 1; i < 6; i++)
			keep(by_kind(kind, i * 24));
	keep(by_kind(0, 77));
	cache(40);
	with_lambda([](size_t n) { return malloc(n); });
	with_lambda([](size_t n) { return calloc(1, n); });
	strings();
#ifdef REGRESSION
	forget_buffer();
#endif
	for (Shape *s : shapes)
		delete s;
	return 0;
}
