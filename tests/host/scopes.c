/* SPDX-License-Identifier: MIT
 * A program in C that opens modules in C++, in the ways that decide which operator new they get,
 * and prints who provided each block. Arguments: the folder of the modules, a case.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *folder;

struct module {
	void *handle;
	void *(*make)(int array);
	void *(*jump)(unsigned long size); /* by a jump to operator new */
	void (*drop)(void *block, int array);
};

/* "pool NAME" of a block of a module's own operator, else the C++ library's. */
static void say(const char *what, const void *block)
{
	const char *name = (const char *)block - 16;
	printf("%s: %s\n", what, strncmp(name, "pool", 4) ? "malloc" : name);
}

static struct module open_one(const char *name, int flags)
{
	char path[4200];
	struct module m;
	snprintf(path, sizeof path, "%s/scopes_%s.so", folder, name);
	m.handle = dlopen(path, flags);
	if (!m.handle) {
		printf("%s\n", dlerror());
		exit(1);
	}
	*(void **)&m.make = dlsym(m.handle, "make");
	*(void **)&m.jump = dlsym(m.handle, "jump");
	*(void **)&m.drop = dlsym(m.handle, "drop");
	return m;
}

static void use(const char *what, const struct module *m)
{
	for (int array = 0; array < 2; array++) {
		void *p = m->make(array);
		say(what, p);
		m->drop(p, array);
	}
}

/* Opens a module whose constructor waits for a thread that calls operator new, while dlopen holds
 * the linker's lock. */
static void constructor(void)
{
	struct module m = open_one("thread", RTLD_NOW);
	use("thread", &m);
}

/* Checks that a failed dlsym is still reported after operators were called the first time. */
static void message(void)
{
	(void)dlsym(RTLD_DEFAULT, "no_such_function");
	struct module m = open_one("plain", RTLD_NOW);
	void *none = dlsym(m.handle, "no_such_function_either");
	use("plain", &m);
	const char *text = dlerror();
	printf("%p %s\n", none, text ? strrchr(text, ':') : "no message");
	dlclose(m.handle);
}

/* Each has its own scope. */
static void local(void)
{
	struct module own = open_one("own", RTLD_NOW), plain = open_one("plain", RTLD_NOW),
		      other = open_one("other", RTLD_LAZY), hash = open_one("hash", RTLD_LAZY);
	for (int i = 0; i < 3; i++) {
		use("own", &own);
		use("plain", &plain);
		use("other", &other);
		use("sysv", &hash);
	}
	dlclose(own.handle);
	use("plain", &plain);
	use("other", &other);
	dlclose(other.handle);
	dlclose(hash.handle);
	use("plain", &plain);
	dlclose(plain.handle);
}

/* Checks that a module opened for all comes before another's own scope, and stays while used. */
static void global(void)
{
	struct module own = open_one("own", RTLD_NOW | RTLD_GLOBAL),
		      plain = open_one("plain", RTLD_NOW);
	use("own, for all", &own);
	use("plain", &plain);
	void *p = plain.make(0);
	dlclose(own.handle);
	say("after it was closed", p);
	plain.drop(p, 0);
	dlclose(plain.handle);
}

/* Nothing of a module that was closed is called. */
static void closed(void)
{
	for (int i = 0; i < 3; i++) {
		struct module other = open_one("other", RTLD_NOW | RTLD_GLOBAL);
		use("other, for all", &other);
		dlclose(other.handle);
		struct module plain = open_one("plain", RTLD_NOW);
		use("plain", &plain);
		dlclose(plain.handle);
	}
}

/* The call comes from here as it seems, and here is no scope with C++. */
static void jump(void)
{
	static const char *const names[] = {"own", "plain"};
	for (int i = 0; i < 4; i++) {
		struct module m = open_one(names[i % 2], RTLD_NOW);
		for (int k = 0; k < 3; k++) {
			void *p = m.jump(10);
			say(names[i % 2], p);
			m.drop(p, 0);
		}
		dlclose(m.handle);
	}
}

static void *churn(void *arg)
{
	const char *name = arg;
	for (int i = 0; i < 200; i++) {
		struct module m = open_one(name, i % 2 ? RTLD_LAZY : RTLD_NOW);
		for (int k = 0; k < 10; k++)
			m.drop(m.make(k % 2), k % 2);
		dlclose(m.handle);
	}
	return NULL;
}

static void threads(void)
{
	static char names[4][8] = {"own", "plain", "other", "hash"};
	pthread_t t[4];
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, churn, names[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	puts("threads");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {{"constructor", constructor},
		     {"message", message},
		     {"local", local},
		     {"closed", closed},
		     {"global", global},
		     {"threads", threads},
		     {"jump", jump}};
	if (argc < 3)
		return 2;
	folder = argv[1];
	setvbuf(stdout, NULL, _IONBF, 0);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (!strcmp(cases[i].name, argv[2]))
			cases[i].run();
	return 0;
}
