// SPDX-License-Identifier: MIT
// Keeps or loses some blocks, writes a line, and frees most before its end.
#include <cstdio>
#include <cstring>
#include <vector>

std::vector<char *> make_names(size_t count, size_t size);

char *kept;

int main(int argc, char **argv)
{
	bool lose = argc == 2 && !strcmp(argv[1], "lose");
	printf("%d\n", argc);
	std::vector<char *> names = make_names(3, 1000);
	for (char *name : names)
		delete[] name;
	kept = make_names(1, 5000)[0];
	if (lose)
		kept = nullptr;
	return 0;
}
