/* SPDX-License-Identifier: MIT
 * C++ threads with thread_local destructors, handing messages over through an atomic pointer.
 */
#include "truth.h"

#include <atomic>
#include <memory>
#include <pthread.h>

struct message {
	void *body;
	size_t size;
};

static std::atomic<message *> box;

static SITE message *write_message(size_t n)
{
	auto *m = static_cast<message *>(MALLOC(sizeof(message)));
	m->body = MALLOC(n);
	m->size = n;
	return m;
}

static SITE void read_message(message *m)
{
	FREE(m->body);
	FREE(m);
}

struct local {
	void *p = nullptr;
	SITE ~local()
	{
		FREE(p);
	}
};
static thread_local local mine;

static SITE void *sender(void *argument)
{
	auto n = reinterpret_cast<uintptr_t>(argument);
	mine.p = MALLOC(n * 100);
	for (size_t i = 0; i < 2000; i++) {
		message *m = write_message(i % 300 + n);
		message *old = box.exchange(m);
		if (old)
			read_message(old);
	}
	return nullptr;
}

int main()
{
	pthread_t threads[4];
	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&threads[i], nullptr, sender, reinterpret_cast<void *>(i + 1));
	for (pthread_t t : threads)
		pthread_join(t, nullptr);
	read_message(box.exchange(nullptr));
	FREE(MALLOC(300000));
	return 0;
}
