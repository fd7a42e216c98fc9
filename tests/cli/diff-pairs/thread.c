// SPDX-License-Identifier: MIT
// A thread of its own does what main did; pthread_create allocates once.
// old: -pthread
// new: -DNEW -pthread
// sites: 3=3 frames, 5=5 exact, -=1
#include "pair.h"
#include <pthread.h>
static NOINLINE void parse(void)
{
	TAKE(3);
}
static NOINLINE void *work(void *arg)
{
	parse();
	return arg;
}
int main(void)
{
#ifdef NEW
	pthread_t t;
	pthread_create(&t, NULL, work, NULL);
	pthread_join(t, NULL);
#else
	work(NULL);
#endif
	TAKE(5);
}
