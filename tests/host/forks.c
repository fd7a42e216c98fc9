/* SPDX-License-Identifier: MIT
 * Forks in every way, without exec, and each process writes its own truth: one line into the file
 * named by FORKS_TRUTH. usage: forks SCENE...
 *
 *   NAME pid ppid allocations bytes frees inherited-frees inherited-bytes unfreed-blocks
 *   unfreed-bytes inherited-blocks (-1 = not said)
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCKS 400

struct block {
	void *p;
	size_t size;
	bool own; /* allocated by this process */
};
static struct block blocks[BLOCKS];
static struct {
	long allocations, bytes, frees, inherited_frees, inherited_bytes, blocks, live, inherited;
} t;
static int truth = -1;
static const char *self;
extern char **environ;

static void put(int i, size_t size)
{
	blocks[i] = (struct block){malloc(size), size, true};
	t.allocations++;
	t.bytes += (long)size;
	t.blocks++;
	t.live += (long)size;
}

static void gone(const struct block *b)
{
	if (!b->p)
		return;
	if (b->own) {
		t.frees++;
		t.blocks--;
		t.live -= (long)b->size;
	} else {
		t.inherited_frees++;
		t.inherited_bytes += (long)b->size;
	}
}

static void take(int i)
{
	gone(&blocks[i]);
	free(blocks[i].p);
	blocks[i].p = NULL;
}

static void resize(int i, size_t size)
{
	gone(&blocks[i]);
	blocks[i] = (struct block){realloc(blocks[i].p, size), size, true};
	t.allocations++;
	t.bytes += (long)size;
	t.blocks++;
	t.live += (long)size;
}

/* A child begins: what is there is inherited. */
static void begin(bool exact)
{
	memset(&t, 0, sizeof t);
	t.inherited = exact ? 0 : -1;
	for (int i = 0; i < BLOCKS; i++) {
		blocks[i].own = false;
		t.inherited += exact && blocks[i].p;
	}
}

static void say(const char *name)
{
	char line[300];
	int n = snprintf(line, sizeof line, "%s %d %d %ld %ld %ld %ld %ld %ld %ld %ld\n", name,
			 (int)syscall(SYS_getpid), (int)syscall(SYS_getppid), t.allocations,
			 t.bytes, t.frees, t.inherited_frees, t.inherited_bytes, t.blocks, t.live,
			 t.inherited);
	if (write(truth, line, (size_t)n) != n)
		_exit(99);
}

static void done(const char *name)
{
	say(name);
	_exit(0);
}

static void wait_for(pid_t pid)
{
	int status;
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		_exit(98);
}

/* Frees 10 inherited blocks, resizes 5, makes 100 of its own, and frees 40 of those. */
static void work(void)
{
	for (int i = 0; i < 10; i++)
		take(i);
	for (int i = 10; i < 15; i++)
		resize(i, 3000 + (size_t)i);
	for (int i = 200; i < 300; i++)
		put(i, 100 + (size_t)i);
	for (int i = 200; i < 240; i++)
		take(i);
}

static void child(const char *name, bool exact)
{
	begin(exact);
	work();
	done(name);
}

static void scene_fork(void)
{
	pid_t pid = fork();
	if (!pid)
		child("fork", true);
	for (int i = 100; i < 150; i++) { /* the child's table is as of the fork */
		take(i);
		put(i, 77);
	}
	wait_for(pid);
}

/* The child is looked at long after its parent has changed all. */
static void scene_late(void)
{
	pid_t pid = fork();
	if (!pid) {
		begin(true);
		put(300, 10);
		usleep(200000);
		work();
		done("late");
	}
	for (int i = 0; i < 100; i++) {
		take(i);
		put(i, 55);
	}
	wait_for(pid);
}

static void scene_raw(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!pid)
		child("raw", true);
	wait_for(pid);
}

static volatile bool stop;
static void *noise(void *unused)
{
	(void)unused;
	while (!stop)
		free(malloc(33));
	return NULL;
}
static void *forker(void *unused)
{
	(void)unused;
	for (int i = 0; i < 5; i++) {
		pid_t pid = fork();
		if (!pid)
			child("thread", false);
		wait_for(pid);
	}
	return NULL;
}
static void scene_threads(void)
{
	pthread_t n[2], f;
	for (int i = 0; i < 2; i++)
		pthread_create(&n[i], NULL, noise, NULL);
	pthread_create(&f, NULL, forker, NULL);
	pthread_join(f, NULL);
	stop = true;
	for (int i = 0; i < 2; i++)
		pthread_join(n[i], NULL);
}

/* Threads of a child on stacks that its parent left, so that they may be the first to allocate. */
static void *small(void *unused)
{
	for (int i = 0; i < 100; i++)
		free(malloc(1000));
	return unused;
}
static void scene_first(void)
{
	pthread_t th[4];
	for (int i = 0; i < 4; i++)
		pthread_create(&th[i], NULL, small, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(th[i], NULL);
	pid_t pid = fork();
	if (!pid) {
		begin(false);
		for (int i = 0; i < 4; i++)
			pthread_create(&th[i], NULL, small, NULL);
		for (int i = 0; i < 4; i++)
			pthread_join(th[i], NULL);
		t.allocations = t.frees = 400;
		t.bytes = 400000;
		work();
		done("first");
	}
	wait_for(pid);
}

static void in_handler(int sig)
{
	(void)sig;
	pid_t pid = fork();
	if (!pid)
		child("handler", true);
	wait_for(pid);
}
static void scene_handler(void)
{
	signal(SIGUSR1, in_handler);
	raise(SIGUSR1);
}

/* A timer interrupts hooks; the child of the handler goes on where its parent was. */
static volatile pid_t interrupted;
static volatile int left = 12;
static void on_timer(int sig)
{
	(void)sig;
	if (left <= 0 || interrupted < 0)
		return;
	left--;
	pid_t pid = fork();
	if (!pid) {
		struct itimerval off = {{0, 0}, {0, 0}};
		setitimer(ITIMER_REAL, &off, NULL);
		interrupted = -1;
		return;
	}
	wait_for(pid);
}
static void scene_timer(void)
{
	struct itimerval every = {{0, 3000}, {0, 3000}}, off = {{0, 0}, {0, 0}};
	signal(SIGALRM, on_timer);
	setitimer(ITIMER_REAL, &every, NULL);
	while (left > 0 && interrupted >= 0)
		free(malloc(500));
	setitimer(ITIMER_REAL, &off, NULL);
	if (interrupted < 0)
		child("timer", false);
}

static void scene_grandchild(void)
{
	pid_t pid = fork();
	if (!pid) {
		begin(true);
		for (int i = 0; i < 5; i++)
			take(i);
		for (int i = 300; i < 320; i++)
			put(i, 64);
		pid_t next = fork();
		if (!next) {
			begin(true);
			for (int i = 300; i < 303; i++) /* its parent's */
				take(i);
			for (int i = 5; i < 9; i++) /* and its parent's parent's */
				take(i);
			put(350, 4000);
			pid_t last = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
			if (!last)
				child("third", true);
			wait_for(last);
			done("grandchild");
		}
		for (int i = 303; i < 310; i++)
			take(i);
		wait_for(next);
		done("child");
	}
	wait_for(pid);
}

/* The child does nothing but fork again. */
static void scene_twice(void)
{
	pid_t pid = fork();
	if (!pid) {
		pid_t next = fork();
		if (!next)
			child("twice", true);
		wait_for(next);
		_exit(0);
	}
	wait_for(pid);
}

static void scene_exec(void)
{
	pid_t pid = fork();
	if (!pid) {
		begin(true);
		work();
		say("exec");
		execl(self, self, "leaf", (char *)NULL);
		_exit(97);
	}
	wait_for(pid);
}
static void scene_leaf(void)
{
	for (int i = 300; i < 400; i++)
		put(i, 1000);
	say("leaf");
}

static void scene_spawn(void)
{
	char *const args[] = {(char *)self, "leaf", NULL};
	pid_t pid;
	if (posix_spawn(&pid, self, NULL, NULL, args, environ))
		_exit(96);
	wait_for(pid);
	pid = vfork();
	if (!pid) {
		execl(self, self, "leaf", (char *)NULL);
		_exit(95);
	}
	wait_for(pid);
	pid = vfork();
	if (!pid)
		_exit(0);
	wait_for(pid);
}

/* Ends with what was allocated before main. */
static void scene_quit(void)
{
	_exit(0);
}

static void scene_none(void)
{
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();
		if (!pid)
			_exit(0);
		wait_for(pid);
	}
}

static void scene_daemon(void)
{
	int ends[2];
	char byte;
	if (pipe(ends))
		_exit(94);
	pid_t pid = fork();
	if (!pid) {
		close(ends[0]);
		begin(true);
		put(300, 10);
		say("launcher");
		if (daemon(1, 1))
			_exit(93);
		usleep(100000); /* the process that forked is gone */
		child("daemon", true);
	}
	close(ends[1]);
	wait_for(pid);
	if (read(ends[0], &byte, 1) != 0)
		_exit(92);
	close(ends[0]);
}

static const struct {
	const char *name;
	void (*run)(void);
} scenes[] = {{"fork", scene_fork},   {"late", scene_late},
	      {"raw", scene_raw},     {"threads", scene_threads},
	      {"first", scene_first}, {"handler", scene_handler},
	      {"timer", scene_timer}, {"grandchild", scene_grandchild},
	      {"twice", scene_twice}, {"exec", scene_exec},
	      {"leaf", scene_leaf},   {"spawn", scene_spawn},
	      {"none", scene_none},   {"daemon", scene_daemon},
	      {"quit", scene_quit}};

int main(int argc, char **argv)
{
	const char *file = getenv("FORKS_TRUTH");
	self = argv[0];
	truth = open(file ? file : "/dev/null", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	bool first = argc > 1 && strcmp(argv[1], "leaf") != 0 && strcmp(argv[1], "quit") != 0;
	if (first)
		for (int i = 0; i < 200; i++)
			put(i, 20 + (size_t)i);
	for (int a = 1; a < argc; a++)
		for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
			if (!strcmp(argv[a], scenes[i].name))
				scenes[i].run();
	if (first)
		say("main");
	return 0;
}
