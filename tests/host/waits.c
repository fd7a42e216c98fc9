/* SPDX-License-Identifier: MIT
 * System calls that wait and must not come back.
 *
 *   waits list               the kinds
 *   waits FILE               a thread in each kind; the first thread in a read of standard input
 *   waits FILE KIND          the one thread of the process in one of them
 *
 * FILE: for each kind how often its call was made and how often it came back, the last result and
 * errno; as struct seen. The end of standard input is the end, or a signal that kills.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <linux/userfaultfd.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LONG = 36000, BIG = 1 << 20 };
static const struct timespec long_time = {LONG, 0};
static const struct timeval long_val = {LONG, 0};
static char *big; /* BIG bytes */
static long child;

static struct timespec later(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	t.tv_sec += LONG;
	return t;
}

static void must(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	_exit(9);
}

/* ---- what they wait for: each has one of its own ---- */

static int empty_pipe(void)
{
	int p[2];
	must(!pipe(p), "pipe");
	return p[0];
}

static int full_pipe(void)
{
	int p[2];
	must(!pipe(p) && !fcntl(p[1], F_SETFL, O_NONBLOCK), "pipe");
	while (write(p[1], big, 4096) > 0)
		continue;
	fcntl(p[1], F_SETFL, 0);
	return p[1];
}

static int new_pipe(void) /* takes a part of what is written */
{
	int p[2];
	must(!pipe(p), "pipe");
	return p[1];
}

static int pair(int type, const char *there)
{
	int p[2];
	must(!socketpair(AF_UNIX, type, 0, p), "socketpair");
	must(send(p[1], there, strlen(there), 0) == (ssize_t)strlen(there), "send");
	return p[0];
}

static int full_queue(void) /* of datagrams */
{
	int fd = pair(SOCK_DGRAM, "");
	while (send(fd, "x", 1, MSG_DONTWAIT) > 0)
		continue;
	return fd;
}

static int tty(int *master)
{
	*master = posix_openpt(O_RDWR | O_NOCTTY);
	must(*master >= 0 && !grantpt(*master) && !unlockpt(*master), "pty");
	int fd = open(ptsname(*master), O_RDWR | O_NOCTTY);
	must(fd >= 0, "tty");
	return fd;
}

static int timed(int fd, int option)
{
	must(!setsockopt(fd, SOL_SOCKET, option, &long_val, sizeof long_val), "setsockopt");
	return fd;
}

static int listener(int family)
{
	struct sockaddr_un u = {.sun_family = AF_UNIX};
	struct sockaddr_in i = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(family, SOCK_STREAM, 0);
	must(fd >= 0 &&
		     !bind(fd, family == AF_UNIX ? (void *)&u : (void *)&i,
			   family == AF_UNIX ? 2 : sizeof i) &&
		     !listen(fd, 0),
	     "listen");
	return fd;
}

/* To one that takes no more. */
static long connects(int family, int option)
{
	struct sockaddr_storage a;
	socklen_t n = sizeof a;
	int at = listener(family), fd = socket(family, SOCK_STREAM, 0);
	getsockname(at, (void *)&a, &n);
	for (int i = 0; i < 8; i++)
		connect(socket(family, SOCK_STREAM | SOCK_NONBLOCK, 0), (void *)&a, n);
	return connect(option ? timed(fd, option) : fd, (void *)&a, n);
}

static int epoll(void)
{
	struct epoll_event e = {.events = EPOLLIN};
	int fd = epoll_create1(0);
	must(!epoll_ctl(fd, EPOLL_CTL_ADD, empty_pipe(), &e), "epoll");
	return fd;
}

static sigset_t *usr1(void)
{
	static sigset_t s;
	sigemptyset(&s);
	sigaddset(&s, SIGUSR1);
	return &s;
}

static int file(void)
{
	int fd = memfd_create("file", 0);
	must(!ftruncate(fd, BIG), "memfd_create");
	return fd;
}

static char *locked_path(void)
{
	static char path[] = "waits.lock";
	close(open(path, O_RDWR | O_CREAT, 0600));
	return path;
}

static int uring(struct io_uring_params *p)
{
	int fd = (int)syscall(SYS_io_uring_setup, 4, p);
	must(fd >= 0, "io_uring_setup");
	return fd;
}

/* An entry that waits for a pipe. */
static int uring_with_entry(void)
{
	struct io_uring_params p = {0};
	int fd = uring(&p);
	char *ring = mmap(NULL, p.sq_off.array + 4 * p.sq_entries, PROT_READ | PROT_WRITE,
			  MAP_SHARED, fd, IORING_OFF_SQ_RING);
	struct io_uring_sqe *e = mmap(NULL, sizeof *e * p.sq_entries, PROT_READ | PROT_WRITE,
				      MAP_SHARED, fd, IORING_OFF_SQES);
	*e = (struct io_uring_sqe){
		.opcode = IORING_OP_POLL_ADD, .fd = empty_pipe(), .poll32_events = POLLIN};
	*(uint32_t *)(void *)(ring + p.sq_off.array) = 0;
	__atomic_store_n((uint32_t *)(void *)(ring + p.sq_off.tail), 1, __ATOMIC_RELEASE);
	return fd;
}

/* Returns a userfaultfd of a page: whoever touches that waits, and the recorder would, too. */
static int faults(void)
{
	struct uffdio_api api = {.api = UFFD_API};
	int fd = (int)syscall(SYS_userfaultfd, UFFD_USER_MODE_ONLY);
	void *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register r = {.range = {(uintptr_t)page, 4096},
				    .mode = UFFDIO_REGISTER_MODE_MISSING};
	must(fd >= 0 && !ioctl(fd, UFFDIO_API, &api) && !ioctl(fd, UFFDIO_REGISTER, &r),
	     "userfault");
	return fd;
}

static mqd_t messages(void)
{
	struct mq_attr a = {.mq_maxmsg = 1, .mq_msgsize = 8};
	char name[64];
	snprintf(name, sizeof name, "/waits.%d.%ld", (int)getpid(), (long)syscall(SYS_gettid));
	mqd_t q = mq_open(name, O_RDWR | O_CREAT, 0600, &a);
	must(q != (mqd_t)-1, "mq_open");
	mq_unlink(name);
	return q;
}

struct seen {
	uint64_t calls, returns;
	int64_t result, error;
};
static struct shared {
	struct seen kinds[128];
	int queue_count; /* System V's, which stay for ever if nobody removes them */
	int queues[64], semaphores[64];
} * shared;

static int keep(int semaphores, int id)
{
	int i = __atomic_fetch_add(&shared->queue_count, 1, __ATOMIC_RELAXED);
	must(id >= 0, "semget");
	shared->queues[i] = id;
	shared->semaphores[i] = semaphores;
	return id;
}

/* Once the process is not alive, however it ended. */
static void tidy_up(int alive)
{
	char c;
	while (read(alive, &c, 1) != 0)
		continue;
	for (int i = 0; i < shared->queue_count; i++)
		if (shared->semaphores[i])
			semctl(shared->queues[i], 0, IPC_RMID);
		else
			msgctl(shared->queues[i], IPC_RMID, NULL);
	_exit(0);
}

/* ---- the kinds ---- */

#define VEC(n) (&(struct iovec){big, (n)})
#define MSG(n) (&(struct msghdr){.msg_iov = VEC(n), .msg_iovlen = 1})
#define MMSG(n, count)                                                                             \
	((struct mmsghdr[2]){{.msg_hdr = {.msg_iov = VEC(n), .msg_iovlen = 1}},                    \
			     {.msg_hdr = {.msg_iov = VEC(n), .msg_iovlen = 1}}}),                  \
		(count)
#define KINDS                                                                                      \
	K(read_pipe, read(empty_pipe(), big, 9))                                                   \
	K(readv_pipe, readv(empty_pipe(), VEC(9), 1))                                              \
	K(preadv2_pipe, preadv2(empty_pipe(), VEC(9), 1, -1, 0))                                   \
	K(read_tty, read(tty(&fd), big, 9))                                                        \
	K(read_socket, read(pair(SOCK_STREAM, ""), big, 9))                                        \
	K(read_socket_timed, read(timed(pair(SOCK_STREAM, ""), SO_RCVTIMEO), big, 9))              \
	K(write_pipe, write(new_pipe(), big, BIG))                                                 \
	K(write_full_pipe, write(full_pipe(), big, 9))                                             \
	K(writev_pipe, writev(new_pipe(), VEC(BIG), 1))                                            \
	K(pwritev2_pipe, pwritev2(new_pipe(), VEC(BIG), 1, -1, 0))                                 \
	K(write_tty, write(tty(&fd), big, BIG))                                                    \
	K(write_socket, write(pair(SOCK_STREAM, ""), big, BIG))                                    \
	K(send, send(pair(SOCK_STREAM, ""), big, BIG, 0))                                          \
	K(send_timed, send(timed(pair(SOCK_STREAM, ""), SO_SNDTIMEO), big, BIG, 0))                \
	K(send_datagram, send(full_queue(), big, 9, 0))                                            \
	K(sendmsg, sendmsg(pair(SOCK_STREAM, ""), MSG(BIG), 0))                                    \
	K(sendmmsg, sendmmsg(full_queue(), MMSG(9, 2), 0))                                         \
	K(recv, recv(pair(SOCK_STREAM, ""), big, 9, 0))                                            \
	K(recv_all, recv(pair(SOCK_STREAM, "part"), big, 9, MSG_WAITALL))                          \
	K(recv_timed, recv(timed(pair(SOCK_STREAM, ""), SO_RCVTIMEO), big, 9, 0))                  \
	K(recvmsg, recvmsg(pair(SOCK_STREAM, ""), MSG(9), 0))                                      \
	K(recvmsg_all, recvmsg(pair(SOCK_STREAM, "part"), MSG(9), MSG_WAITALL))                    \
	K(recvmmsg, recvmmsg(pair(SOCK_DGRAM, "one"), MMSG(9, 2), 0, NULL))                        \
	K(recvmmsg_timed,                                                                          \
	  recvmmsg(pair(SOCK_DGRAM, ""), MMSG(9, 2), 0, &(struct timespec){LONG, 0}))              \
	K(accept, accept(listener(AF_UNIX), NULL, NULL))                                           \
	K(accept4_timed, accept4(timed(listener(AF_INET), SO_RCVTIMEO), NULL, NULL, 0))            \
	K(connect_unix, connects(AF_UNIX, 0))                                                      \
	K(connect_unix_timed, connects(AF_UNIX, SO_SNDTIMEO))                                      \
	K(connect_tcp, connects(AF_INET, 0))                                                       \
	K(connect_tcp_timed, connects(AF_INET, SO_SNDTIMEO))                                       \
	K(poll, poll(&(struct pollfd){empty_pipe(), POLLIN, 0}, 1, -1))                            \
	K(poll_timed, poll(&(struct pollfd){empty_pipe(), POLLIN, 0}, 1, LONG * 1000))             \
	K(poll_pidfd,                                                                              \
	  poll(&(struct pollfd){(int)syscall(SYS_pidfd_open, child, 0), POLLIN, 0}, 1, -1))        \
	K(ppoll, ppoll(&(struct pollfd){empty_pipe(), POLLIN, 0}, 1, &long_time, usr1()))          \
	K(select, select(0, NULL, NULL, NULL, &(struct timeval){LONG, 0}))                         \
	K(pselect, pselect(0, NULL, NULL, NULL, &long_time, usr1()))                               \
	K(epoll_wait, epoll_wait(epoll(), &e, 1, -1))                                              \
	K(epoll_wait_timed, epoll_wait(epoll(), &e, 1, LONG * 1000))                               \
	K(epoll_pwait, epoll_pwait(epoll(), &e, 1, -1, usr1()))                                    \
	K(epoll_pwait2, syscall(SYS_epoll_pwait2, epoll(), &e, 1, &long_time, NULL, 0))            \
	K(futex, syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL))                                   \
	K(futex_timed, syscall(SYS_futex, &word, FUTEX_WAIT, 0, &long_time))                       \
	K(futex_bitset, syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 0,                            \
				&(struct timespec[]){later(CLOCK_MONOTONIC)}[0], NULL, -1))        \
	K(futex_waitv,                                                                             \
	  syscall(SYS_futex_waitv,                                                                 \
		  &(struct futex_waitv){.uaddr = (uintptr_t)&word, .flags = FUTEX_32}, 1, 0, NULL, \
		  CLOCK_MONOTONIC))                                                                \
	K(semop, semop(keep(1, semget(IPC_PRIVATE, 1, 0600)), &(struct sembuf){0, -1, 0}, 1))      \
	K(semtimedop, semtimedop(keep(1, semget(IPC_PRIVATE, 1, 0600)),                            \
				 &(struct sembuf){0, -1, 0}, 1, &long_time))                       \
	K(msgsnd, full_messages())                                                                 \
	K(msgrcv, msgrcv(keep(0, msgget(IPC_PRIVATE, 0600)), big, 8, 7, 0))                        \
	K(mq_timedsend,                                                                            \
	  (q = messages(), mq_send(q, "x", 1, 0),                                                  \
	   mq_timedsend(q, "x", 1, 0, &(struct timespec[]){later(CLOCK_REALTIME)}[0])))            \
	K(mq_timedreceive, mq_timedreceive(messages(), big, 8, NULL,                               \
					   &(struct timespec[]){later(CLOCK_REALTIME)}[0]))        \
	K(sigwaitinfo, sigwaitinfo(usr1(), NULL))                                                  \
	K(sigtimedwait, sigtimedwait(usr1(), NULL, &long_time))                                    \
	K(sigsuspend, sigsuspend(usr1()))                                                          \
	K(pause, pause())                                                                          \
	K(nanosleep, nanosleep(&long_time, NULL))                                                  \
	K(clock_nanosleep, clock_nanosleep(CLOCK_REALTIME, 0, &long_time, NULL))                   \
	K(clock_nanosleep_abs,                                                                     \
	  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME,                                          \
			  &(struct timespec[]){later(CLOCK_MONOTONIC)}[0], NULL))                  \
	K(wait4, wait4((pid_t)child, NULL, 0, NULL))                                               \
	K(waitid, waitid(P_PID, (id_t)child, NULL, WEXITED))                                       \
	K(flock, (fd = open(locked_path(), O_RDWR), flock(fd, LOCK_EX),                            \
		  flock(open(locked_path(), O_RDWR), LOCK_EX)))                                    \
	K(fcntl_lock, lock_twice())                                                                \
	K(open_fifo, (mkfifo("waits.fifo", 0600), open("waits.fifo", O_RDONLY)))                   \
	K(io_uring_enter, syscall(SYS_io_uring_enter, uring(&(struct io_uring_params){0}), 0, 1,   \
				  IORING_ENTER_GETEVENTS, NULL, 0))                                \
	K(io_uring_submit,                                                                         \
	  syscall(SYS_io_uring_enter, uring_with_entry(), 1, 1, IORING_ENTER_GETEVENTS, NULL, 0))  \
	K(io_getevents,                                                                            \
	  (syscall(SYS_io_setup, 4, &aio), syscall(SYS_io_getevents, aio, 1, 1, big, &long_time))) \
	K(read_inotify,                                                                            \
	  (fd = inotify_init(), inotify_add_watch(fd, "/", IN_DELETE_SELF), read(fd, big, 4096)))  \
	K(read_eventfd, read(eventfd(0, 0), big, 8))                                               \
	K(write_eventfd, (fd = eventfd(0, 0), most = UINT64_MAX - 1,                               \
			  must(write(fd, &most, 8) == 8, "eventfd"), write(fd, &most, 8)))         \
	K(read_timerfd,                                                                            \
	  (fd = timerfd_create(CLOCK_MONOTONIC, 0),                                                \
	   timerfd_settime(fd, 0, &(struct itimerspec){.it_value = {LONG, 0}}, NULL),              \
	   read(fd, big, 8)))                                                                      \
	K(read_signalfd, read(signalfd(-1, usr1(), 0), big, 128))                                  \
	K(splice, splice(empty_pipe(), NULL, new_pipe(), NULL, 9, 0))                              \
	K(tee, tee(empty_pipe(), new_pipe(), 9, 0))                                                \
	K(vmsplice, vmsplice(full_pipe(), VEC(BIG), 1, 0))                                         \
	K(sendfile, sendfile(pair(SOCK_STREAM, ""), file(), NULL, BIG))                            \
	K(read_userfaultfd, read(faults(), big, 32))

static long full_messages(void)
{
	struct {
		long type;
		char text[4096];
	} m = {.type = 1};
	int id = keep(0, msgget(IPC_PRIVATE, 0600));
	while (!msgsnd(id, &m, sizeof m.text, IPC_NOWAIT))
		continue;
	return msgsnd(id, &m, sizeof m.text, 0);
}

static long lock_twice(void)
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int one = open(locked_path(), O_RDWR), two = open(locked_path(), O_RDWR);
	must(!fcntl(one, F_OFD_SETLK, &l), "lock");
	return fcntl(two, F_OFD_SETLKW, &l);
}

#define K(name, call)                                                                              \
	static long in_##name(void)                                                                \
	{                                                                                          \
		struct epoll_event e;                                                              \
		aio_context_t aio = 0;                                                             \
		uint64_t most;                                                                     \
		uint32_t word = 0;                                                                 \
		int fd = -1;                                                                       \
		mqd_t q = -1;                                                                      \
		(void)e, (void)aio, (void)most, (void)word, (void)fd, (void)q;                     \
		return (long)(call);                                                               \
	}
KINDS
#undef K
#define K(name, call) {#name, in_##name},
static const struct {
	const char *name;
	long (*f)(void);
} kinds[] = {KINDS};
enum { COUNT = sizeof kinds / sizeof *kinds };

static void *block(void *arg)
{
	uintptr_t i = (uintptr_t)arg;
	for (;;) {
		__atomic_add_fetch(&shared->kinds[i].calls, 1, __ATOMIC_RELAXED);
		errno = 0;
		shared->kinds[i].result = kinds[i].f();
		shared->kinds[i].error = errno;
		__atomic_add_fetch(&shared->kinds[i].returns, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void prepare(const char *path)
{
	int alive[2], fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	must(fd >= 0 && !ftruncate(fd, sizeof *shared) && !pipe(alive), path);
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	big = mmap(NULL, BIG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
		   -1, 0);
	must(shared != MAP_FAILED && big != MAP_FAILED, "mmap");
	sigprocmask(SIG_BLOCK, usr1(), NULL);
	child = fork();
	close(alive[child != 0 ? 0 : 1]);
	if (!child)
		tidy_up(alive[0]);
}

int main(int argc, char **argv)
{
	pthread_t t;
	char c;
	if (argc < 2)
		return 2;
	bool list = !strcmp(argv[1], "list");
	for (uintptr_t i = 0; i < COUNT && list; i++)
		puts(kinds[i].name);
	if (list)
		return 0;
	prepare(argv[1]);
	for (uintptr_t i = 0; i < COUNT; i++)
		if (argc == 2)
			must(!pthread_create(&t, NULL, block, (void *)i), "pthread_create");
		else if (!strcmp(kinds[i].name, argv[2]))
			block((void *)i);
	while (argc == 2 && read(0, &c, 1) > 0)
		continue;
	_exit(argc != 2);
}
