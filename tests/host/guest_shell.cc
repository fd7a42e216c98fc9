// SPDX-License-Identifier: MIT
// A provider of operators new and delete that is not the C++ runtime, and calls malloc all the same.
#include <cstdlib>
#include <new>

void *operator new(std::size_t n)
{
	if (void *p = malloc(n))
		return p;
	throw std::bad_alloc();
}
void *operator new[](std::size_t n)
{
	return operator new(n);
}
void operator delete(void *p) noexcept
{
	free(p);
}
void operator delete(void *p, std::size_t) noexcept
{
	free(p);
}
void operator delete[](void *p) noexcept
{
	operator delete(p);
}
