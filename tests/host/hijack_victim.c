/* SPDX-License-Identifier: MIT
 * Programs that notice whatever is done to them while they are stopped.
 *
 *   hijack_victim threads N FILE   N threads that check their registers and red zones, sleep, and
 *                                  allocate; FILE: wrong values, runs in another process, counters
 *   hijack_victim vforks N FILE    N threads that wait for children of vfork, one of them for 1 s
 *                                  and the others for 4 s; FILE: how many ms it took that one
 *   hijack_victim blocked FILE     a thread in each of many system calls; on end of input the names
 *                                  of those that returned before their time
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WRONG, ELSEWHERE, READY, FIRST, WORDS = 512 };
static volatile uint64_t *words;

static volatile uint64_t *map_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || ftruncate(fd, WORDS * 8))
		exit(9);
	void *p = mmap(NULL, WORDS * 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		exit(9);
	return p;
}

/* ---- registers ---- */

/* Loads registers, the x87 stack and the red zone from the pattern, spins, and counts what is
 * different then. */
unsigned check_state(const void *pattern, unsigned spin);
#define XMM_LOAD(n) "	movdqu 16*" #n "(%rdi), %xmm" #n "\n"
#define XMM_CHECK(n)                                                                               \
	"	pcmpeqb 16*" #n "(%rdi), %xmm" #n "\n"                                             \
	"	pmovmskb %xmm" #n ", %eax\n"                                                       \
	"	cmp $0xffff, %eax\n"                                                                     \
	"	jne 9f\n"
#define ZONE_STORE(n) "	mov 384+8*" #n "(%rdi), %rax\n	mov %rax, -8-8*" #n "(%rsp)\n"
#define ZONE_CHECK(n)                                                                              \
	"	mov 384+8*" #n "(%rdi), %rax\n"                                                    \
	"	cmp %rax, -8-8*" #n "(%rsp)\n"                                                     \
	"	jne 9f\n"
#define REG_LOAD(n, r) "	mov 264+8*" #n "(%rdi), %" #r "\n"
#define REG_CHECK(n, r) "	cmp 264+8*" #n "(%rdi), %" #r "\n	jne 9f\n"
#define SIXTEEN(X)                                                                                 \
	X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define REGS(X)                                                                                    \
	X(0, rbx)                                                                                  \
	X(1, rbp)                                                                                  \
	X(2, r8) X(3, r9) X(4, r10) X(5, r11) X(6, r12) X(7, r13) X(8, r14) X(9, r15) X(10, rdx)
__asm__(".text\n.globl check_state\n.type check_state, @function\ncheck_state:\n"
	"	push %rbx\n	push %rbp\n	push %r12\n	push %r13\n	push %r14\n"
	"	push %r15\n	sub $8, %rsp\n" SIXTEEN(XMM_LOAD) "	fldl 256(%rdi)\n" REGS(
		REG_LOAD)
		SIXTEEN(ZONE_STORE) "	mov %esi, %ecx\n"
				    "1:	dec %ecx\n	jnz 1b\n" SIXTEEN(ZONE_CHECK)
					    REGS(REG_CHECK) SIXTEEN(
						    XMM_CHECK) "	fldl 256(%rdi)\n	"
							       "fucomip %st(1), %st\n	jne "
							       "9f\n	xor %eax, %eax\n"
							       "	jmp 8f\n"
							       "9:	mov $1, %eax\n"
							       "8:	fstp %st(0)\n	add $8, "
							       "%rsp\n	pop %r15\n	pop "
							       "%r14\n	pop %r13\n"
							       "	pop %r12\n	pop "
							       "%rbp\n	pop %rbx\n	ret\n.size "
							       "check_state, .-check_state\n");

static pid_t own;

static void *work(void *arg)
{
	uintptr_t me = (uintptr_t)arg;
	uint8_t pattern[512] __attribute__((aligned(16)));
	double x = 1.5 + (double)me;
	for (size_t i = 0; i < sizeof pattern; i++)
		pattern[i] = (uint8_t)(me * 7 + i * 31 + 1);
	memcpy(pattern + 256, &x, 8);
	for (unsigned round = 0;; round++) {
		if (me % 4 == 3) {
			struct timespec t = {0, 1000000};
			nanosleep(&t, NULL);
		} else if (me % 4 == 2) {
			char *p = malloc(100 + round % 1000);
			memset(p, (int)me, 100);
			free(p);
		} else if (check_state(pattern, 20000)) {
			__atomic_add_fetch(&words[WRONG], 1, __ATOMIC_RELAXED);
		}
		if (syscall(SYS_getpid) != own)
			words[ELSEWHERE] = 1;
		words[FIRST + me]++;
	}
	return NULL;
}

static int run_threads(unsigned n)
{
	pthread_t t;
	own = getpid();
	for (unsigned i = 1; i < n; i++)
		if (pthread_create(&t, NULL, work, (void *)(uintptr_t)i))
			return 9;
	words[READY] = n;
	work(NULL);
	return 0;
}

static uint64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void *wait_for_child(void *arg)
{
	const bool last = arg;
	const struct timespec life = {last ? 1 : 10, 0};
	const uint64_t begin = now_ms();
	__atomic_add_fetch(&words[READY], 1, __ATOMIC_RELAXED);
	if (vfork() == 0) {
		nanosleep(&life, NULL);
		_exit(0);
	}
	if (last)
		words[FIRST] = now_ms() - begin;
	return NULL;
}

static int run_vforks(uintptr_t n)
{
	pthread_t t;
	for (uintptr_t i = 1; i <= n; i++)
		if (pthread_create(&t, NULL, wait_for_child, (void *)(i / n)))
			return 9;
	pause();
	return 0;
}

/* ---- system calls that wait ---- */

#define LONG 36000
static int pair[2], epoll, semaphores, queue, listener, inotify_like[2];
static uint32_t futex_word;
static sem_t never;
static aio_context_t aio;
static char lock_file[300];
static const struct timespec long_time = {LONG, 0};

static long in_epoll(void)
{
	struct epoll_event e;
	return epoll_wait(epoll, &e, 1, -1);
}
static long in_epoll_timeout(void)
{
	struct epoll_event e;
	return epoll_wait(epoll, &e, 1, LONG * 1000);
}
static long in_epoll_pwait(void)
{
	struct epoll_event e;
	sigset_t s;
	sigemptyset(&s);
	return epoll_pwait(epoll, &e, 1, -1, &s);
}
static long in_semop(void)
{
	struct sembuf b = {0, -1, 0};
	return semop(semaphores, &b, 1);
}
static long in_semtimedop(void)
{
	struct sembuf b = {0, -1, 0};
	return semtimedop(semaphores, &b, 1, &long_time);
}
static long in_sigtimedwait(void)
{
	sigset_t s;
	sigemptyset(&s);
	sigaddset(&s, SIGUSR1);
	return sigtimedwait(&s, NULL, &long_time);
}
static long in_recv_timeout(void)
{
	char c;
	return recv(pair[0], &c, 1, 0);
}
static long in_futex(void)
{
	return syscall(SYS_futex, &futex_word, FUTEX_WAIT, 0, NULL);
}
static long in_futex_timeout(void)
{
	return syscall(SYS_futex, &futex_word, FUTEX_WAIT, 0, &long_time);
}
static long in_nanosleep(void)
{
	return nanosleep(&long_time, NULL);
}
static long in_clock_nanosleep(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += LONG;
	errno = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	return errno ? -1 : 0;
}
static long in_poll(void)
{
	struct pollfd p = {inotify_like[0], POLLIN, 0};
	return poll(&p, 1, -1);
}
static long in_poll_timeout(void)
{
	struct pollfd p = {inotify_like[0], POLLIN, 0};
	return poll(&p, 1, LONG * 1000);
}
static long in_ppoll(void)
{
	struct pollfd p = {inotify_like[0], POLLIN, 0};
	sigset_t s;
	sigemptyset(&s);
	return ppoll(&p, 1, &long_time, &s);
}
static long in_select(void)
{
	fd_set f;
	struct timeval t = {LONG, 0};
	FD_ZERO(&f);
	FD_SET(inotify_like[0], &f);
	return select(inotify_like[0] + 1, &f, NULL, NULL, &t);
}
static long in_read(void)
{
	char c;
	return read(inotify_like[0], &c, 1);
}
static long in_accept(void)
{
	return accept(listener, NULL, NULL);
}
static long in_msgrcv(void)
{
	struct {
		long type;
		char text[8];
	} m;
	return msgrcv(queue, &m, sizeof m.text, 7, 0);
}
static long in_wait(void)
{
	return wait(NULL);
}
static long in_sem_timedwait(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += LONG;
	return sem_timedwait(&never, &t);
}
static long in_io_getevents(void)
{
	struct io_event e;
	return syscall(SYS_io_getevents, aio, 1, 1, &e, NULL);
}
static long in_flock(void)
{
	int fd = open(lock_file, O_RDWR);
	return flock(fd, LOCK_EX);
}
static long in_sigsuspend(void)
{
	sigset_t s;
	sigemptyset(&s);
	return sigsuspend(&s);
}

static const struct {
	const char *name;
	long (*f)(void);
} calls[] = {
	{"epoll_wait", in_epoll},
	{"epoll_wait+timeout", in_epoll_timeout},
	{"epoll_pwait", in_epoll_pwait},
	{"semop", in_semop},
	{"semtimedop", in_semtimedop},
	{"sigtimedwait", in_sigtimedwait},
	{"recv+timeout", in_recv_timeout},
	{"futex", in_futex},
	{"futex+timeout", in_futex_timeout},
	{"nanosleep", in_nanosleep},
	{"clock_nanosleep", in_clock_nanosleep},
	{"poll", in_poll},
	{"poll+timeout", in_poll_timeout},
	{"ppoll", in_ppoll},
	{"select", in_select},
	{"read", in_read},
	{"accept", in_accept},
	{"msgrcv", in_msgrcv},
	{"wait4", in_wait},
	{"sem_timedwait", in_sem_timedwait},
	{"io_getevents", in_io_getevents},
	{"flock", in_flock},
	{"sigsuspend", in_sigsuspend},
};
enum { CALLS = sizeof calls / sizeof *calls };
static struct {
	long rc;
	int error;
	unsigned returns;
} seen[CALLS];

static void *block(void *arg)
{
	uintptr_t i = (uintptr_t)arg;
	for (;;) {
		__atomic_add_fetch(&words[READY], 1, __ATOMIC_RELAXED);
		errno = 0;
		seen[i].rc = calls[i].f();
		seen[i].error = errno;
		seen[i].returns++;
	}
	return NULL;
}

static void prepare(const char *path)
{
	struct timeval t = {LONG, 0};
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	struct epoll_event e = {.events = EPOLLIN};
	snprintf(lock_file, sizeof lock_file, "%s.lock", path);
	int fd = open(lock_file, O_RDWR | O_CREAT, 0600);
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	epoll = epoll_create1(0);
	semaphores = semget(IPC_PRIVATE, 1, 0600);
	queue = msgget(IPC_PRIVATE, 0600);
	if (fd < 0 || flock(fd, LOCK_EX) || pipe(inotify_like) ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || bind(listener, (void *)&a, 2) ||
	    listen(listener, 1) || epoll_ctl(epoll, EPOLL_CTL_ADD, inotify_like[0], &e) ||
	    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t) || semaphores < 0 ||
	    queue < 0 || sem_init(&never, 0, 0) || syscall(SYS_io_setup, 4, &aio))
		exit(9);
}

static int run_blocked(const char *path)
{
	sigset_t s;
	pthread_t t;
	char c;
	int early = 0;
	prepare(path);
	if (fork() == 0) {
		pause();
		_exit(0);
	}
	sigemptyset(&s);
	sigaddset(&s, SIGUSR1);
	sigprocmask(SIG_BLOCK, &s, NULL);
	for (uintptr_t i = 0; i < CALLS; i++)
		pthread_create(&t, NULL, block, (void *)i);
	while (read(0, &c, 1) > 0)
		continue;
	for (int i = 0; i < CALLS; i++)
		if (seen[i].returns) {
			early++;
			printf("%s returned %u times: %ld %s\n", calls[i].name, seen[i].returns,
			       seen[i].rc, strerror(seen[i].error));
		}
	printf("early %d of %d\n", early, CALLS);
	semctl(semaphores, 0, IPC_RMID);
	msgctl(queue, IPC_RMID, NULL);
	signal(SIGTERM, SIG_IGN);
	fflush(stdout);
	kill(0, SIGTERM);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "threads")) {
		words = map_file(argv[3]);
		return run_threads((unsigned)atoi(argv[2]));
	}
	if (argc == 4 && !strcmp(argv[1], "vforks")) {
		words = map_file(argv[3]);
		return run_vforks((uintptr_t)atoi(argv[2]));
	}
	if (argc == 3 && !strcmp(argv[1], "blocked")) {
		setpgid(0, 0);
		words = map_file(argv[2]);
		return run_blocked(argv[2]);
	}
	return 2;
}
