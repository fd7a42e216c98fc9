/* SPDX-License-Identifier: MIT
 * Allocations on stacks of every kind, and from code made at run time. usage: stacks SCENE, one of
 * those at the end; it prints how many blocks it took in leaf(). Of each stack whose frames can be
 * known the functions from entry to leaf() are walk_0 to walk_3.
 */
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE 4096u
#define FIBER_BYTES (16u * PAGE)
#define FIBERS 2000
#define NOINLINE __attribute__((noinline))
#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			perror(#x);                                                                \
			exit(9);                                                                   \
		}                                                                                  \
	} while (0)

static long blocks;

NOINLINE void leaf(size_t bytes)
{
	void *volatile p = malloc(bytes);
	__atomic_fetch_add(&blocks, 1, __ATOMIC_RELAXED);
	free(p);
}

/* Frames that reach from page to page. */
#define WALK(name, next, bytes)                                                                    \
	NOINLINE void name(size_t n)                                                               \
	{                                                                                          \
		char room[bytes];                                                                  \
		__asm__ volatile("" : : "r"(room) : "memory");                                     \
		next(n);                                                                           \
		__asm__ volatile("");                                                              \
	}
WALK(walk_3, leaf, 40)
WALK(walk_2, walk_3, 3000)
WALK(walk_1, walk_2, 1400)
WALK(walk_0, walk_1, 5000)

/* ---- code without unwind information -------------------------------------------------------- */

/* Each calls f(n). */
typedef void trampoline(void (*f)(size_t), size_t n);
static const unsigned char codes[][48] = {
	/* sub $8, %rsp; mov %rdi, %rax; mov %rsi, %rdi; call *%rax; add $8, %rsp; ret */
	"\x48\x83\xec\x08\x48\x89\xf8\x48\x89\xf7\xff\xd0\x48\x83\xc4\x08\xc3",
	/* push %rbp; mov %rsp, %rbp; ...; pop %rbp; ret */
	"\x55\x48\x89\xe5\x48\x89\xf8\x48\x89\xf7\xff\xd0\x5d\xc3",
	/* push %rbp; mov %rsp, %rbp; sub $32, %rsp; ...; leave; ret */
	"\x55\x48\x89\xe5\x48\x83\xec\x20\x48\x89\xf8\x48\x89\xf7\xff\xd0\xc9\xc3",
	/* push %rbx; push %r12; sub $264, %rsp; ...; add $264, %rsp; pop %r12; pop %rbx; ret */
	"\x53\x41\x54\x48\x81\xec\x08\x01\x00\x00\x48\x89\xf8\x48\x89\xf7\xff\xd0\x48\x81\xc4\x08"
	"\x01"
	"\x00\x00\x41\x5c\x5b\xc3",
	/* push %rbp; sub $32, %rsp; rbp, and what would be its frame, are of the stack: lea
	 * 8(%rsp), %rbp; mov %rsp, 16(%rsp); lea 64(%rsp), %rax; mov %rax, 8(%rsp); ...; test %rax,
	 * %rax; jz to the next; add $32, %rsp; pop %rbp; ret */
	"\x55\x48\x83\xec\x20\x48\x8d\x6c\x24\x08\x48\x89\x64\x24\x10\x48\x8d\x44\x24\x40\x48\x89"
	"\x44"
	"\x24\x08\x48\x89\xf8\x48\x89\xf7\xff\xd0\x48\x85\xc0\x74\x00\x48\x83\xc4\x20\x5d\xc3",
};
#define HONEST 4
#define OBSCURE 4
static trampoline *made[HONEST + 1];

/* Defines code like V8's: each function calls the first of a list, enter() the next one with the
 * rest of the list, and call_out() code of a compiler. How they return is not seen from behind a
 * call. The frame of compiled() holds a return address besides its own. Unlike V8's, frameless()
 * has no frame, and rbp in garbled() is another address of the stack. */
typedef void code(void *const *list, size_t n);
void enter(void *const *list, size_t n);
extern const char made_code[], made_compiled[], made_call_out[], made_frameless[], made_garbled[],
	made_end[];
__asm__(".text\n.type enter, @function\nenter:\n"
	"push %rbp\nmov %rsp, %rbp\npush $2\nsub $16, %rsp\n"
	"push %r12\npush %r13\npush %r14\npush %r15\npush %rbx\n"
	"xor %ebx, %ebx\nxor %r12d, %r12d\nmov (%rdi), %rax\nadd $8, %rdi\ncall *%rax\n"
	"test %rbx, %rbx\njz 1f\n1:\n"
	"pop %rbx\npop %r15\npop %r14\npop %r13\npop %r12\nadd $24, %rsp\npop %rbp\nret\n"
	".size enter, . - enter\n"
	".section .rodata\nmade_code:\nmade_compiled:\n"
	"push %rbp\nmov %rsp, %rbp\npush $8193\nsub $56, %rsp\n"
	"mov 8(%rbp), %rax\nmov %rax, -32(%rbp)\nmov (%rdi), %rax\nadd $8, %rdi\ncall *%rax\n"
	"test %rax, %rax\njz 1f\n1:\nleave\nret\n"
	"made_call_out:\n"
	"push %rbp\nmov %rsp, %rbp\npush $6\npush $0\nand $-16, %rsp\nmov %rsp, -16(%rbp)\n"
	"mov (%rdi), %rax\nmov %rsi, %rdi\ncall *%rax\n"
	"test %rax, %rax\njz 1f\n1:\nleave\nret\n"
	"made_frameless:\n"
	"push %rbx\nmov (%rdi), %rax\nmov %rsi, %rdi\ncall *%rax\n"
	"test %rax, %rax\njz 1f\n1:\npop %rbx\nret\n"
	"made_garbled:\n"
	"push %rbp\nsub $32, %rsp\nlea 8(%rsp), %rbp\nmov %rsp, 16(%rsp)\n"
	"mov (%rdi), %rax\nadd $8, %rdi\ncall *%rax\n"
	"test %rax, %rax\njz 1f\n1:\nadd $32, %rsp\npop %rbp\nret\n"
	"made_end:\n.text\n");
static char *code_page;

static void *code_at(const char *p)
{
	return code_page + 2048 + (p - made_code);
}

static void make_code(void)
{
	char *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(at != MAP_FAILED);
	for (int i = 0; i <= HONEST; i++) {
		memcpy(at + 64 * i, codes[i], sizeof codes[i]);
		made[i] = (trampoline *)(uintptr_t)(at + 64 * i);
	}
	code_page = at;
	memcpy(code_at(made_code), made_code, (size_t)(made_end - made_code));
	CHECK(!mprotect(at, PAGE, PROT_READ | PROT_EXEC));
}

NOINLINE void obscure(size_t n)
{
	made[OBSCURE](leaf, n);
	__asm__ volatile("");
}

/* ---- stacks --------------------------------------------------------------------------------- */

/* The start of `bytes`, with nothing that can be read below and above. */
static char *map_stack(size_t bytes)
{
	char *m = mmap(NULL, bytes + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(m != MAP_FAILED && !mprotect(m + PAGE, bytes, PROT_READ | PROT_WRITE));
	return m + PAGE;
}

/* To another stack, whose sp is kept at `to`; as most libraries of fibers do it. No CFI. What
 * begins at `over` is not called, and follows a function with a large frame. */
void jump(void **from, void *to);
void over(void);
void no_cfi_over(void);
__asm__(".text\n.globl jump\njump:\n"
	"push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
	"mov %rsp, (%rdi)\nmov %rsi, %rsp\n"
	"pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n"
	"nop\nnop\nnop\nnop\nnop\nnop\nnop\nno_cfi_over:\nud2\n"
	"large_frame:\n.cfi_startproc\nsub $8192, %rsp\n.cfi_adjust_cfa_offset 8192\n"
	"nop\nnop\nnop\nnop\nnop\nnop\nnop\nnop\n.cfi_endproc\n"
	"over:\nud2\n");

static void *main_sp, *fiber_sp;

static void begin_fiber(char *stack, size_t bytes, void (*entry)(void), void (*returns)(void))
{
	void **sp = (void **)(void *)(stack + bytes);
	*--sp = (void *)returns;
	*--sp = (void *)entry;
	sp -= 6;
	memset(sp, 0, 6 * sizeof *sp);
	fiber_sp = sp;
}

static void (*fiber_walk)(size_t);

NOINLINE void fiber_entry(void)
{
	for (size_t n = 1;; n++) {
		fiber_walk(n % 500);
		jump(&fiber_sp, main_sp);
	}
}

static void run_fiber(char *stack, void (*returns)(void), int times)
{
	begin_fiber(stack, FIBER_BYTES, fiber_entry, returns);
	for (int i = 0; i < times; i++)
		jump(&main_sp, fiber_sp);
}

static void in_thread(void *(*f)(void *), void *arg, char *stack, size_t bytes)
{
	pthread_attr_t a;
	pthread_t t;
	pthread_attr_init(&a);
	CHECK(!(stack ? pthread_attr_setstack(&a, stack, bytes)
		      : pthread_attr_setstacksize(&a, bytes)));
	CHECK(!pthread_create(&t, &a, f, arg));
	pthread_join(t, NULL);
}

/* ---- scenes --------------------------------------------------------------------------------- */

static void *below(void *fiber)
{
	leaf(1);
	fiber_walk = obscure;
	run_fiber(fiber, no_cfi_over, 50);
	fiber_walk = walk_3;
	run_fiber(fiber, over, 50);
	return NULL;
}

/* A thread of 64 KB to 4 MB, and a fiber's stack right below it. */
static void guard(void)
{
	for (size_t bytes = 64 << 10; bytes <= 4 << 20; bytes *= 4) {
		char *both = map_stack(FIBER_BYTES + PAGE + bytes);
		CHECK(!mprotect(both + FIBER_BYTES, PAGE, PROT_NONE));
		in_thread(below, both, both + FIBER_BYTES + PAGE, bytes);
	}
}

static void *far_down(void *bytes)
{
	char *room = alloca((size_t)bytes);
	__asm__ volatile("" : : "r"(room) : "memory");
	for (size_t i = 0; i < 50000; i++)
		walk_0(i % 100);
	return NULL;
}

/* Threads with more stack than the limit says. */
static void large(void)
{
	in_thread(far_down, (void *)(size_t)(20 << 20), NULL, 64 << 20);
	in_thread(far_down, (void *)(size_t)(900 << 20), NULL, 1 << 30);
}

static ucontext_t home, coroutine;

NOINLINE void coroutine_entry(void)
{
	for (size_t n = 1;; n++) {
		walk_0(n);
		swapcontext(&coroutine, &home);
	}
}

/* Each on memory of its own, which nothing was on before. */
static void coroutines(void)
{
	for (int i = 0; i < FIBERS; i++) {
		getcontext(&coroutine);
		coroutine.uc_stack.ss_sp = map_stack(FIBER_BYTES);
		coroutine.uc_stack.ss_size = FIBER_BYTES;
		makecontext(&coroutine, coroutine_entry, 0);
		for (int k = 0; k < 20; k++)
			swapcontext(&home, &coroutine);
	}
}

static void fibers(void)
{
	fiber_walk = walk_0;
	for (int i = 0; i < FIBERS; i++)
		run_fiber(map_stack(FIBER_BYTES), no_cfi_over, 20);
}

/* One on memory that another had, and less of it. */
static void smaller(void)
{
	fiber_walk = obscure;
	for (int i = 0; i < 200; i++) {
		char *stack = map_stack(FIBER_BYTES * 2);
		run_fiber(stack + FIBER_BYTES, no_cfi_over, 100);
		CHECK(!mprotect(stack + FIBER_BYTES, PAGE, PROT_NONE));
		run_fiber(stack, over, 10);
		CHECK(!munmap(stack - PAGE, FIBER_BYTES * 2 + 2 * PAGE));
	}
}

/* Calls leaf() below so many frames of a page each. */
void pages(size_t frames, size_t n);
__asm__(".text\n.type pages, @function\npages:\n.cfi_startproc\n"
	"sub $4088, %rsp\n.cfi_adjust_cfa_offset 4088\n"
	"test %rdi, %rdi\njz 1f\ndec %rdi\ncall pages\njmp 2f\n"
	"1:\nmov %rsi, %rdi\ncall leaf\n"
	"2:\nadd $4088, %rsp\n.cfi_adjust_cfa_offset -4088\nret\n.cfi_endproc\n"
	".size pages, . - pages\n");
static size_t frames;

NOINLINE void walk_pages(size_t n)
{
	pages(frames, n);
	__asm__ volatile("");
}

/* On the lower half of another one's memory, with its leaf where that had one: what lay outside of
 * it there is gone. */
static void halved(void)
{
	fiber_walk = walk_pages;
	for (int i = 0; i < 100; i++) {
		char *stack = map_stack(FIBER_BYTES * 2);
		frames = 4 + FIBER_BYTES / PAGE;
		for (int k = 0; k < 2; k++) {
			run_fiber(stack + FIBER_BYTES, no_cfi_over, 10);
			usleep(i < 10 ? 10000 : 0); /* until its memory is listed */
			leaf(1);
		}
		run_fiber(stack + FIBER_BYTES, no_cfi_over, 10);
		CHECK(!munmap(stack + FIBER_BYTES, FIBER_BYTES + PAGE));
		frames = 4;
		run_fiber(stack, no_cfi_over, 10);
		CHECK(!munmap(stack - PAGE, FIBER_BYTES + PAGE));
		leaf(1);
	}
}

NOINLINE void interpret(size_t n)
{
	leaf(n + 1);
	if (n)
		made[n % HONEST](interpret, n - 1);
	__asm__ volatile("");
}

static void trampolines(void)
{
	for (int i = 0; i < 4000; i++)
		interpret(12);
}

NOINLINE void run_compiled(size_t n);
static void *compiled_list[4];

NOINLINE void run_compiled(size_t n)
{
	leaf(n + 1);
	if (n)
		enter(compiled_list, n - 1);
	__asm__ volatile("");
}

/* From compiled code into that of a compiler, and from there into compiled code again. */
static void compiled(void)
{
	compiled_list[0] = compiled_list[1] = code_at(made_compiled);
	compiled_list[2] = code_at(made_call_out);
	compiled_list[3] = (void *)run_compiled;
	for (int i = 0; i < 4000; i++)
		run_compiled(3);
}

/* rbp is the frame of who called the code that has none: by it that caller would be missing. */
__attribute__((noinline, optimize("no-omit-frame-pointer"))) void framed(void *const *list,
									 size_t n)
{
	((code *)code_at(made_frameless))(list, n);
	__asm__ volatile("");
}

static void unknown(void)
{
	void *const from_c[] = {(void *)leaf};
	void *const from_code[] = {code_at(made_compiled), code_at(made_frameless), (void *)leaf};
	void *const garbled[] = {code_at(made_garbled), code_at(made_call_out), (void *)leaf};
	for (size_t i = 0; i < 5000; i++) {
		framed(from_c, i % 100);
		enter(from_code, i % 100);
		enter(garbled, i % 100);
	}
}

static void obscured(void)
{
	for (size_t i = 0; i < 5000; i++)
		obscure(i % 100);
}

static void handle(int sig)
{
	walk_1((size_t)sig);
}

static void alternate(void)
{
	stack_t s = {.ss_sp = map_stack(FIBER_BYTES), .ss_size = FIBER_BYTES};
	struct sigaction a = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
	CHECK(!sigaltstack(&s, NULL) && !sigaction(SIGUSR1, &a, NULL));
	for (int i = 0; i < 20000; i++)
		raise(SIGUSR1);
}

NOINLINE void recurse(size_t n)
{
	if (n % 500 == 0)
		leaf(n);
	if (n)
		recurse(n - 1);
	__asm__ volatile("");
}

static void *recursing(void *depth)
{
	recurse((size_t)depth);
	return NULL;
}

static void deep(void)
{
	in_thread(recursing, (void *)100000, NULL, 1 << 30);
	recurse(100000);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} scenes[] = {
		{"guard", guard},       {"large", large},         {"coroutines", coroutines},
		{"fibers", fibers},     {"smaller", smaller},     {"trampolines", trampolines},
		{"obscure", obscured},  {"alternate", alternate}, {"deep", deep},
		{"compiled", compiled}, {"unknown", unknown},     {"halved", halved}};
	make_code();
	for (size_t i = 0; argc == 2 && i < sizeof scenes / sizeof *scenes; i++)
		if (!strcmp(argv[1], scenes[i].name)) {
			scenes[i].run();
			printf("%ld\n", blocks);
			return 3;
		}
	return 2;
}
