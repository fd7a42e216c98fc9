/* SPDX-License-Identifier: MIT
 * Room ptrace: another process, stopped and made to call.
 *   In:  a process, a deadline.
 *   Out: threads stopped and resumed unchanged; results of system calls in the process.
 *   Used by: attach, launch, scan, heap (heapwalk.c); session and control for maps and ELF images.
 *
 * Stops the threads of a foreign process for a moment, and makes one of them do system calls for
 * us, without a debugger and without running library code in the process.
 *
 *   hijack_open        checks identity and permission
 *   hijack_stop_one    stops one thread -----+     hijack_stop_all   stops all threads
 *     hijack_borrow    borrows a stopped one |       registers and memory are read and written
 *       hijack_call    makes system calls    |       (hijack_borrow works here, too)
 *     hijack_give_back restores its state    |
 *   hijack_resume      <---------------------+---- hijack_resume     resumes them
 *
 * hijack_stop_all can leave threads that wait in the kernel unstopped: they wait on, and can wake
 * up at any time.
 *
 * A thread always stops where the kernel would deliver a signal (PTRACE_EVENT_STOP), and resumes
 * from there: so the kernel restarts an interrupted system call as usual. Calls that return EINTR
 * without a signal are made again by us. A process that was stopped by SIGSTOP stays stopped.
 *
 * The kernel ties a tracee to the thread that seized it: one thread makes all calls between a stop
 * and its resume. When that thread ends, killed or not, the kernel resumes all tracees with their
 * current registers. Those of a borrowed thread have been changed; therefore hijack_borrow first
 * writes a signal frame with its true state below its stack's red zone, and every system call that
 * we make in it returns into rt_sigreturn: whenever we die, the thread restores itself
 * (hijack_net.c). In a helper process (hijack_helper.c) a SIGKILL of ms-record has no effect at
 * all.
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
	int proc;            /* descriptor of the folder /proc/PID */
	int pidfd;           /* -1 = the kernel has no pidfds */
	int mem;             /* descriptor of /proc/PID/mem; stays usable if rights are lost */
	uint64_t start_time; /* field 22 of /proc/PID/stat; with pid, identifies the process */
	/* addresses, in the process, of `syscall; ret` and of a signal return; 0 = not found yet */
	uint64_t call_at, return_at;
};

/* Opens process `pid` after checking for everything that could prevent attaching, without
 * disturbing the process. `proc_root`: "/proc", or a copy of it for the checks only (tests).
 * Returns 0, or -1 with advice in `err` and nothing open. */
int hijack_open(struct hijack *h, pid_t pid, const char *proc_root, struct ms_err *err);
void hijack_close(struct hijack *h);
/* Tells whether this process has CAP_SYS_PTRACE, so that it may trace any process. */
bool hijack_capable(void);
/* Tells whether the process is ending or has ended: it has no memory and its files are root's, but
 * its folder may still exist. `proc`: folder /proc/PID. */
bool hijack_over(int proc);
/* Tells whether the process that was opened still exists. */
bool hijack_alive(const struct hijack *h);
/* Reads or writes all `bytes`. Returns 0, or -1 with errno set. Writing ignores page protection, so
 * that code and read-only data can be written too. */
int hijack_read(const struct hijack *h, uint64_t address, void *to, size_t bytes);
int hijack_write(const struct hijack *h, uint64_t address, const void *from, size_t bytes);

/* ---- stopping and going on (hijack_stop.c) ---- */

/* Ranks what a thread notices of a stop, least first. */
enum hijack_trace {
	HIJACK_RUNS,      /* nothing: the thread does not wait in a system call */
	HIJACK_RESUMED,   /* nothing: the kernel resumes the wait */
	HIJACK_REPEATED,  /* the thread's system call is made again; a timeout starts anew */
	HIJACK_CUT_SHORT, /* the thread's system call may return early, or fail with EINTR */
};

struct hijack_thread {
	pid_t tid;
	bool waiting;            /* seized, not stopped yet */
	bool gone;               /* the thread has ended */
	bool asleep;             /* seized, not stopped; regs holds only what hijack_waits sets */
	enum hijack_trace trace; /* set by hijack_easiest for sleeping threads */
	/* Child that this thread is creating; 0 = none. The child is stopped, and this thread is
	 * stopped inside the call that creates it, so it cannot be borrowed or moved. */
	pid_t new_child;
	int signal;           /* signal to deliver on resume; 0 = none */
	uint64_t stop_ns;     /* time of the request to stop */
	struct cpu_regs regs; /* registers at the stop */
	/* waited: the thread waited in a system call right before it was asked to stop, and `before`
	 * is that call; set where registers do not tell it (CPU_FORGETS_CALL) */
	bool waited;
	struct cpu_regs before;
};

struct hijack_stop {
	MS_ARRAY(struct hijack_thread) threads;
	bool holds;          /* threads that wait in the kernel are not stopped */
	unsigned asleep;     /* threads that were not stopped; set by hijack_resume */
	unsigned cut_short;  /* threads stopped in a call that may return early */
	uint64_t begin_ns;   /* time of the first request to stop */
	uint64_t resumed_ns; /* time of the last resume; set, like longest_ns, by hijack_resume */
	uint64_t longest_ns; /* longest stop of one thread, from the request */
};

/* Returns the state of a thread: 'R', 'S' and so on; 0 = gone. `proc`, here and below: folder
 * /proc/PID. */
char hijack_state(int proc, pid_t tid);
/* Returns the ids of the threads, in the order of /proc, as a malloc'ed array of *n. NULL: none,
 * or, with errno set, not readable. */
pid_t *hijack_tids(int proc, size_t *n);
/* Tells whether any thread has a seccomp filter, so that none may be made to do system calls.
 * Returns true if not known. */
bool hijack_filtered(int proc);
/* Returns the number of live threads of the process; *any is the first of them (not a zombie), which
 * is the least likely to end soon. 0 = none, or, with errno set, not readable. */
size_t hijack_count(int proc, pid_t *any);
/* Tells whether a thread is in s->threads. *at: where the search begins, 0 at first; updated, so
 * that searches in the order of /proc are fast. */
bool hijack_has(const struct hijack_stop *s, pid_t tid, size_t *at);
/* Stops all threads, including new ones. Returns 0; or -1 with errno set and the stopped ones
 * resumed; the rest resume when the calling thread ends. ETIMEDOUT: not all stopped within
 * `patience_ns` of the first request (100 ms is a good value, as a thread may be in vfork or in
 * an uninterruptible wait); EPERM; ESRCH: no thread exists. `hold`: does not stop a thread that
 * waits in a system call; such a thread, and any that it creates, is detached when the calling
 * thread ends. */
int hijack_stop_all(struct hijack_stop *s, int proc, bool hold, uint64_t patience_ns);
/* Tells, after hijack_stop_all, whether a thread is still not stopped. */
bool hijack_any_asleep(const struct hijack_stop *s);
/* Stops, after hijack_stop_all, threads that were left waiting and no longer wait. On return, each
 * thread that still waits has been off all processors, in a system call, since this function was
 * called. Returns 0, or -1 if a thread did not stop within `patience_ns`. */
int hijack_look(struct hijack_stop *s, int proc, uint64_t patience_ns);
/* Waits, for 50 ms at most, while a stop would cut short the system calls of all threads. */
void hijack_await_easy(int proc);
/* Returns the thread that was not stopped and to which a stop would do the least harm; NULL =
 * none. */
struct hijack_thread *hijack_easiest(struct hijack_stop *s, int proc);
/* Stops a thread that hijack_stop_all did not stop. Returns 0, or -1 if the thread did not stop
 * within `patience_ns`, or has ended. */
int hijack_wake(struct hijack_stop *s, int proc, struct hijack_thread *t, uint64_t patience_ns);
/* Stops one thread outside restartable sequences, preferably a running one. Returns as
 * hijack_stop_all does; EBUSY: all are in a restartable sequence. */
int hijack_stop_one(struct hijack_stop *s, const struct hijack *h, uint64_t patience_ns);
/* Declares that the calling thread is about to hold stopped threads until `until_ns` at the
 * latest (UINT64_MAX: not known), or no longer holds any. A guard watches the calling thread
 * meanwhile (hijack_guard.c). Functions that stop threads, and hijack_resume, call this function
 * themselves. */
void hijack_holds(bool on, uint64_t until_ns);
/* Resumes all threads and empties `s` except its times. A waiting system call that was interrupted
 * without a signal is made again. */
void hijack_resume(struct hijack_stop *s, int proc);

/* ---- system calls (hijack_call.c) ---- */

struct hijack_call {
	const struct hijack *h;
	/* the borrowed thread, stopped; its regs keep the original values */
	struct hijack_thread *t;
	uint64_t mask;        /* the thread's signal mask; all signals are blocked meanwhile */
	uint64_t call_at, sp; /* syscall instruction, and stack pointer for calls */
	uint64_t copy_sp;     /* stack pointer of a copy of the process, which must not run */
	uint64_t room;        /* HIJACK_ROOM bytes for arguments; 0 = no safety net was built */
	bool away;            /* the thread is not at a stop from which it can be resumed */
	int held;             /* unblockable signal that arrived meanwhile; 0 = none */
	uint64_t deadline_ns; /* deadline of the current call */
	/* safety net: restores the thread if ms-record dies; NULL = none */
	struct hijack_net *frame;
	void *cleared; /* registers by cpu_cleared_get */
};

#define HIJACK_ROOM 64u

enum { HIJACK_NO_NET = 1 }; /* borrow the thread even if it could not resume by itself */

/* Borrows a stopped thread. Returns 0, or -1 with the reason in `err` and the thread unchanged:
 * it is inside a restartable sequence (stop it again); it uses syscall user dispatch; a seccomp
 * filter cannot be suspended; no syscall instruction is in its memory; it could not resume by
 * itself if ms-record died (unless HIJACK_NO_NET). */
int hijack_borrow(struct hijack_call *c, struct hijack *h, struct hijack_thread *t, unsigned flags,
		  struct ms_err *err);
/* Makes one system call. Returns 0 and *result as the kernel does (-errno if the call failed); or
 * -1 with errno set: the thread ended (ESRCH), did not return (ETIMEDOUT), or cannot make the call
 * (EFAULT: the instruction is gone, or each try was interrupted). Not for calls that need the
 * thread's own stack, signals or restart block (nanosleep, poll, futex), nor to close a descriptor
 * of the process. */
int hijack_call(struct hijack_call *c, long number, const uint64_t args[6], int64_t *result);
/* Makes a system call; its arguments are listed one by one. */
#define HIJACK_CALL(c, result, number, ...)                                                        \
	hijack_call((c), (number), (const uint64_t[6]){__VA_ARGS__}, (result))
/* Makes a copy of the process that never runs: clone(CLONE_FS | CLONE_FILES) without an exit
 * signal. The copy is stopped, traced by the calling thread, and killed when that thread ends.
 * *own: the copy's pid in our pid namespace; *its: in that of the process, for hijack_reap.
 * Returns 0, or -1 with errno set, perhaps by the clone. */
int hijack_copy(struct hijack_call *c, pid_t *own, pid_t *its);
/* Kills the copy; its parent keeps the zombie until hijack_reap. */
void hijack_kill(pid_t own);
/* Reaps a killed copy in its parent. Returns 0, or -1. */
int hijack_reap(struct hijack_call *c, pid_t its);
/* Restores the thread's state from before hijack_borrow and leaves it at a stop from which
 * hijack_resume resumes it. Returns 0, or -1 with errno set: the thread ended, or did not return
 * in time (then its safety net restores it). */
int hijack_give_back(struct hijack_call *c);

/* ---- in a process of its own (hijack_helper.c) ---- */

/* Calls f(arg, shared) in a forked helper with its own session, all signals blocked, and a low
 * out-of-memory score. Killing ms-record (SIGKILL, Ctrl-C) therefore does not interrupt `f`
 * while threads are stopped. `shared`: `bytes` of shared memory, copied back afterwards. Returns
 * 0 with the result of `f` in *result; or -1 with errno set: no helper could be made (then call
 * `f` yourself); ECHILD: the helper was killed, after five minutes by ms-record; ETIMEDOUT: the
 * helper was killed because it held threads and made no progress for a second. `f` takes no lock
 * that other threads may hold, since only their memory exists in the helper, and does not write
 * to their files. With ptrace_scope 1 only ancestors may trace: for a process that ms-record
 * launched, use a thread of ms-record instead; the safety net protects that process, too. */
int hijack_helper(int (*f)(void *arg, void *shared), void *arg, void *shared, size_t bytes,
		  int *result);
/* Arranges in a helper, before threads stop, for mend(arg) to be called if the helper is killed
 * before `f` returns. The call is made by a process that shares the helper's memory, after the
 * helper's tracees were released. Does nothing outside a helper, or if no such process can be
 * made. */
void hijack_guard(void (*mend)(void *arg), void *arg);
