// SPDX-License-Identifier: MIT
// A service whose structures count their own memory: containers of C++, a singleton, values that two maps share, storage and frames of
// threads. Writes to the file `truth` what each holds, then to `ready`, and goes on when `go` can be opened: see tests/targets/kept.sh.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <forward_list>
#include <map>
#include <memory>
#include <pthread.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <unordered_map>
#include <vector>

enum part { SESSIONS, DOCUMENTS, NAMES, LISTENERS, WORKER, CHAIN, SCRATCH, LINES, PARTS };
static const char *const names[PARTS] = {"sessions", "documents", "names", "listeners", "worker", "chain", "scratch", "lines"};
static std::atomic<long> bytes[PARTS], blocks[PARTS];

static void count(int part, long b, long n)
{
	bytes[part] += b;
	blocks[part] += n;
}

template <class T, int P> struct counting {
	using value_type = T;
	template <class U> struct rebind {
		using other = counting<U, P>;
	};
	counting() = default;
	template <class U> counting(const counting<U, P> &) {}
	T *allocate(size_t n)
	{
		count(P, static_cast<long>(n * sizeof(T)), 1);
		return static_cast<T *>(std::malloc(n * sizeof(T)));
	}
	void deallocate(T *p, size_t n)
	{
		count(P, -static_cast<long>(n * sizeof(T)), -1);
		std::free(p);
	}
	template <class U> bool operator==(const counting<U, P> &) const { return true; }
	template <class U> bool operator!=(const counting<U, P> &) const { return false; }
};
template <int P> using text = std::basic_string<char, std::char_traits<char>, counting<char, P>>;
template <class T, int P> using list = std::vector<T, counting<T, P>>;

struct session {
	text<SESSIONS> user;
	list<char, SESSIONS> buffer;
	explicit session(int i) : user(("a user with a long name, number " + std::to_string(i)).c_str()), buffer(200) { count(SESSIONS, sizeof *this, 1); }
};
struct document {
	char pages[490];
	document() { count(DOCUMENTS, sizeof *this, 1); }
};
struct widget {
	char pixels[1000];
};

static std::unordered_map<int, session *, std::hash<int>, std::equal_to<int>, counting<std::pair<const int, session *>, SESSIONS>> g_sessions;
static std::map<int, document *, std::less<int>, counting<std::pair<const int, document *>, NAMES>> g_by_id;
static std::map<text<NAMES>, document *, std::less<text<NAMES>>, counting<std::pair<const text<NAMES>, document *>, NAMES>> g_by_name;
namespace app {
std::forward_list<long, counting<long, CHAIN>> chain;
}
thread_local list<char, SCRATCH> t_scratch;

struct bus {
	static bus &instance()
	{
		static bus one;
		return one;
	}
	list<std::shared_ptr<widget>, LISTENERS> listeners;
};

static std::atomic<int> ready{0};
static std::atomic<bool> over{false};

struct pool {
	static void run(int i);
};
__attribute__((noinline)) void pool::run(int i)
{
	pthread_setname_np(pthread_self(), ("pool-" + std::to_string(i)).c_str());
	t_scratch.resize(static_cast<size_t>(10000 * i));
	list<text<WORKER>, WORKER> rows;
	if (i == 3) {
		rows.reserve(500);
		for (int k = 0; k < 500; k++)
			rows.emplace_back(1000, 'x');
	}
	++ready;
	while (!over) {
		usleep(1000);
		asm volatile("" ::"r"(&rows) : "memory"); /* in this frame, in no register */
	}
}

__attribute__((noinline)) static void fill(int n)
{
	for (int i = 0; i < n; i++)
		g_sessions.emplace(i, new session(i));
	for (int i = 0; i < n / 4; i++) {
		document *d = new document;
		g_by_id[i] = d;
		g_by_name[text<NAMES>(("the name of document " + std::to_string(i)).c_str())] = d;
	}
	for (int i = 0; i < n / 10; i++) {
		bus::instance().listeners.push_back(std::make_shared<widget>());
		count(LISTENERS, 16 + sizeof(widget), 1);
	}
	for (int i = 0; i < n; i++)
		app::chain.push_front(i);
}

__attribute__((noinline)) static int burn(int n)
{
	volatile char b[4096];
	memset(const_cast<char *>(b), 0, sizeof b);
	return n ? burn(n - 1) + b[7] : 0;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1000;
	list<text<LINES>, LINES> lines;
	static std::vector<std::thread> threads;
	fill(n);
	for (int i = 0; i < 200; i++)
		lines.emplace_back(("a line of the program's own, number " + std::to_string(i)).c_str());
	for (int i = 1; i <= 3; i++)
		threads.emplace_back(pool::run, i);
	while (ready < 3)
		usleep(1000);
	burn(20);
	FILE *f = fopen("truth", "w");
	for (int p = 0; p < PARTS; p++)
		fprintf(f, "%s %ld %ld\n", names[p], bytes[p].load(), blocks[p].load());
	fclose(f);
	close(open("ready", O_WRONLY | O_CREAT, 0600));
	close(open("go", O_RDONLY));
	over = true;
	for (auto &t : threads)
		t.join();
	return static_cast<int>(lines.size()) - 200;
}
