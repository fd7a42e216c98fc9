/* SPDX-License-Identifier: MIT
 * Fuzzes the first message of a guest: only one of the right size, magic and version is taken.
 */
#include <stdlib.h>

#include "fuzz.h"

/* read_handshake is its own */
#include "ms-record/control/handshake.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	int pair[2];
	struct mg_handshake h, sent = {0};
	if (n > 4096 || !n || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return 0;
	memcpy(&sent, data, n < sizeof sent ? n : sizeof sent);
	bool right =
		n >= sizeof sent && sent.magic == MG_MAGIC && sent.version == MG_LAYOUT_VERSION;
	if (send(pair[1], data, n, 0) != (ssize_t)n)
		exit(2);
	if (read_handshake(pair[0], &h) != right)
		abort();
	close(pair[0]);
	close(pair[1]);
	return 0;
}
