/* SPDX-License-Identifier: MIT
 * The same module with other names and another frame size.
 */
#define OUTER outer_b
#define INNER inner_b
#define LOADED loaded_b
#include "module_a.c"
