/* SPDX-License-Identifier: MIT
 * A process for --standby: does what it is told on standard input, and says what it did. It
 * allocates nothing but that.
 *
 *   standby THREADS [filter]   filter: under a seccomp filter that kills for opening and connecting
 *
 *  r N    every thread makes N rounds of known calls -> "allocations frees reallocs failed bytes
 *         blocks", the last two of what stays
 *  f      gives back all that stayed -> how many blocks
 *  k      forks a child, which waits for its own orders -> its number
 *  c I N  child I makes N rounds -> as r
 *  g I J  child I forks a child, which becomes child J -> its number
 *  x      as k, but by a system call of its own
 *  l N    loses N blocks of 100 bytes -> N
 *  h N    has N blocks of 200 bytes, known only to a block that was made at the first such order
 *         -> N
 *  q      ends with status 7, as does the end of the input
 */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 128

struct sums {
	long allocations, frees, reallocs, failed, bytes, blocks;
};

static pthread_barrier_t begin, end;
static struct sums sums[MOST];
static char *kept[MOST];
static long rounds;
static long threads;
static int pipes[MOST][2]; /* orders to child i */

static inline void *keep(void *p)
{
	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}

/* One of each call; 60 bytes stay. */
static void round_of(struct sums *s, char **list)
{
	void *p;
	size_t huge = SIZE_MAX / 2;
	free(keep(malloc(10)));
	free(keep(calloc(3, 7)));
	free(keep(aligned_alloc(32, 64)));
	if (posix_memalign(&p, 128, 200))
		abort();
	free(keep(p));
	p = keep(realloc(NULL, 20));
	p = keep(realloc(p, 4000));
	p = keep(reallocarray(p, 3, 9));
	free(p);
	if (keep(malloc(huge)))
		abort();
	char *stay = keep(malloc(60));
	*(char **)(void *)stay = *list;
	*list = stay;
	s->allocations += 8; /* a realloc of a block is both */
	s->frees += 7;
	s->reallocs += 2;
	s->failed++;
	s->bytes += 60;
	s->blocks++;
}

static void *work(void *arg)
{
	size_t i = (size_t)arg;
	for (;;) {
		pthread_barrier_wait(&begin);
		for (long n = 0; n < rounds; n++)
			round_of(&sums[i], &kept[i]);
		pthread_barrier_wait(&end);
	}
	return NULL;
}

static void say(const char *text)
{
	if (write(1, text, strlen(text)) < 0)
		_exit(1);
}

static void say_number(long n)
{
	char text[32];
	snprintf(text, sizeof text, "%ld\n", n);
	say(text);
}

static void say_sums(const struct sums *s)
{
	char text[200];
	snprintf(text, sizeof text, "%ld %ld %ld %ld %ld %ld\n", s->allocations, s->frees,
		 s->reallocs, s->failed, s->bytes, s->blocks);
	say(text);
}

static void make_rounds(long n)
{
	struct sums all = {0};
	memset(sums, 0, sizeof sums);
	rounds = n;
	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&end);
	for (long i = 0; i < threads; i++) {
		all.allocations += sums[i].allocations;
		all.frees += sums[i].frees;
		all.reallocs += sums[i].reallocs;
		all.failed += sums[i].failed;
		all.bytes += sums[i].bytes;
		all.blocks += sums[i].blocks;
	}
	say_sums(&all);
}

static void give_back(void)
{
	long n = 0;
	for (long i = 0; i < MOST; i++)
		for (char *p = kept[i], *next; p; p = next, n++) {
			next = *(char **)(void *)p;
			free(p);
		}
	memset(kept, 0, sizeof kept);
	say_number(n);
}

static __attribute__((noinline)) void lose(long n)
{
	for (long i = 0; i < n; i++)
		memset(keep(malloc(100)), 0, 100);
}

#define HELD 1000
static void **holder;
static __attribute__((noinline)) void hold(long n)
{
	static long held;
	if (!holder)
		holder = keep(calloc(HELD, sizeof *holder));
	for (; n > 0 && held < HELD; n--)
		holder[held++] = keep(calloc(1, 200));
}

/* Wipes what the last calls left on the stack. */
static __attribute__((noinline)) void wipe(void)
{
	char room[16384];
	memset(room, 0, sizeof room);
	__asm__ volatile("" : : "r"(room) : "memory");
}

static ssize_t read_line(int fd, char *to, size_t room)
{
	size_t n = 0;
	while (n + 1 < room && read(fd, to + n, 1) == 1)
		if (to[n++] == '\n')
			break;
	to[n] = '\0';
	return (ssize_t)n;
}

static void fork_child(long i, bool raw);

/* A child has one thread. */
static _Noreturn void obey(int orders)
{
	char line[100];
	long i, n;
	while (read_line(orders, line, sizeof line) > 0) {
		struct sums s = {0};
		if (sscanf(line, "g %ld", &i) == 1) {
			fork_child(i, false);
			continue;
		}
		n = atol(line);
		while (n-- > 0)
			round_of(&s, &kept[0]);
		say_sums(&s);
	}
	_exit(0);
}

static void fork_child(long i, bool raw)
{
	pid_t child = raw ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
	if (!child) {
		for (int k = 0; k < MOST; k++)
			close(pipes[k][1]);
		obey(pipes[i][0]);
	}
	say_number(child);
}

static void tell_child(long i, const char *words)
{
	if (write(pipes[i][1], words, strlen(words)) < 0)
		_exit(1);
}

static void filter(void)
{
#define KILLED(nr)                                                                                 \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),                                             \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		KILLED(SYS_open),
		KILLED(SYS_openat),
		KILLED(SYS_socket),
		KILLED(SYS_connect),
		KILLED(SYS_recvmsg),
		KILLED(SYS_memfd_create),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog program = {sizeof f / sizeof *f, f};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(1);
}

int main(int argc, char **argv)
{
	char line[100], words[100];
	pthread_t t;
	long i, j, n, children = 0;
	threads = argc > 1 ? atol(argv[1]) : 1;
	alarm(250);
	for (i = 0; i < MOST; i++)
		if (pipe(pipes[i]))
			return 1;
	pthread_barrier_init(&begin, NULL, (unsigned)threads + 1);
	pthread_barrier_init(&end, NULL, (unsigned)threads + 1);
	for (i = 0; i < threads; i++)
		pthread_create(&t, NULL, work, (void *)i);
	if (argc > 2 && !strcmp(argv[2], "filter"))
		filter();
	say_number(getpid());
	while (read_line(0, line, sizeof line) > 0 && line[0] != 'q') {
		if (sscanf(line, "r %ld", &n) == 1)
			make_rounds(n);
		else if (line[0] == 'f')
			give_back();
		else if (sscanf(line, "l %ld", &n) == 1 || sscanf(line, "h %ld", &n) == 1) {
			if (line[0] == 'l')
				lose(n);
			else
				hold(n);
			wipe();
			say_number(n);
		} else if (line[0] == 'k' || line[0] == 'x')
			fork_child(children++, line[0] == 'x');
		else if (sscanf(line, "c %ld %ld", &i, &n) == 2) {
			snprintf(words, sizeof words, "%ld\n", n);
			tell_child(i, words);
		} else if (sscanf(line, "g %ld %ld", &i, &j) == 2) {
			snprintf(words, sizeof words, "g %ld\n", j);
			tell_child(i, words);
		}
	}
	_exit(7);
}
