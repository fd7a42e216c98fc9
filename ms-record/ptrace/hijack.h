/* SPDX-License-Identifier: MIT
 * Room ptrace: another process, stopped and made to call.
 *   In:  a process, a deadline.
 *   Out: threads stopped and gone on as if nothing had been; results of system calls in it.
 *   Used by: attach, launch, scan, heap (heapwalk.c); session and control for maps and ELF images.
 *
 * A process of somebody else's: its threads stopped for a moment, and one of them made to do system
 * calls for us, without a debugger and without running any code of a library in it.
 *
 *   hijack_open        who is it, and may we?
 *   hijack_stop_one    one thread stops ------+     hijack_stop_all   all threads stop
 *     hijack_borrow    a stopped one is ours  |       registers read, set; memory written
 *       hijack_call    system calls           |       (hijack_borrow works here, too)
 *     hijack_give_back it is as it was        |
 *   hijack_resume      <----------------------+---- hijack_resume     they go on
 *
 * hijack_stop_all can leave those alone that wait in the kernel: they wait on, and can wake up at any
 * time.
 *
 * A thread always stops where the kernel would take a signal (PTRACE_EVENT_STOP), and leaves from
 * there: so an interrupted system call starts again as the kernel means it. Those calls that return
 * EINTR although no signal came are made again by us. A process that was stopped by SIGSTOP stays
 * so.
 *
 * The kernel ties a tracee to the thread that seized it: everything between a stop and its resume
 * is called by one thread. When that thread ends, killed or not, the kernel lets all tracees go on
 * from where they are. A borrowed thread is not where it was; therefore hijack_borrow first writes
 * a signal frame of its true state below its stack's red zone, and every system call that we make
 * it do returns into rt_sigreturn: left alone at whatever moment, it goes back by itself
 * (hijack_net.c). In a helper process (hijack_helper.c) a SIGKILL of ms-record is not even noticed.
 *
 * Nothing here prints. All times are CLOCK_MONOTONIC, in ns.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cpu.h"
#include "libcommon/base/arena.h"

struct ms_err;

/* ---- who (hijack.c) ---- */

struct hijack {
	pid_t pid;
	int proc;            /* folder /proc/PID */
	int pidfd;           /* -1: this kernel has none */
	int mem;             /* /proc/PID/mem, to read and write; stays good if rights are lost */
	uint64_t start_time; /* field 22 of /proc/PID/stat: with pid, who it is */
	/* `syscall; ret` and the return from a signal, found in its memory; 0 = not yet. */
	uint64_t call_at, return_at;
};

/* Opens process `pid` after having looked for everything that would refuse it; the process does not
 * notice. `proc_root`: "/proc", or a folder that looks like it (tests); only what is read to judge
 * is read there if it is another. On failure `err` says what to do; nothing is open. */
int hijack_open(struct hijack *h, pid_t pid, const char *proc_root, struct ms_err *err);
void hijack_close(struct hijack *h);
/* May we trace whatever there is? */
bool hijack_capable(void);
/* Has it come to its end? It has no memory then, and its files are root's, though its folder
 * /proc/PID, which is `proc`, may be there still. */
bool hijack_over(int proc);
/* Is it still there, and the same process? */
bool hijack_alive(const struct hijack *h);
/* All `bytes`, or -1 with errno set. Writing ignores the protection of pages; text and read-only
 * data too. */
int hijack_read(const struct hijack *h, uint64_t address, void *to, size_t bytes);
int hijack_write(const struct hijack *h, uint64_t address, const void *from, size_t bytes);

/* ---- stopping and going on (hijack_stop.c) ---- */

/* Ranks what a thread would notice if it were stopped, the least first. */
enum hijack_trace {
	HIJACK_RUNS,      /* nothing: it is in no system call that waits */
	HIJACK_RESUMED,   /* nothing: the kernel goes on with what it waits for */
	HIJACK_REPEATED,  /* its system call is made again by us, and a timeout in it begins anew */
	HIJACK_CUT_SHORT, /* it may come back with a part done, or EINTR */
};

struct hijack_thread {
	pid_t tid;
	bool waiting; /* seized, and not seen to stop yet */
	bool gone;    /* it ended */
	bool asleep;  /* seized and left alone; of regs only what hijack_waits says is known */
	enum hijack_trace trace; /* of those that hijack_easiest looked at */
	pid_t new_child;         /* it is stopped where it began a thread or process, which is
				    stopped, too; 0 = it is not. It cannot be borrowed or moved */
	int signal;              /* that it takes when it goes on */
	uint64_t stop_ns;        /* when it was asked to */
	struct cpu_regs regs;    /* when it stopped */
};

struct hijack_stop {
	MS_ARRAY(struct hijack_thread) threads;
	bool holds;          /* those are left alone that wait in the kernel */
	unsigned asleep;     /* after hijack_resume: how many were left alone */
	unsigned cut_short;  /* how many were stopped though a trace of that may be left */
	uint64_t begin_ns;   /* the first one was asked to stop */
	uint64_t resumed_ns; /* after hijack_resume: the last one went on */
	uint64_t longest_ns; /* after hijack_resume: from asking a thread to stop until it went on,
				at most */
};

/* `proc` is always the folder /proc/PID. State of a thread: 'R', 'S' and so on; 0 = it is gone. */
char hijack_state(int proc, pid_t tid);
/* The numbers of its threads, in the order of /proc: malloc'ed array of *n. NULL: there is none, or,
 * with errno set, they cannot be seen. */
pid_t *hijack_tids(int proc, size_t *n);
/* Has any of its threads a seccomp filter now, so that no system call may be made there? In doubt,
 * yes. */
bool hijack_filtered(int proc);
/* How many threads of the process are alive; *any is one of them (not a zombie). 0 = none, or, with
 * errno set, it cannot be seen. */
size_t hijack_count(int proc, pid_t *any);
/* Is a thread among them? *at is where the one before was found, 0 at first: they are quickly found
 * in the order of their numbers. */
bool hijack_has(const struct hijack_stop *s, pid_t tid, size_t *at);
/* Stops all threads, those too that begin meanwhile. 0; or -1 with errno set: then all go on that
 * could be stopped, and the rest goes on when the calling thread ends. ETIMEDOUT: not all stopped
 * within `patience_ns` of when the first one was asked to (100 ms are good: a thread may be in the
 * kernel's hands, or in vfork); EPERM; ESRCH: none is there.
 * `hold`: a thread that waits in a system call is left alone, and goes on when the calling thread
 * ends; so do the threads and processes that it begins before that. */
int hijack_stop_all(struct hijack_stop *s, int proc, bool hold, uint64_t patience_ns);
/* After it: is any left alone still? */
bool hijack_any_asleep(const struct hijack_stop *s);
/* After it: those that were left alone and do not wait any more are stopped. When it returns, each
 * of them has been off all processors, in a system call, since it was called. 0, or -1: one did not
 * stop within `patience_ns`. */
int hijack_look(struct hijack_stop *s, int proc, uint64_t patience_ns);
/* If all threads are in system calls that would be cut short: waits until one is not, 50 ms at
 * most.
 */
void hijack_await_easy(int proc);
/* Returns the thread, among those that were left alone, to which a stop would do the least harm;
 * NULL = there is none. */
struct hijack_thread *hijack_easiest(struct hijack_stop *s, int proc);
/* Stops one that was left alone. 0, or -1: not within `patience_ns`, or it has ended. */
int hijack_wake(struct hijack_stop *s, int proc, struct hijack_thread *t, uint64_t patience_ns);
/* Stops one thread, preferably one that runs, and not inside a restartable sequence. As above;
 * EBUSY: all of them are in one. */
int hijack_stop_one(struct hijack_stop *s, const struct hijack *h, uint64_t patience_ns);
/* The calling thread is about to hold threads, stopped by whatever means, until that time at the
 * latest (UINT64_MAX: it is not known), or has let them go: somebody looks after it meanwhile
 * (hijack_guard.c). Functions that stop, and hijack_resume, do that themselves. */
void hijack_holds(bool on, uint64_t until_ns);
/* All go on, and `s` is empty but for its times. A system call that waited, and was broken off
 * though no signal came, is made again. */
void hijack_resume(struct hijack_stop *s, int proc);

/* ---- system calls (hijack_call.c) ---- */

struct hijack_call {
	const struct hijack *h;
	struct hijack_thread *t;  /* stopped by us; its regs are its true ones all the time */
	uint64_t mask;            /* of its signals; all are blocked meanwhile */
	uint64_t call_at, sp;     /* where the instruction is; the stack meanwhile */
	uint64_t copy_sp;         /* and that of a copy that must not run */
	uint64_t room;            /* HIJACK_ROOM bytes for what calls are given; 0 = without net */
	bool away;                /* it is not at the stop from which it can go on */
	int held;                 /* a signal that cannot be blocked and came meanwhile; 0 = none */
	uint64_t deadline_ns;     /* of the call that is under way */
	struct hijack_net *frame; /* by which it goes on by itself if we die; NULL = it does not */
};

#define HIJACK_ROOM 64u

enum { HIJACK_NO_NET = 1 }; /* borrow it even if it could not go on by itself */

/* Borrows a stopped thread. Refused, with the reason in `err`: it is inside a restartable sequence
 * (stop it again); it has its system calls dispatched to itself; a seccomp filter cannot be
 * suspended; there is no instruction for a system call in its memory; it could not go on by itself
 * (unless HIJACK_NO_NET). 0, or -1: then it is as it was. */
int hijack_borrow(struct hijack_call *c, struct hijack *h, struct hijack_thread *t, unsigned flags,
		  struct ms_err *err);
/* One system call. 0 and *result, as the kernel gives it (-errno if the call failed); or -1 with
 * errno set: the thread is gone (ESRCH), it did not come back (ETIMEDOUT), or cannot do it (EFAULT:
 * the instruction is not there any more; or it is broken off always). Nothing that needs
 * the thread's own stack, signals or restart block: not nanosleep, poll or futex; never close of a
 * descriptor that is not ours. */
int hijack_call(struct hijack_call *c, long number, const uint64_t args[6], int64_t *result);
/* Makes a system call whose arguments are written one after another. */
#define HIJACK_CALL(c, result, number, ...)                                                        \
	hijack_call((c), (number), (const uint64_t[6]){__VA_ARGS__}, (result))
/* A copy of the process that never runs: clone(CLONE_FS | CLONE_FILES) without an exit signal. It
 * is stopped and traced by the calling thread, and is killed by the kernel when that ends. *own:
 * its number in our pid namespace, *its: in the process's, for hijack_reap. 0; or -1 with errno
 * set, of the clone too. */
int hijack_copy(struct hijack_call *c, pid_t *own, pid_t *its);
/* Kills the copy, without its parent. */
void hijack_kill(pid_t own);
/* Removes what is left of a killed copy from its parent. 0, or -1. */
int hijack_reap(struct hijack_call *c, pid_t its);
/* The thread is as it was when it was borrowed, at a stop from which hijack_resume lets it go on.
 * 0; or -1 with errno set: it is gone, or does not come back (then its net catches it). */
int hijack_give_back(struct hijack_call *c);

/* ---- in a process of its own (hijack_helper.c) ---- */

/* Calls f(arg, shared) in a forked helper: its own session, all signals blocked, less likely to be
 * killed for want of memory. So neither SIGKILL nor Ctrl-C of ms-record falls into the time in
 * which threads are stopped; what f began it brings to its end. `shared` are `bytes` of memory that
 * both see, copied back to where it is afterwards. 0 and *result what f returned; or -1 with errno
 * set: there is no helper (then call f yourself), or ECHILD: it was killed, by us after five
 * minutes; ETIMEDOUT: because it held threads and did not go on for a second.
 *
 * Of other threads only the memory is there: f takes no lock that they may hold and does not write
 * to their files. With ptrace_scope 1 only ancestors may trace: for a process that ms-record
 * launched a thread of ms-record has to do. The net is what makes that safe, too. */
int hijack_helper(int (*f)(void *arg, void *shared), void *arg, void *shared, size_t bytes,
		  int *result);
/* In a helper, before threads stop: if it is killed before f returns, its tracees go on, and then
 * mend(arg) is called in a process that has its memory. Elsewhere, or if there can be no such
 * process, it does nothing. */
void hijack_guard(void (*mend)(void *arg), void *arg);
