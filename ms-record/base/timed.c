/* SPDX-License-Identifier: MIT
 * Reads memory that may never arrive, with a time limit.
 *
 *   calling thread               reader: our memory, a stack of its own
 *   work: what to read ------->
 *   word = ASKED, sleeps         process_vm_readv, into `bytes`
 *   copies `bytes` <-----------  word = DONE
 *   or, when the time is over, kills it, and makes another one for the next read
 *
 * The reader is a process, because a thread cannot be killed alone. It shares the thread-local
 * variables of the thread that made it, such as errno, so it makes only system calls, and
 * directly. It reads into memory that nobody else uses; if it cannot even be killed, because a
 * file system holds it, that memory is left to it.
 */
#include "timed.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "cpu.h"
#include "libcommon/base/clock.h"
#include "libcommon/proc/proc.h"

#define STACK 16384u
#define SPINS 200 /* times that a caller polls `word` before it sleeps */
#define STEP_NS UINT64_C(20000000)
#define STARVED_NS UINT64_C(5000000000) /* longest wait for a reader that does not get to run */
#define KILLED_NS UINT64_C(100000000)
#define AGAIN_NS UINT64_C(5000000000) /* after a timeout, the process is not read for this time */

enum { IDLE, ASKED, DONE };

struct reader {
	uint32_t word; /* IDLE, ASKED or DONE; atomic, a futex */
	pid_t pid, of; /* pid of the reader; pid of its creator */
	long number, result;
	uint64_t args[6];
	struct iovec here, there;
	_Alignas(16) char stack[STACK];
	uint8_t bytes[TIMED_PIECE];
};

static __thread struct {
	struct reader *reader; /* NULL = no reader */
	pid_t waits;           /* pid of a process that could not be read in time */
	uint64_t until_ns;     /* time until which reads of that process fail at once */
} own;

/* ---- the reader ---- */

static _Noreturn int serve(void *arg)
{
	struct reader *r = arg;
	const uint64_t sleep[6] = {(uintptr_t)&r->word, FUTEX_WAIT_PRIVATE, IDLE};
	const uint64_t slept[6] = {(uintptr_t)&r->word, FUTEX_WAIT_PRIVATE, DONE};
	const uint64_t wake[6] = {(uintptr_t)&r->word, FUTEX_WAKE_PRIVATE, 1};
	const uint64_t none[6] = {0};
	const uint64_t end[6] = {PR_SET_PDEATHSIG, SIGKILL};
	const uint64_t name[6] = {PR_SET_NAME, (uintptr_t) "ms-reader"};
	cpu_syscall(SYS_prctl, end);
	cpu_syscall(SYS_prctl, name);
	while (cpu_syscall(SYS_getppid, none) == r->of) {
		uint32_t now;
		while ((now = __atomic_load_n(&r->word, __ATOMIC_ACQUIRE)) != ASKED)
			cpu_syscall(SYS_futex, now == IDLE ? sleep : slept);
		r->result = cpu_syscall(r->number, r->args);
		__atomic_store_n(&r->word, DONE, __ATOMIC_RELEASE);
		cpu_syscall(SYS_futex, wake);
	}
	cpu_syscall(SYS_exit_group, none); /* our process ended before PR_SET_PDEATHSIG was set */
	__builtin_unreachable();
}

/* Kills a reader, and frees its memory if it has ended. */
static void end_reader(struct reader *r)
{
	uint64_t until = clock_mono() + KILLED_NS;
	pid_t gone = 0;
	if (r->of != getpid())
		return; /* after a fork, the reader and its memory belong to our parent */
	kill(r->pid, SIGKILL);
	while (!(gone = waitpid(r->pid, NULL, __WALL | WNOHANG)) && clock_mono() < until)
		usleep(200);
	if (gone)
		munmap(r, sizeof *r);
}

static pthread_key_t at_end;

static void on_thread_end(void *unused)
{
	(void)unused;
	if (own.reader)
		end_reader(own.reader);
	own.reader = NULL;
}

void timed_end(void)
{
	on_thread_end(NULL);
}

static void make_key(void)
{
	if (pthread_key_create(&at_end, on_thread_end))
		abort();
}

/* Returns a new reader, or NULL with errno set. */
static struct reader *make_reader(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	sigset_t every, before;
	struct reader *r = mmap(NULL, sizeof *r, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (r == MAP_FAILED)
		return NULL;
	pthread_once(&once, make_key);
	r->of = getpid();
	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &before);
	r->pid = clone(serve, r->stack + STACK, CLONE_VM | CLONE_FILES | CLONE_FS, r);
	int saved = errno;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r->pid > 0) {
		pthread_setspecific(at_end, r);
		return r;
	}
	munmap(r, sizeof *r);
	errno = saved;
	return NULL;
}

/* ---- the calling thread ---- */

/* Tells whether a reader is runnable, but still waits for a processor. */
static bool is_starved(const struct reader *r)
{
	char path[32], text[512] = "";
	snprintf(path, sizeof path, "/proc/%d/stat", (int)r->pid);
	return ms_proc_text_at(AT_FDCWD, path, text, sizeof text) && strrchr(text, ')') &&
	       !strncmp(strrchr(text, ')'), ") R", 3);
}

static bool await(struct reader *r)
{
	uint64_t start = clock_mono(), until = start + TIMED_READ_NS;
	struct timespec end = ms_timespec(until);
	for (int i = 0; i < SPINS && __atomic_load_n(&r->word, __ATOMIC_ACQUIRE) != DONE; i++)
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	while (__atomic_load_n(&r->word, __ATOMIC_ACQUIRE) != DONE) {
		uint64_t now = clock_mono();
		if (now > until && (now - start > STARVED_NS || !is_starved(r)))
			return false;
		if (now > until) {
			until = now + STEP_NS;
			end = ms_timespec(until);
		}
		syscall(SYS_futex, &r->word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, ASKED, &end,
			NULL, FUTEX_BITSET_MATCH_ANY);
	}
	return true;
}

/* Makes the reader execute a system call and returns the result. -ETIMEDOUT if the call blocks for
 * too long: then the reader is killed. */
static long call(long number, const uint64_t args[6])
{
	struct reader *r = own.reader;
	r->number = number;
	memcpy(r->args, args, sizeof r->args);
	__atomic_store_n(&r->word, ASKED, __ATOMIC_RELEASE);
	syscall(SYS_futex, &r->word, FUTEX_WAKE_PRIVATE, 1);
	if (await(r))
		return r->result;
	own.reader = NULL;
	pthread_setspecific(at_end, NULL);
	end_reader(r);
	return -ETIMEDOUT;
}

static long read_piece(pid_t pid, int mem, uint64_t address, size_t bytes)
{
	struct reader *r = own.reader;
	r->here = (struct iovec){r->bytes, bytes};
	r->there = (struct iovec){(void *)(uintptr_t)address, bytes};
	const uint64_t by_number[6] = {(uint64_t)pid, (uintptr_t)&r->here, 1, (uintptr_t)&r->there,
				       1};
	const uint64_t by_file[6] = {(uint64_t)mem, (uintptr_t)r->bytes, bytes, address};
	long n = call(SYS_process_vm_readv, by_number);
	return n == (long)bytes || n == -ETIMEDOUT || mem < 0 ? n : call(SYS_pread64, by_file);
}

bool timed_waits(pid_t pid)
{
	return own.waits && own.waits == pid && clock_mono() < own.until_ns;
}

bool timed_read(pid_t pid, int mem, uint64_t address, void *to, size_t bytes)
{
	if (timed_waits(pid)) {
		errno = ETIMEDOUT;
		return false;
	}
	if (own.reader && own.reader->of != getpid())
		own.reader = NULL;
	if (!own.reader && !(own.reader = make_reader()))
		return false;
	for (size_t done = 0, part; done < bytes; done += part) {
		part = bytes - done < TIMED_PIECE ? bytes - done : TIMED_PIECE;
		long n = read_piece(pid, mem, address + done, part);
		if (n != (long)part) {
			own.waits = n == -ETIMEDOUT ? pid : own.waits;
			own.until_ns = n == -ETIMEDOUT ? clock_mono() + AGAIN_NS : own.until_ns;
			errno = n < 0 ? (int)-n : EFAULT;
			return false;
		}
		memcpy((uint8_t *)to + done, own.reader->bytes, part);
	}
	return true;
}
