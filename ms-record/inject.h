/* SPDX-License-Identifier: MIT
 * Starting a command that nothing can be preloaded into: static, for another C library, or with a
 * malloc of its own.
 */
#ifndef INJECT_H
#define INJECT_H

struct control;
struct ms_err;

/* Lets the waiting child (launch_fork) exec, stops it at its beginning, and puts the guest into it
 * as into a process that runs; then it goes on. 0; also when the guest could not be put there, with
 * c->refused set: it runs unrecorded. -1 with `err` and c->launch.status set: it did not come to
 * run, and is reaped. */
int inject_go(struct control *c, struct ms_err *err);

#endif
