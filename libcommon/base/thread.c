/* SPDX-License-Identifier: MIT
 * Starts a helper thread beside the main thread.
 */
#include "thread.h"

#include <signal.h>

int ms_thread_start(pthread_t *thread, size_t stack_bytes, void *(*f)(void *), void *arg)
{
	sigset_t all, old;
	pthread_attr_t attr;
	int rc = pthread_attr_init(&attr);
	if (rc != 0)
		return rc;
	rc = pthread_attr_setstacksize(&attr, stack_bytes);
	sigfillset(&all);
	sigdelset(&all, SIGBUS); /* mapped_file.h handles SIGBUS in every thread */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (rc == 0)
		rc = pthread_create(thread, &attr, f, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return rc;
}
