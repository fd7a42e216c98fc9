/* SPDX-License-Identifier: MIT
 * Controls access: with a token, by the token; else only from this machine, but not by a foreign
 * web page in a browser here.
 */
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "serve_private.h"
#include "libcommon/base/io.h"

#define TOKEN_LEAST 16u

int token_read(char token[TOKEN_MOST + 1], const char *path, struct ms_err *err)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return ms_err_sys(err, "cannot open '%s'", path);
	ssize_t n = fstat(fd, &st) == 0 ? read(fd, token, TOKEN_MOST) : -1;
	int rc = 0;
	if (n < 0)
		rc = ms_err_sys(err, "cannot read '%s'", path);
	else if (S_ISREG(st.st_mode) && (st.st_mode & 077))
		rc = ms_err_set(err, "bad --listen=token-file '%s': others may read it: chmod 600",
				path);
	close(fd);
	token[n > 0 ? n : 0] = 0;
	token[strcspn(token, "\r\n")] = 0;
	size_t length = strlen(token);
	if (rc == 0 && (length < TOKEN_LEAST || length == TOKEN_MOST || strspn(token, " \t")))
		rc = ms_err_set(
			err,
			"bad --listen=token-file '%s': its first line is the token, of %u to %u "
			"characters",
			path, TOKEN_LEAST, TOKEN_MOST - 1);
	return rc;
}

/* Compares in constant time. */
static bool is_token(const char *token, const char *given, size_t n)
{
	unsigned char differs = strlen(token) != n;
	for (size_t i = 0, k = 0; i < n; i++, k += token[k] != 0)
		differs |= (unsigned char)(given[i] ^ token[k]);
	return !differs;
}

/* Decodes base64 into `out`, at most `room` bytes. Returns how many. */
static size_t from_base64(const char *s, char *out, size_t room)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned v = 0, bits = 0;
	size_t n = 0;
	for (const char *d; *s && (d = strchr(digits, *s)) && n < room; s++) {
		v = v << 6 | (unsigned)(d - digits);
		bits += 6;
		if (bits >= 8)
			out[n++] = (char)(v >> (bits -= 8));
	}
	return n;
}

/* Checks "Bearer TOKEN", or "Basic" with the token as the password, for clients that only take a
 * URL. */
bool token_matches(const char *token, const char *given)
{
	char pair[2 * TOKEN_MOST];
	if (!given)
		return false;
	if (strncasecmp(given, "Bearer ", 7) == 0)
		return is_token(token, given + 7, strlen(given + 7));
	if (strncasecmp(given, "Basic ", 6) != 0)
		return false;
	size_t n = from_base64(given + 6, pair, sizeof pair);
	const char *colon = memchr(pair, ':', n);
	return colon && is_token(token, colon + 1, n - (size_t)(colon + 1 - pair));
}

bool host_is_local(const char *host)
{
	if (!host)
		return true;
	const char *colon = strrchr(host, ':');
	size_t n = colon && !strchr(colon, ']') ? (size_t)(colon - host) : strlen(host);
	unsigned a, b, c;
	char rest;
	if ((n == 9 && strncasecmp(host, "localhost", n) == 0) ||
	    (n == 5 && strncmp(host, "[::1]", n) == 0))
		return true;
	/* must be a number, not a name like 127.evil.example */
	return n < 16 && strspn(host, "0123456789.") == n &&
	       sscanf(host, "127.%u.%u.%u%c", &a, &b, &c, &rest) >= 3;
}
