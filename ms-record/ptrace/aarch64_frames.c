/* SPDX-License-Identifier: MIT
 * aarch64: no signal frames are built, as no calls are made in another process (CPU_ATTACHES).
 */
#include "hijack_private.h"

bool cpu_put_frames(struct hijack_call *c, const struct cpu_regs *r, struct hijack_frames *b)
{
	(void)c, (void)r, (void)b;
	return false;
}
