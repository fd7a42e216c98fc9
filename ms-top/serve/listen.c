/* SPDX-License-Identifier: MIT
 * A socket of an address. Without remote among the values of --listen it is one that no other machine reaches: of the
 * loopback, or a Unix socket for its owner alone. Addresses are numbers, so that nobody else says
 * where a name leads.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "serve_private.h"
#include "libcommon/base/io.h"

#define BACKLOG 1024

static int bad(const char *text, struct ms_err *err)
{
	return ms_err_set(err,
			  "bad --listen '%s': expected PORT, ADDRESS:PORT (a numeric address, or "
			  "localhost), or unix:PATH",
			  text);
}

/* ---- Unix sockets ---- */

/* Tells whether the address is a socket without a listener, left by an ms-top that was killed. */
static bool is_left_over(const struct sockaddr_un *at)
{
	struct stat st;
	if (lstat(at->sun_path, &st) != 0 || !S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
		return false;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool refused = fd >= 0 && connect(fd, (const struct sockaddr *)at, sizeof *at) != 0 &&
		       errno == ECONNREFUSED;
	ms_close(fd);
	return refused;
}

static int listen_unix(struct listening *l, const char *path, struct ms_err *err)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	struct stat st;
	if (!*path || strlen(path) >= sizeof at.sun_path)
		return ms_err_set(err, "bad --listen 'unix:%s': expected a path of 1 to %zu bytes",
				  path, sizeof at.sun_path - 1);
	strcpy(at.sun_path, path);
	l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0)
		return ms_err_sys(err, "cannot create a socket");
	if (is_left_over(&at))
		unlink(path);
	/* no access for others before the mode is set */
	mode_t before = umask(0177);
	int rc = bind(l->fd, (struct sockaddr *)&at, sizeof at), why = errno;
	umask(before);
	errno = why;
	if (rc != 0 || listen(l->fd, BACKLOG) != 0 || lstat(path, &st) != 0)
		return ms_err_sys(err, "cannot listen on '%s'", path);
	strcpy(l->path, path);
	l->dev = st.st_dev;
	l->ino = st.st_ino;
	snprintf(l->where, sizeof l->where, "unix:%s", path);
	return 0;
}

/* ---- addresses ---- */

static bool is_loopback(const struct sockaddr *a)
{
	if (a->sa_family == AF_INET) {
		const struct sockaddr_in *v4 = (const struct sockaddr_in *)a;
		return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
	}
	const struct in6_addr *v6 = &((const struct sockaddr_in6 *)a)->sin6_addr;
	return IN6_IS_ADDR_LOOPBACK(v6) || (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == 127);
}

/* Stores the address in the form in which it is requested, with the port chosen by the system. */
static void say_where(struct listening *l)
{
	char host[64] = "", port[16] = "";
	struct sockaddr_storage at;
	socklen_t n = sizeof at;
	if (getsockname(l->fd, (struct sockaddr *)&at, &n) == 0)
		getnameinfo((struct sockaddr *)&at, n, host, sizeof host, port, sizeof port,
			    NI_NUMERICHOST | NI_NUMERICSERV);
	bool v6 = strchr(host, ':') != NULL;
	snprintf(l->where, sizeof l->where, "http://%s%s%s:%s/", v6 ? "[" : "", host, v6 ? "]" : "",
		 port);
}

/* Splits PORT, ADDRESS:PORT or [ADDRESS]:PORT. False = none of these. */
static bool take_apart(const char *text, char host[64], char port[8])
{
	const char *colon = strrchr(text, ':'), *last = colon ? colon + 1 : text;
	size_t n = colon ? (size_t)(colon - text) : 0;
	strcpy(host, "127.0.0.1");
	if (!*last || strlen(last) > 5 || strspn(last, "0123456789") != strlen(last) ||
	    atoi(last) > 65535)
		return false;
	strcpy(port, last);
	if (!colon)
		return true;
	if (n > 2 && text[0] == '[' && colon[-1] == ']') {
		text++;
		n -= 2;
	} else if (memchr(text, ':', n)) {
		return false; /* an IPv6 address without brackets: the port is ambiguous */
	}
	if (!n || n >= 64)
		return false;
	memcpy(host, text, n);
	host[n] = 0;
	if (strcmp(host, "localhost") == 0)
		strcpy(host, "127.0.0.1");
	return true;
}

static int bind_to(struct listening *l, const struct addrinfo *a)
{
	const int on = 1;
	l->fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0)
		return -1;
	setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	return bind(l->fd, a->ai_addr, a->ai_addrlen) == 0 ? listen(l->fd, BACKLOG) : -1;
}

static int listen_address(struct listening *l, const struct serve_options *o, struct ms_err *err)
{
	char host[64], port[8];
	struct addrinfo *a, hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
				     .ai_socktype = SOCK_STREAM};
	if (!take_apart(o->listen, host, port) || getaddrinfo(host, port, &hints, &a) != 0)
		return bad(o->listen, err);
	int rc = 0;
	l->local = is_loopback(a->ai_addr);
	if (!l->local && (!o->allow_remote || !o->token_file))
		rc = ms_err_set(
			err,
			"'%s' can be reached from other machines, and a profile reveals much about "
			"the program: that needs --listen=ADDRESS,remote,token-file:FILE",
			o->listen);
	else if (bind_to(l, a) != 0)
		rc = ms_err_sys(err, "cannot listen on '%s'", o->listen);
	freeaddrinfo(a);
	if (rc == 0)
		say_where(l);
	return rc;
}

int listen_open(struct listening *l, const struct serve_options *o, struct ms_err *err)
{
	*l = (struct listening){.fd = -1, .local = true};
	if (strncmp(o->listen, "unix:", 5) == 0)
		return listen_unix(l, o->listen + 5, err);
	return listen_address(l, o, err);
}

void listen_close(struct listening *l)
{
	struct stat st;
	/* removes the socket, unless another file has replaced it */
	if (l->path[0] && lstat(l->path, &st) == 0 && st.st_dev == l->dev && st.st_ino == l->ino)
		unlink(l->path);
	ms_close(l->fd);
	l->fd = -1;
}
