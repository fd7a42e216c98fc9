/* SPDX-License-Identifier: MIT
 * A program to be recorded and cut: four threads, two marks, frees by other threads, reallocs,
 * failed calls, mapped memory, and 1000 blocks of a size that nobody else asks for.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memscope.h>

#define KEPT 1000
#define SPECIAL 7777

static void *volatile lost;
static int rounds = 20000;
static char *kept[KEPT], *more[KEPT];

static void *work(void *arg)
{
	unsigned seed = (unsigned)(size_t)arg;
	char *slots[64] = {0};
	for (int i = 0; i < rounds; i++) {
		seed = seed * 1103515245 + 12345;
		unsigned k = seed >> 16, s = k % 64;
		if (slots[s] && k % 3 == 0) {
			slots[s] = realloc(slots[s], k % 5000 + 1);
		} else {
			free(slots[s]);
			slots[s] = malloc(k % 3000);
		}
		if (i % 5000 == 2500)
			usleep(3000);
	}
	for (int s = 0; s < 32; s++)
		free(slots[s]);
	return NULL;
}

static char *build(void)
{
	return malloc(SPECIAL);
}

/* Three calls fail; what the fourth gives stays. */
static void fail(size_t huge)
{
	for (volatile int i = 0; i < 4; i++) {
		volatile size_t size = i < 3 ? huge : 50;
		lost = malloc(size); /* one call: one site */
	}
}

int main(int argc, char **argv)
{
	pthread_t t[3];
	if (argc > 1)
		rounds = atoi(argv[1]);
	for (int i = 0; i < KEPT; i++)
		kept[i] = build();
	for (size_t i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, work, (void *)(i + 7));
	usleep(4000);
	for (volatile int i = 0; i < 2; i++)
		lost = malloc(33); /* the second is temporary: freed next, in the span or not */
	ms_mark("warm");
	free(lost);
	char *m = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < KEPT / 2; i++)
		free(kept[i]);
	for (int i = 0; i < KEPT; i++)
		more[i] = malloc((size_t)i);
	ms_mark("late");
	munmap(m, 1 << 19);
	fail((size_t)-1 / 4 + (size_t)argc);
	for (int i = 200; i < 300; i++)
		free(more[i]);
	for (size_t i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return 0;
}
