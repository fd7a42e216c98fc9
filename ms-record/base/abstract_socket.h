/* SPDX-License-Identifier: MIT
 * Sockets for packets, with a name that is no file's.
 */
#pragma once

/* One that listens, and never waits. -1 with errno set. */
int abstract_listen(const char *name, int backlog);
/* A connection to who listens there, which waits for so many seconds at most. -1 with errno set. */
int abstract_connect(const char *name, unsigned patience_s);
