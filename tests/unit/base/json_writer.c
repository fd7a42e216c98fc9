/* SPDX-License-Identifier: MIT
 * JSON by a template: brackets, keys, values, and what is unknown.
 */
#include "libcommon/base/json_writer.h"

#include <stdio.h>
#include <string.h>

static char text[256];

static void put(void *to, const char *s, size_t n)
{
	strncat(to, s, n);
}

static int failures;
static const char *volatile none;

static void expect(const char *want)
{
	if (strcmp(text, want) == 0)
		return;
	failures++;
	printf("FAILED: '%s', not '%s'\n", text, want);
}

static struct ms_json begin(void)
{
	text[0] = 0;
	return (struct ms_json){.put = put, .to = text};
}

int main(void)
{
	struct ms_json j = begin();
	ms_json_format(&j, "{name:%s live:{bytes:%lu blocks:%lu} done:%d list:[%lu %s [] {}]}",
		       "a \"b\"", UINT64_C(1), UINT64_MAX, true, UINT64_C(0), none);
	expect("{\"name\":\"a \\\"b\\\"\",\"live\":{\"bytes\":1,\"blocks\":null},\"done\":true,"
	       "\"list\":[0,null,[],{}]}");
	j = begin();
	ms_json_format(&j, "{$schema:%s", "x");
	ms_json_number(&j, "n", 2);
	ms_json_format(&j, "more:[");
	for (uint64_t i = 18446744073709551613U; i; i++)
		ms_json_format(&j, "%lu", i);
	ms_json_format(&j, "] memscope/v1:%d}", false);
	expect("{\"$schema\":\"x\",\"n\":2,\"more\":[18446744073709551613,18446744073709551614,"
	       "null],"
	       "\"memscope/v1\":false}");
	j = begin();
	ms_json_format(&j, "{at:%lx shares:[%.0f %.2f] change:%ld never:%ld}",
		       UINT64_C(0xffffffffff600000), 2.5, -0.126, INT64_C(-3), INT64_MIN);
	expect("{\"at\":\"0xffffffffff600000\",\"shares\":[2,-0.13],\"change\":-3,\"never\":null}");
	return failures > 0;
}
