/* SPDX-License-Identifier: MIT
 * Does a program have an operator new of its own that allocates by itself?
 */
#pragma once

#include <stdbool.h>

/* Of the executable of the process whose folder of /proc that is: does it define one, and no
 * malloc, and does nothing that it calls lead to malloc? False also when its code cannot be read.
 * (Reads its symbols: slow where there is one.) */
bool hook_operators_own(int proc);
