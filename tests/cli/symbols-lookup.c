/* SPDX-License-Identifier: MIT
 * Prints what the symbolizer says about addresses on standard input, in the words of addr2line
 *-afiC.
 *
 *	symbols-lookup [-d DEBUG-DIR] [-r SYSROOT] [-b BUILD-ID-HEX] [-s|-S] FILE
 *
 * -s prints the module's state and the file that its symbols came from, and reads no addresses; -S
 * prints them after all addresses, and nothing of these.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libcommon/symbols/symbols.h"

static size_t parse_hex(const char *s, unsigned char *out, size_t max)
{
	size_t n = 0;
	unsigned byte;
	for (; n < max && sscanf(s, "%2x", &byte) == 1; s += 2)
		out[n++] = (unsigned char)byte;
	return n;
}

static void lookup(struct ms_symbols *s, int module, uint64_t address)
{
	struct ms_location l[64];
	size_t n = ms_symbols_find(s, module, address, l, 64);
	printf("0x%016" PRIx64 "\n", address);
	for (size_t i = 0; i < n; i++) {
		printf("%s\n%s:", l[i].function ? l[i].function : "?\?",
		       l[i].file ? l[i].file : "?\?");
		if (l[i].line)
			printf("%" PRIu32 "\n", l[i].line);
		else
			puts(l[i].file ? "?" : "0");
	}
}

int main(int argc, char **argv)
{
	const char *dirs[2] = {0};
	struct ms_symbols_options opt = {0};
	unsigned char id[64];
	size_t id_size = 0;
	bool state_only = false, state_last = false;
	for (int c; (c = getopt(argc, argv, "d:r:b:sS")) != -1;) {
		if (c == 'd') {
			dirs[0] = optarg;
			opt.debug_dirs = dirs;
		} else if (c == 'r') {
			opt.sysroot = optarg;
		} else if (c == 'b') {
			id_size = parse_hex(optarg, id, sizeof id);
		} else {
			state_only = c == 's';
			state_last = c == 'S';
		}
	}
	struct ms_symbols *s = ms_symbols_new(&opt);
	const struct ms_symbols_module is = {
		.path = argv[optind], .build_id = id, .build_id_size = id_size};
	int module = ms_symbols_module_of(s, &is);
	char line[64];
	while (!state_only && fgets(line, sizeof line, stdin)) {
		if (state_last)
			ms_symbols_find(s, module, strtoull(line, NULL, 16),
					(struct ms_location[64]){0}, 64);
		else
			lookup(s, module, strtoull(line, NULL, 16));
	}
	if (state_only || state_last) {
		const char *file;
		int state = ms_symbols_module_state(s, module, &file);
		printf("%d %s\n", state, file);
	}
	ms_symbols_free(s);
	return 0;
}
