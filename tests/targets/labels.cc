/* SPDX-License-Identifier: MIT
 * Threads that allocate under labels: labels THREADS LABELS. Under label i each thread makes i % 10 + 1
 * blocks of 100 bytes, of which it frees every second, and one of 1,000 with another label inside;
 * without label one of 5,000. A forked child does the same with one thread.
 */
#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "include/memscope.h"

static void *(*volatile make)(size_t) = malloc;
static int labels;

static void run()
{
	for (int i = 0; i < labels; i++) {
		char text[80];
		snprintf(text, sizeof text, "tenant=%d", i);
		ms_label outer(text);
		for (int k = 0; k <= i % 10; k++) {
			void *p = make(100);
			if (k % 2)
				free(p);
		}
		ms_label_push("inner");
		make(1000);
		ms_label_pop();
	}
	make(5000);
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 1;
	labels = argc > 2 ? atoi(argv[2]) : 1;
	std::thread *t = new std::thread[64];
	ms_label_pop(); /* nothing to take off */
	for (int i = 0; i < threads && i < 64; i++)
		t[i] = std::thread(run);
	for (int i = 0; i < threads && i < 64; i++)
		t[i].join();
	/* nine deep, of which eight count; longer than 64 bytes; empty */
	for (int i = 0; i < 9; i++)
		ms_label_push(i == 0 ? "a2345678901234567890123456789012345678901234567890123456789"
				       "0123456789"
			      : i == 4 ? ""
				       : "d");
	make(70);
	for (int i = 0; i < 9; i++)
		ms_label_pop();
	ms_label parent("parent");
	pid_t child = fork();
	if (child == 0) {
		std::thread(run).join();
		_exit(0);
	}
	waitpid(child, nullptr, 0);
	return 0;
}
