/* SPDX-License-Identifier: MIT
 * Allocates by functions that pass a size on, and by others that are named or called like them but
 * make objects.
 */
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

static void *keep[100];
static int n;

extern "C" {

/* Passes a size on, for two callers besides init_alloc_root. */
void *my_malloc(size_t size)
{
	void *p = malloc(size);
	if (!p)
		abort();
	return p;
}

/* Passes a size on to my_malloc, for three callers. */
void *init_alloc_root(size_t size)
{
	void *p = my_malloc(size);
	memset(p, 1, size);
	return p;
}

/* Makes objects of one size. */
void *thing_alloc(void)
{
	return memset(malloc(48), 0, 48);
}

/* Makes nodes, all of about one size. */
void *node_alloc(size_t more)
{
	return memset(malloc(40 + more), 0, 40);
}

/* Makes a header of one size and its buffer. */
void *buffer_alloc(size_t size)
{
	void **p = (void **)malloc(64);
	*p = malloc(size);
	return p;
}

/* Makes keys of any size, for many callers, but not at most sites. */
char *make_key(const char *text)
{
	char *p = (char *)malloc(strlen(text) + 1);
	return strcpy(p, text);
}

void load_config(void)
{
	keep[n++] = my_malloc(10);
	keep[n++] = make_key("a");
}
void load_table(void)
{
	keep[n++] = my_malloc(500);
	keep[n++] = make_key("ab");
}
void open_a(void)
{
	keep[n++] = init_alloc_root(64);
	keep[n++] = thing_alloc();
	keep[n++] = node_alloc(1);
	keep[n++] = buffer_alloc(10);
	keep[n++] = make_key("abc");
}
void open_b(void)
{
	keep[n++] = init_alloc_root(1024);
	keep[n++] = thing_alloc();
	keep[n++] = node_alloc(2);
	keep[n++] = buffer_alloc(1000);
	keep[n++] = make_key("abcd");
}
void open_c(void)
{
	keep[n++] = init_alloc_root(4096);
	keep[n++] = thing_alloc();
	keep[n++] = node_alloc(3);
	keep[n++] = buffer_alloc(10000);
	keep[n++] = make_key("abcde");
}

/* Passes on sizes that are about the same, for very many callers; and, rarely, one size from a second
 * line. */
void *page_alloc(size_t more)
{
	if (more > 100)
		return memset(malloc(300), 0, 100);
	return memset(malloc(100 + more), 0, 100);
}

#define USER(number)                                                                               \
	void user_##number(void)                                                                   \
	{                                                                                          \
		keep[n++] = page_alloc(number);                                                    \
	}
USER(1)
USER(2)
USER(3)
USER(4)
USER(5)
USER(6)
USER(7)
USER(8)
USER(101)
USER(102)

void label(std::string *to, size_t length)
{
	to->append(length, 'x');
}
}

struct Cell {
	char text[100];
	static void *operator new(size_t size);
};

void *Cell::operator new(size_t size)
{
	return malloc(size);
}

static std::string labels[5];
static void *volatile cell;

extern "C" {
void one(void)
{
	label(&labels[0], 100);
}
void two(void)
{
	label(&labels[1], 200);
}
void three(void)
{
	label(&labels[2], 300);
}
void four(void)
{
	label(&labels[3], 400);
}
void five(void)
{
	label(&labels[4], 5000);
	cell = new Cell;
}
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "c") == 0) {
		load_config();
		load_table();
		open_a();
		open_b();
		open_c();
	} else if (argc == 2 && strcmp(argv[1], "many") == 0) {
		user_1(), user_2(), user_3(), user_4(), user_5();
		user_6(), user_7(), user_8(), user_101(), user_102();
	} else {
		one();
		two();
		three();
		four();
		five();
	}
	return 0;
}
