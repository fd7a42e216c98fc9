/* SPDX-License-Identifier: MIT
 * --tell, the client, and what both sides agree on.
 */
#include "tell.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "format/record.h"
#include "format/trace.h"
#include "libcommon/base/err.h"
#include "libcommon/trace/tracefile.h"
#include "ms-record/base/descriptor.h"
#include "ms-record/base/packet.h"

#define NAME_MAX_BYTES 255u
#define TRIES 100
#define TRY_US 50000u
#define HEAD_BYTES ((size_t)4 << 20) /* more than the size of the first block */

int tell_parse(const char *text, enum tell_verb *verb, const char **name, struct ms_err *err)
{
	static const char *const verbs[] = {
		[TELL_FLUSH] = "flush",         [TELL_PAUSE] = "pause",
		[TELL_RESUME] = "resume",       [TELL_STOP] = "stop",
		[TELL_STATUS] = "status",       [TELL_LEAK_CHECK] = "leak-check",
		[TELL_RETENTION] = "retention", [TELL_RESIDENT] = "resident"};
	*name = "";
	bool mark = !strncmp(text, "mark:", 5);
	if (mark || !strncmp(text, "resident:", 9)) {
		*verb = mark ? TELL_MARK : TELL_RESIDENT;
		*name = strchr(text, ':') + 1;
		if (!**name)
			return ms_err_set(err, "bad mark '%s': use %sNAME", text, text);
		if (strlen(*name) > NAME_MAX_BYTES)
			return ms_err_set(err, "bad mark: its name is longer than %u bytes",
					  NAME_MAX_BYTES);
		return 0;
	}
	for (*verb = TELL_FLUSH; *verb <= TELL_RESIDENT; ++*verb)
		if (!strcmp(text, verbs[*verb]))
			return 0;
	return ms_err_set(err, "unknown verb '%.64s': " TELL_VERBS, text);
}

struct tell_name tell_name(const struct stat *st, const uint8_t session[TELL_SESSION])
{
	struct tell_name n;
	int at = snprintf(n.text, sizeof n.text, "memscope-tell-%llx-%llx",
			  (unsigned long long)st->st_dev, (unsigned long long)st->st_ino);
	if (S_ISREG(st->st_mode))
		at += snprintf(n.text + at, sizeof n.text - (size_t)at, "-");
	for (size_t i = 0; i < TELL_SESSION && S_ISREG(st->st_mode); i++)
		at += snprintf(n.text + at, sizeof n.text - (size_t)at, "%02x", session[i]);
	return n;
}

static bool take_session(struct ms_trace *t, uint8_t session[TELL_SESSION])
{
	struct ms_block b;
	struct ms_record_reader r;
	struct ms_record rec;
	struct ms_field f;
	bool found = false;
	if (ms_trace_next(t, 0, 1, &b, NULL) != MS_NEXT_BLOCK || b.type != MS_BLOCK_INFO)
		return false;
	const struct ms_column *c = ms_block_column(&b, MS_RECORDS_COLUMN);
	ms_record_reader_init(&r, c ? c->data : NULL, c ? c->size : 0);
	while (!found && ms_record_next(&r, &rec) == MS_FMT_OK)
		while (ms_record_field(&rec, &f) == MS_FMT_OK)
			if (f.id == MS_INFO_SESSION && f.is_bytes && f.size == TELL_SESSION) {
				memcpy(session, f.data, TELL_SESSION);
				found = true;
			}
	return found;
}

/* Reads the run id from the first block of a trace. Returns 1 if there is one; 0 if there is none,
 * or none yet; or -1 with `err` set. */
static int read_session(const char *file, uint8_t session[TELL_SESSION], struct ms_err *err)
{
	int own = descriptor_named(file), fd;
	fd = own >= 0 ? fcntl(own, F_DUPFD_CLOEXEC, 3) : open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return ms_err_sys(err, "cannot access '%s'", file);
	/* The descriptor's file offset may be shared with other processes, so use pread. */
	uint8_t *head = own >= 0 ? malloc(HEAD_BYTES) : NULL;
	ssize_t n = head ? pread(fd, head, HEAD_BYTES, 0) : 0;
	struct ms_trace *t = ms_trace_open_fd(fd, file, head, n > 0 ? (size_t)n : 0, NULL);
	bool found = t && take_session(t, session);
	if (t)
		ms_trace_close(t);
	else
		close(fd);
	free(head);
	return found;
}

/* Sets `err` to the reason why no recorder listens. *held: a recorder has the file locked
 * nevertheless. */
static int explain(const char *file, const struct stat *st, bool *held, struct ms_err *err)
{
	unsigned char head[MS_FILE_HEADER_SIZE];
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 1};
	int fd = S_ISREG(st->st_mode) ? open(file, O_RDONLY | O_CLOEXEC) : -1;
	ssize_t n = fd < 0 ? 0 : read(fd, head, sizeof head);
	*held = fd >= 0 && !fcntl(fd, F_OFD_GETLK, &lock) && lock.l_type != F_UNLCK;
	descriptor_close(fd);
	if (*held)
		return ms_err_set(err,
				  "cannot reach the recorder of '%s': it may run in another "
				  "container; use --tell there",
				  file);
	if (n > 0 && ms_trace_is(head, (size_t)n))
		return ms_err_set(err, "no recorder is writing '%s': its recording has ended",
				  file);
	if (fd >= 0 && n > 0)
		return ms_err_set(err, "no recorder is writing '%s': it is not a trace", file);
	return ms_err_set(err, "no recorder is writing '%s'", file);
}

static int connect_to(const char *file, const struct stat *st, bool *held, struct ms_err *err)
{
	uint8_t session[TELL_SESSION] = {0};
	int known = S_ISREG(st->st_mode) ? read_session(file, session, err) : 1;
	if (known <= 0)
		return known < 0 ? -1 : explain(file, st, held, err);
	int fd = packet_connect(tell_name(st, session).text, TELL_WAIT_NS / 1000000000);
	if (fd >= 0)
		return fd;
	return errno == ECONNREFUSED ? explain(file, st, held, err)
				     : ms_err_sys(err, "cannot reach the recorder of '%s'", file);
}

/* Checks that the listening process runs as root or as the file's owner. If not, it is not the
 * recorder of the file. */
static int trust(int fd, const char *file, const struct stat *st, struct ms_err *err)
{
	struct ucred who;
	socklen_t n = sizeof who;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n))
		return ms_err_sys(
			err, "nothing was sent: cannot find out which process records '%s'", file);
	if (who.uid != 0 && who.uid != st->st_uid)
		return ms_err_set(
			err,
			"cannot trust the recorder of '%s': it runs as user %u, who is neither "
			"root nor the owner of the file",
			file, (unsigned)who.uid);
	return 0;
}

/* Sends a verb and prints the answer. *again is set if a recorder accepted the connection but sent
 * no answer. */
static int talk(int fd, const char *file, const char *verb, bool *again, struct ms_err *err)
{
	char text[TELL_PACKET + 1];
	/* A recorder that refuses our user answers before it reads the request, so that send may
	 * fail. */
	bool scans = !strcmp(verb, "leak-check") || !strcmp(verb, "retention") ||
		     !strncmp(verb, "resident", 8);
	struct timeval patience = {.tv_sec = scans ? TELL_SCAN_S : TELL_WAIT_NS / 1000000000};
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	bool sent = TEMP_FAILURE_RETRY(send(fd, verb, strlen(verb), MSG_NOSIGNAL)) >= 0;
	if (!sent && errno != EPIPE && errno != ECONNRESET)
		return ms_err_sys(err, "cannot send to the recorder of '%s'", file);
	ssize_t n = TEMP_FAILURE_RETRY(recv(fd, text, TELL_PACKET, 0));
	if (n < 0 && errno == ECONNRESET) /* the connection was closed, but the answer can still be
					     read */
		n = TEMP_FAILURE_RETRY(recv(fd, text, TELL_PACKET, 0));
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return ms_err_set(err,
				  "the recorder of '%s' did not answer within %ld s; it may still "
				  "do what was asked",
				  file, (long)patience.tv_sec);
	*again = n <= 0;
	if (n <= 0)
		return ms_err_set(err, "the recorder of '%s' ended before it answered", file);
	text[n] = '\0';
	if (text[0] != '0' && text[0] != TELL_NOT_DONE)
		return ms_err_set(err, "the recorder of '%s': %s", file, text + 1);
	fputs(text + 1, stdout);
	return fflush(stdout) ? ms_err_sys(err, "cannot write to standard output")
			      : text[0] == TELL_NOT_DONE;
}

static int try_once(const char *file, const char *verb, bool *again, struct ms_err *err)
{
	struct stat st;
	int own = descriptor_named(file);
	*again = false;
	if (own >= 0 ? fstat(own, &st) : stat(file, &st))
		return ms_err_sys(err, "cannot access '%s'", file);
	int fd = connect_to(file, &st, again, err);
	if (fd < 0)
		return -1;
	int rc = trust(fd, file, &st, err) ? -1 : talk(fd, file, verb, again, err);
	close(fd);
	return rc;
}

int tell_ask(const char *file, const char *verb, struct ms_err *err)
{
	bool again = true;
	int rc = -1;
	/* After a trace was rewritten, the socket for the new file appears a moment later, so try
	 * again. */
	for (int i = 0; i < TRIES && again; i++) {
		if (i)
			usleep(TRY_US);
		*err = (struct ms_err){0};
		rc = try_once(file, verb, &again, err);
	}
	return rc;
}
