/* SPDX-License-Identifier: MIT
 * Reads and evaluates comparisons.
 */
#include "operator.h"

#include <stddef.h>
#include <string.h>

bool ms_op_read(const char **s, enum ms_op *op)
{
	static const struct {
		const char *s;
		enum ms_op op;
	} ops[] = {{">=", MS_OP_GE}, {"<=", MS_OP_LE}, {"==", MS_OP_EQ}, {"!=", MS_OP_NE},
		   {">", MS_OP_GT},  {"<", MS_OP_LT},  {"=", MS_OP_EQ}};
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
		if (strncmp(*s, ops[i].s, strlen(ops[i].s)) == 0) {
			*op = ops[i].op;
			*s += strlen(ops[i].s);
			return true;
		}
	return false;
}

bool ms_op_holds(enum ms_op op, long double v, long double limit)
{
	const bool holds[] = {
		[MS_OP_GT] = v > limit,  [MS_OP_GE] = v >= limit, [MS_OP_LT] = v < limit,
		[MS_OP_LE] = v <= limit, [MS_OP_EQ] = v == limit, [MS_OP_NE] = v != limit};
	return holds[op];
}
