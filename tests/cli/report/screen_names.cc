// SPDX-License-Identifier: MIT
// The other source file of screen.cc.
#include <cstddef>
#include <vector>

std::vector<char *> make_names(size_t count, size_t size)
{
	std::vector<char *> v;
	for (size_t i = 0; i < count; i++)
		v.push_back(new char[size]());
	return v;
}
