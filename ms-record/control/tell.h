/* SPDX-License-Identifier: MIT
 * --tell: what a second ms-record says to the one that writes a file.
 *
 * The recorder listens on an abstract socket (SOCK_SEQPACKET). Its name contains the file's device
 * and inode, so that it is the same for every path of the file and differs for a copy, and the
 * run's random number (SESSION in the first block of a trace), so that no process can take the name
 * in advance. A pipe's socket has a name without that number, as it cannot be read there. The
 * kernel reports the user at the other end: the recorder serves its own user and root, the client
 * trusts the file's owner and root. The request is one packet (the verb as typed), and so is the
 * answer: '0' and a text to print, or '1' and the reason of failure, or TELL_NOT_DONE and a text to
 * print if only a part was done.
 */
#pragma once

#include <stdint.h>
#include <sys/stat.h>

struct control;
struct ms_err;

#define TELL_PACKET 4096u
#define TELL_NOT_DONE '2'
#define TELL_VERBS                                                                                 \
	"mark:NAME, flush, leak-check, retention, resident[:NAME], pause, resume, stop or status"
#define TELL_WAIT_NS UINT64_C(5000000000)
#define TELL_SCAN_S 3600 /* longest wait for a scan in s, as --leak-check allows */

enum tell_verb {
	TELL_MARK,
	TELL_FLUSH,
	TELL_PAUSE,
	TELL_RESUME,
	TELL_STOP,
	TELL_STATUS,
	TELL_LEAK_CHECK, /* this and the next ones are scans */
	TELL_RETENTION,
	TELL_RESIDENT
};

/* Parses a command for --tell; the `name` of a mark points into `text`. Returns 0, or -1 with `err`
 * set. */
int tell_parse(const char *text, enum tell_verb *verb, const char **name, struct ms_err *err);
/* Returns the name of the socket for the file with status `st`. `session`: the run id, used for
 * regular files. */
#define TELL_SESSION 16u
struct tell_name {
	char text[96];
};
struct tell_name tell_name(const struct stat *st, const uint8_t session[TELL_SESSION]);

/* Sends a verb that tell_parse accepted to the recorder of `file`, and prints the answer. Returns
 * 0; 1 if the answer says that not everything was done; or -1 with `err` set. */
int tell_ask(const char *file, const char *verb, struct ms_err *err);

/* ---- the recorder's side ---- */

struct tell_job {
	struct tell_job *next;
	int fd;
	enum tell_verb verb;
	enum { TELL_NEW, TELL_MERGING, TELL_WRITING, TELL_CLOSING, TELL_SCANNING } step;
	uint64_t request; /* number of its request to the draining thread */
	char name[256];
	char how, *said; /* answer of a scan that is over; said: NULL = none */
};

struct tell {
	int epoll; /* descriptor that the control thread polls; -1 = none */
	int listener, event;
	struct tell_job *first; /* list of jobs: the first one is in progress, together with scans;
				   the others wait */
	unsigned open;          /* number of connections that have sent no request yet */
};

/* Creates the descriptors, but no socket yet. Returns 0, or -1 with errno set. */
int tell_start(struct tell *t);
/* Listens for --tell on the socket for the file behind `fd` (if -1: at `path`) of run `session`,
 * and closes the previous socket. If another recorder listens for the same pipe, no socket is made,
 * and --tell does not work. */
void tell_listen(struct tell *t, int fd, const char *path, const uint8_t session[TELL_SESSION]);
/* Receives requests, and continues jobs in progress. Never blocks. */
void tell_turn(struct control *c);
/* Answers all requests to stop. Call once the traces are finished. */
void tell_over(struct control *c);
void tell_free(struct tell *t);
