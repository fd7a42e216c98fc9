/* SPDX-License-Identifier: MIT
 * Sends messages to ms-record over its socket: that a program begins, and that a program is about
 * to begin into which nothing can be preloaded. Both backends use this. Makes system calls, so it
 * is used only if there is no seccomp filter.
 */
#include <elf.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>

#include "tell.h"

#define WELCOME_S 5 /* seconds for ms-record to answer, even on a busy machine */
#define MAY_RUN 1   /* X_OK */
#define SCRIPTS 4   /* maximum number of scripts that run each other as interpreters */
#define HEADERS 64u /* maximum number of program headers read */

bool mg_starts(const char *s, const char *prefix)
{
	while (*prefix && *s == *prefix)
		s++, prefix++;
	return !*prefix;
}

const char *mg_base_name(const char *path)
{
	const char *base = path;
	for (; *path; path++)
		if (*path == '/')
			base = path + 1;
	return base;
}

size_t mg_append(char *to, size_t size, size_t at, const char *from)
{
	while (*from && at + 1 < size)
		to[at++] = *from++;
	if (at < size)
		to[at] = 0;
	return at;
}

static long call(long nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	return mg_syscall(nr, a, b, c, d, 0, 0);
}

static bool failed(long r)
{
	return r < 0 && r > -4096;
}

/* ---- the socket ---- */

int mg_tell_connect(const char *name)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	size_t n = mg_append(a.sun_path + 1, sizeof(a.sun_path) - 1, 0, name);
	long fd = call(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, 0);
	if (failed(fd))
		return -1;
	struct timeval patience = {.tv_sec = WELCOME_S};
	const uint64_t both[] = {SO_RCVTIMEO, SO_SNDTIMEO};
	for (int i = 0; i < 2; i++)
		mg_syscall(SYS_setsockopt, (uint64_t)fd, SOL_SOCKET, both[i], (uint64_t)&patience,
			   sizeof(patience), 0);
	size_t length = offsetof(struct sockaddr_un, sun_path) + 1 + n;
	if (failed(mg_wait_call(SYS_connect, (uint64_t)fd, (uint64_t)&a, length, 0, 0, 0))) {
		call(SYS_close, (uint64_t)fd, 0, 0, 0);
		return -1;
	}
	return (int)fd;
}

bool mg_tell_send(int fd, const char *exe, uint32_t exec)
{
	struct mg_handshake h = {.magic = MG_MAGIC, .version = MG_LAYOUT_VERSION, .exec = exec};
	h.pid = (uint32_t)call(SYS_getpid, 0, 0, 0, 0);
	h.tid = exec ? (uint32_t)call(SYS_gettid, 0, 0, 0, 0) : 0;
	mg_append(h.exe, sizeof(h.exe), 0, exe);
	return mg_wait_call(SYS_sendto, (uint64_t)fd, (uint64_t)&h, sizeof(h), MSG_NOSIGNAL, 0,
			    0) == sizeof(h);
}

int mg_tell_receive(int fd, struct mg_handshake_reply *w)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.bytes = {0}}; /* zeroed, because a short answer does not fill the buffer */
	struct iovec v = {.iov_base = w, .iov_len = sizeof(*w)};
	struct msghdr m = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = sizeof(control)};
	long n = mg_wait_call(SYS_recvmsg, (uint64_t)fd, (uint64_t)&m, MSG_CMSG_CLOEXEC, 0, 0, 0);
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	int got = -1;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(int)))
		got = *(const int *)(const void *)CMSG_DATA(c);
	bool good = n == sizeof(*w) && w->magic == MG_MAGIC && w->version == MG_LAYOUT_VERSION &&
		    w->accept == 1;
	if (good || got < 0)
		return got;
	call(SYS_close, (uint64_t)got, 0, 0, 0);
	return -1;
}

void mg_tell_exec(const char *socket, const char *path, uint32_t how)
{
	struct mg_handshake_reply w = {0};
	int fd = socket[0] ? mg_tell_connect(socket) : -1;
	if (fd < 0)
		return;
	if (mg_tell_send(fd, path, how))
		mg_tell_receive(fd, &w);
	call(SYS_close, (uint64_t)fd, 0, 0, 0);
}

/* ---- the file ---- */

long mg_open_program(const char *path)
{
	if (mg_syscall(SYS_faccessat, (uint64_t)AT_FDCWD, (uint64_t)path, MAY_RUN, 0, 0, 0))
		return -1;
	return mg_syscall(SYS_openat, (uint64_t)AT_FDCWD, (uint64_t)path,
			  O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0, 0, 0);
}

/* Reads up to `bytes` bytes at `offset`, and zeroes the rest. Returns the number read. */
static size_t read_at(long fd, void *to, size_t bytes, uint64_t offset)
{
	for (size_t i = 0; i < bytes; i++)
		((char *)to)[i] = 0;
	long n = mg_syscall(SYS_pread64, (uint64_t)fd, (uint64_t)to, bytes, offset, 0, 0);
	return n > 0 ? (size_t)n : 0;
}

/* Tells whether the program requests glibc's dynamic linker, which preloads the guest. */
static bool loads_us(long fd, const Elf64_Ehdr *h)
{
	Elf64_Phdr p;
	char linker[128];
	if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_phentsize != sizeof(p))
		return false;
	for (uint64_t i = 0; i < h->e_phnum && i < HEADERS; i++) {
		if (read_at(fd, &p, sizeof(p), h->e_phoff + i * sizeof(p)) != sizeof(p) ||
		    p.p_type != PT_INTERP)
			continue;
		read_at(fd, linker, sizeof(linker) - 1, p.p_offset);
		linker[sizeof(linker) - 1] = 0;
		return mg_starts(mg_base_name(linker), "ld-linux");
	}
	return false;
}

/* Returns the interpreter of a "#!" line, cut in place ("#! /bin/sh -e" -> "/bin/sh"); NULL =
 * none. */
static const char *interpreter(char *line)
{
	char *path = line + 2;
	while (*path == ' ' || *path == '\t')
		path++;
	for (char *end = path; *end; end++)
		if (*end == ' ' || *end == '\t' || *end == '\n')
			*end = 0;
	return *path ? path : NULL;
}

bool mg_stays_out(const char *path)
{
	union {
		Elf64_Ehdr elf;
		char text[256];
	} head;
	bool out = false;
	for (int i = 0; path && i < SCRIPTS; i++) {
		long fd = mg_open_program(path);
		if (fd < 0)
			return false;
		read_at(fd, &head, sizeof(head) - 1, 0);
		head.text[sizeof(head) - 1] = 0;
		if (mg_starts(head.text, ELFMAG))
			out = !loads_us(fd, &head.elf);
		path = mg_starts(head.text, "#!") ? interpreter(head.text) : NULL;
		mg_syscall(SYS_close, (uint64_t)fd, 0, 0, 0, 0, 0);
	}
	return out;
}

static size_t append_number(char room[MG_NAME_BYTES], size_t at, uint64_t n)
{
	char digits[24];
	size_t i = sizeof(digits);
	digits[--i] = 0;
	do
		digits[--i] = (char)('0' + n % 10);
	while (n /= 10);
	return mg_append(room, MG_NAME_BYTES, at, digits + i);
}

const char *mg_file_name(int32_t folder, const char *path, char room[MG_NAME_BYTES])
{
	if (folder == AT_FDCWD || path[0] == '/')
		return path;
	size_t n = mg_append(room, MG_NAME_BYTES, 0, "/proc/");
	n = append_number(room, n, (uint64_t)mg_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0));
	n = mg_append(room, MG_NAME_BYTES, n, "/fd/");
	n = append_number(room, n, (uint32_t)folder);
	if (path[0]) {
		n = mg_append(room, MG_NAME_BYTES, n, "/");
		mg_append(room, MG_NAME_BYTES, n, path);
	}
	return room;
}
