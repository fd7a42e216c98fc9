/* SPDX-License-Identifier: MIT
 * Writes run.trace and run.trace.d/app.78.1.trace into the current folder: what the examples of the
 * manual pages are about.
 */
#include "tests/unit/example_trace.h"

#include <sys/stat.h>

int main(void)
{
	make_example("run.trace", false);
	mkdir("run.trace.d", 0700);
	make_example("run.trace.d/app.78.1.trace", false);
	return 0;
}
