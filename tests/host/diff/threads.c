/* SPDX-License-Identifier: MIT
 * A program for tests/host/diff.sh whose peak depends on how its threads meet: what they do in all
 * is always the same. With -DREGRESSION each worker keeps one block more.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORKERS = 6, JOBS = 600 };

struct job {
	struct job *next;
	char *data;
	size_t size;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct job *queue;
static int left = JOBS;
static void *volatile kept[64];

static void push(int i)
{
	struct job *j = malloc(sizeof *j);
	j->size = 1000 + (size_t)(i * 37 % 5000);
	j->data = malloc(j->size);
	memset(j->data, i, j->size);
	pthread_mutex_lock(&lock);
	j->next = queue;
	queue = j;
	pthread_mutex_unlock(&lock);
}

static int pop(struct job **out)
{
	pthread_mutex_lock(&lock);
	int more = left > 0;
	*out = queue;
	if (queue) {
		queue = queue->next;
		left--;
	}
	pthread_mutex_unlock(&lock);
	return more;
}

static void *work(void *arg)
{
	struct job *j;
	char *scratch = malloc(20000);
	kept[(size_t)arg] = malloc(500);
#ifdef REGRESSION
	kept[WORKERS + (size_t)arg] = malloc(12000);
#endif
	while (pop(&j)) {
		if (!j) {
			usleep(20);
			continue;
		}
		char *copy = malloc(j->size * 2);
		memcpy(copy, j->data, j->size);
		if (j->size % 7 == 0)
			usleep(50);
		free(copy);
		free(j->data);
		free(j);
	}
	free(scratch);
	return NULL;
}

int main(void)
{
	pthread_t t[WORKERS];
	for (size_t i = 0; i < WORKERS; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	for (int i = 0; i < JOBS; i++)
		push(i);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(t[i], NULL);
	return 0;
}
