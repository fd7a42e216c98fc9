/* SPDX-License-Identifier: MIT
 * Allocations below code that no unwind table covers, compiled in several ways (tableless.mk).
 * usage: tableless [SECONDS]: every scene once, or again and again so long. Each allocates in leaf(),
 * and the functions that led there are those that its source names, in their order.
 */
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))
#define STAY __asm__ volatile("" ::: "memory") /* no call before it is the last of its function */

static long blocks;

NOINLINE void leaf(size_t n)
{
	void *volatile p = malloc(n);
	blocks++;
	free(p);
}

/* ---- compiled ---- */

NOINLINE void mid(size_t n)
{
	leaf(n);
	STAY;
}

NOINLINE void outer(size_t n)
{
	for (size_t i = 0; i < 3; i++)
		mid(n + i);
	STAY;
}

/* Registers that are kept, arguments on the stack, a frame of some size. */
NOINLINE long many(long a, long b, long c, long d, long e, long f, long g, long h, char *text)
{
	char room[300];
	snprintf(room, sizeof room, "%s %ld", text, a * b);
	leaf(strlen(room) + 1);
	return a + b * c + d * e + f * g + h + room[0];
}

NOINLINE long with_many(long n)
{
	char text[] = "text";
	long sum = n;
	for (long i = 0; i < 2; i++)
		sum += many(n, i, n + 1, i + 2, n * 3, i, sum, n * 5, text) + text[i];
	STAY;
	return sum;
}

/* A frame whose size is computed. */
NOINLINE void sized(size_t n)
{
	char *room = alloca(n);
	memset(room, 1, n);
	leaf(n + (size_t)room[n - 1]);
	STAY;
}

/* Most of the function is behind the call, and most of it jumps to computed addresses. */
NOINLINE long dispatch(unsigned what, long n)
{
	long sum = 0;
	for (unsigned i = what; i < what + 8; i++) {
		switch (i % 8) {
		case 0:
			sum += n;
			break;
		case 1:
			leaf((size_t)n);
			break;
		case 2:
			sum *= n + 1;
			break;
		case 3:
			sum ^= 77;
			break;
		case 4:
			mid((size_t)n + 1);
			break;
		case 5:
			sum = sum / 3 - n;
			break;
		case 6:
			sum -= n * n;
			break;
		default:
			sum++;
		}
	}
	return sum;
}

NOINLINE void recurse(int n)
{
	if (n)
		recurse(n - 1);
	else
		leaf(10);
	STAY;
}

/* A library with tables calls it: both ways. */
static int compare(const void *a, const void *b)
{
	leaf(20);
	return *(const int *)a - *(const int *)b;
}

NOINLINE void sort(void)
{
	int v[4] = {4, 2, 3, 1};
	qsort(v, 4, sizeof *v, compare);
	STAY;
}

NOINLINE void *in_thread(void *arg)
{
	outer((size_t)(uintptr_t)arg);
	STAY;
	return NULL;
}

/* Never returns: nothing behind the call says how. */
static jmp_buf out;
NOINLINE __attribute__((noreturn)) void endless(size_t n)
{
	for (size_t i = 0;; i++) {
		mid(n + i);
		if (i == 2)
			longjmp(out, 1);
	}
}

/* Interrupted wherever it may be. */
static volatile sig_atomic_t handled;
static void handle(int n)
{
	leaf((size_t)n);
	handled++;
	STAY;
}

NOINLINE unsigned spin_more(unsigned x)
{
	for (int i = 0; i < 50; i++)
		x = x * 1103515245 + 12345;
	return x;
}

NOINLINE unsigned spin(void)
{
	unsigned x = 1;
	for (sig_atomic_t end = handled + 5; handled < end;)
		x = spin_more(x) + spin_more(x / 2);
	return x;
}

/* ---- assembly: CALLER calls its argument, a function, with 30 ---- */

#define CODE(name, text)                                                                           \
	void name(void (*f)(size_t));                                                              \
	__asm__(".text\n.type " #name ", @function\n" #name                                        \
		":\nmov %rdi, %rax\nmov $30, %edi\n" text "\n.size " #name ", . - " #name "\n")
CODE(framed, "push %rbp\nmov %rsp, %rbp\ncall *%rax\npop %rbp\nret");
CODE(aligned, "push %rbp\nmov %rsp, %rbp\nsub $40, %rsp\nand $-64, %rsp\ncall *%rax\nleave\nret");
CODE(plain, "sub $8, %rsp\ncall *%rax\nin_plain: add $8, %rsp\nret");
/* rbp is a value like any other. */
CODE(general, "push %rbp\npush %rbx\nsub $8, %rsp\nmov $3, %ebp\nmov %rsp, %rbx\n"
	      "1: call *%rax\nlea leaf(%rip), %rax\nmov $30, %edi\nsub $1, %ebp\njnz 1b\n"
	      "add $8, %rsp\npop %rbx\npop %rbp\nret");
CODE(moved, "sub $24, %rsp\nmov %rbp, 16(%rsp)\nlea 16(%rsp), %rbp\ncall *%rax\n"
	    "mov 16(%rsp), %rbp\nadd $24, %rsp\nret");
/* On to another function. */
CODE(hands_on,
     "push %rbp\nmov %rsp, %rbp\ncall *%rax\nlea spin_more(%rip), %rax\npop %rbp\njmp *%rax");
/* How these return cannot be seen, and rbp is a frame further out. */
CODE(hidden, "push %rbx\ncall *%rax\npop %rbx\npop %rcx\njmp *%rcx");
CODE(switched, "push %rbx\nmov %rsp, %rbx\nlea -512(%rsp), %rdx\nmov %rdx, %rsp\ncall *%rax\n"
	       "mov %rbx, %rsp\npop %rbx\nret");
/* Never returns, and what stands behind it undoes another frame. */
CODE(misled, "push %rbx\nsub $16, %rsp\nlea 1 + framed(%rip), %rdx\nmov %rdx, 8(%rsp)\ncall *%rax\n"
	     "add $8, %rsp\nret");
/* Never returns, and code far behind it undoes another frame: the return address there is wrong. */
CODE(far_off, "sub $24, %rsp\nlea in_plain(%rip), %rdx\nmov %rdx, 8(%rsp)\ncall *%rax\n"
	      "call abort\njmp 1f\n.skip 8000, 0xcc\n1: pop %rbp\nret");
CODE(stopped, "sub $8, %rsp\ncall *%rax\nud2");

NOINLINE void assembly(void (*code)(void (*)(size_t)), void (*f)(size_t))
{
	code(f);
	STAY;
}

static void leave(size_t n)
{
	leaf(n);
	longjmp(out, 1);
}

NOINLINE void all(void)
{
	pthread_t thread;
	outer(1);
	with_many(2);
	sized(100);
	dispatch(3, 4);
	recurse(3);
	sort();
	pthread_create(&thread, NULL, in_thread, (void *)7);
	pthread_join(thread, NULL);
	if (!setjmp(out))
		endless(5);
	assembly(framed, mid);
	assembly(aligned, mid);
	assembly(plain, mid);
	assembly(general, mid);
	assembly(moved, mid);
	assembly(hands_on, mid);
	assembly(hidden, mid);
	assembly(switched, mid);
	if (!setjmp(out))
		assembly(misled, leave);
	if (!setjmp(out))
		assembly(far_off, leave);
	if (!setjmp(out))
		assembly(stopped, leave);
	STAY;
}

NOINLINE void interrupted(void)
{
	struct sigaction a = {.sa_handler = handle};
	struct itimerspec each = {{0, 1000000}, {0, 1000000}};
	timer_t timer;
	sigaction(SIGALRM, &a, NULL);
	if (timer_create(CLOCK_MONOTONIC, NULL, &timer) || timer_settime(timer, 0, &each, NULL))
		exit(9);
	spin();
	timer_delete(timer);
	STAY;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 0);
	if (argc > 1)
		puts("ready");
	fflush(stdout);
	do
		all();
	while (time(NULL) < end);
	interrupted();
	printf("%d\n", blocks > 0);
	exit(0); /* noreturn, too */
}
