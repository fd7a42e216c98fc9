// SPDX-License-Identifier: MIT
// Allocates from under everything that makes call stacks hard to follow. usage: guest_adversary SCENE... (ROUNDS in the environment)
#include <alloca.h>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

extern "C" void guest_stale(int which, void (*callback)());
extern "C" void guest_complex(void (*callback)());

static int rounds = 200;
static thread_local void *volatile sink;

__attribute__((noinline)) static void touch(size_t n = 32)
{
	void *volatile block = malloc(n);
	free(block);
	asm volatile("");
}
static void callback()
{
	touch(48);
	asm volatile("");
}

__attribute__((noinline)) static void stale()
{
	for (volatile int i = 0; i < 3 * rounds; i = i + 1) // volatile: one call, not three unrolled
		guest_stale(i % 3, callback);
}

static jmp_buf back;
__attribute__((noipa)) static void leap()
{
	longjmp(back, 1);
}
__attribute__((noinline)) static void jump_from(int depth)
{
	touch(16 + depth);
	if (depth)
		jump_from(depth - 1);
	else
		leap();
	touch(); // never reached
}
static void jumps()
{
	for (volatile int i = 0; i < rounds; i = i + 1) {
		if (!setjmp(back))
			jump_from(i % 37);
		touch();
	}
}

__attribute__((noinline)) static void throw_from(int depth)
{
	std::string s(40 + depth, 'x');
	if (depth == 0)
		throw std::runtime_error(s);
	throw_from(depth - 1);
	touch();
}
static void exceptions()
{
	for (int i = 0; i < rounds; i++) {
		try {
			throw_from(i % 19);
		} catch (const std::exception &) {
			touch();
		}
		touch();
	}
}

__attribute__((noinline)) static void variable(size_t n, int depth)
{
	char *p = (char *)alloca(n);
	memset(p, 0, n);
	sink = p;
	touch(n);
	if (depth)
		variable(n / 2 + 1, depth - 1);
	touch();
	asm volatile("");
}
static void allocas()
{
	for (int i = 0; i < rounds; i++)
		variable(i * 7 % 400 + 1, i % 9);
}

// A realigned frame whose CFA is a value in memory (gcc's dynamic realignment with alloca).
__attribute__((noinline)) static void realigned(int n, int depth)
{
	alignas(64) char big[128];
	char *p = (char *)alloca(n);
	p[0] = 0;
	memset(big, n, sizeof big);
	sink = big;
	touch(p[0] + 20);
	if (depth)
		realigned(n + 3, depth - 1);
	touch();
	asm volatile("");
}
static void realigns()
{
	for (int i = 0; i < rounds; i++)
		realigned(i % 30 + 1, i % 6);
}

static int compare(const void *a, const void *b)
{
	touch();
	return *(const int *)a - *(const int *)b;
}
static void sorting()
{
	int v[300];
	for (int i = 0; i < rounds / 20; i++) {
		for (int k = 0; k < 300; k++)
			v[k] = k * 7919 % 307;
		qsort(v, 300, sizeof *v, compare);
	}
}

/* The same allocating function at the same place of the stack, by several ways. */
__attribute__((noipa)) static void way_in()
{
	touch();
	asm volatile("");
}
template <int N> __attribute__((noipa)) static void way()
{
	way_in();
	asm volatile("" ::"i"(N));
}
template <int N> __attribute__((noipa)) static void longer_way()
{
	way<N>();
	asm volatile("" ::"i"(N));
}
static void ways()
{
	static void (*const all[])() = {way<0>, way<1>, way<2>, longer_way<0>, longer_way<1>};
	unsigned random = 1;
	for (int i = 0; i < rounds * 20; i++) {
		random = random * 1103515245 + 12345;
		all[(random >> 16) % 5]();
	}
}

static void handler(int)
{
	touch();
	callback();
}
__attribute__((noinline)) static void raising(int depth)
{
	touch();
	if (depth)
		raising(depth - 1);
	else
		raise(SIGUSR1);
	touch();
	asm volatile("");
}
static void signals(bool alternate)
{
	static char stack[65536];
	struct sigaction a = {};
	a.sa_handler = handler;
	if (alternate) {
		stack_t s = {};
		s.ss_sp = stack;
		s.ss_size = sizeof stack;
		sigaltstack(&s, nullptr);
		a.sa_flags = SA_ONSTACK;
	}
	sigaction(SIGUSR1, &a, nullptr);
	for (int i = 0; i < rounds; i++)
		raising(i % 12);
}

static ucontext_t main_context, fiber_context;
static void fiber()
{
	for (;;) {
		touch(100);
		swapcontext(&fiber_context, &main_context);
	}
}
static void fibers()
{
	static char stack[65536];
	getcontext(&fiber_context);
	fiber_context.uc_stack.ss_sp = stack;
	fiber_context.uc_stack.ss_size = sizeof stack;
	makecontext(&fiber_context, fiber, 0);
	for (int i = 0; i < rounds; i++) {
		swapcontext(&main_context, &fiber_context);
		touch();
	}
}

// Two libraries at one address in turn; fails when the loader did not put them there.
static void plugs()
{
	void *last = nullptr;
	int same = 0;
	for (int i = 0; i < rounds; i++) {
		void *lib = dlopen(i % 2 ? getenv("PLUG_B") : getenv("PLUG_A"), RTLD_NOW);
		if (!lib)
			abort();
		auto plug = (void (*)(void (*)()))dlsym(lib, "plug");
		same += (void *)plug == last;
		last = (void *)plug;
		plug(callback);
		plug(callback);
		dlclose(lib);
	}
	if (!same)
		puts("never at the same address");
}

static void *thread(void *)
{
	for (int i = 0; i < 10; i++)
		variable(i + 1, 3);
	return nullptr;
}
static void threads()
{
	for (int i = 0; i < rounds; i++) {
		pthread_t t[4];
		for (auto &x : t)
			pthread_create(&x, nullptr, thread, nullptr);
		for (auto &x : t)
			pthread_join(x, nullptr);
	}
}

__attribute__((noinline)) static void deeper(int depth)
{
	if (depth)
		deeper(depth - 1);
	touch();
	asm volatile("");
}
static void deep()
{
	int depth = getenv("DEPTH") ? atoi(getenv("DEPTH")) : 10000;
	deeper(depth);
	touch();
	deeper(3 * depth);
	touch();
}

static void complex_rule()
{
	for (int i = 0; i < rounds; i++) {
		guest_complex(callback);
		touch();
	}
}

static void forks()
{
	for (int i = 0; i < rounds; i++) {
		pid_t p = fork();
		if (!p) {
			touch(1000);
			_exit(0);
		}
		touch();
		waitpid(p, nullptr, 0);
	}
}

int main(int argc, char **argv)
{
	if (getenv("ROUNDS"))
		rounds = atoi(getenv("ROUNDS"));
	for (int i = 1; i < argc; i++) {
		std::string s = argv[i];
		if (s == "stale")
			stale();
		else if (s == "longjmp")
			jumps();
		else if (s == "exceptions")
			exceptions();
		else if (s == "alloca")
			allocas();
		else if (s == "realign")
			realigns();
		else if (s == "qsort")
			sorting();
		else if (s == "ways")
			ways();
		else if (s == "signals")
			signals(false);
		else if (s == "altstack")
			signals(true);
		else if (s == "fibers")
			fibers();
		else if (s == "dlclose")
			plugs();
		else if (s == "threads")
			threads();
		else if (s == "deep")
			deep();
		else if (s == "complex")
			complex_rule();
		else if (s == "fork")
			forks();
		else
			return 2;
		printf("%s done\n", argv[i]);
	}
	return 0;
}
