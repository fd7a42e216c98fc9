/* SPDX-License-Identifier: MIT
 * A module for Python that forgets memory: tests/host/python-extension.sh. CPython's functions are
 * those of the program that loads it; none of its headers is needed.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct object PyObject;
typedef PyObject *function(PyObject *self, PyObject *args);
struct method {
	const char *name;
	function *f;
	int flags;
	const char *doc;
};
struct module {
	intptr_t refs;
	void *type, *init;
	intptr_t index;
	void *copy;
	const char *name, *doc;
	intptr_t size;
	struct method *methods;
	void *slots[4];
};
PyObject *PyModule_Create2(struct module *m, int version);
int PyArg_ParseTuple(PyObject *args, const char *format, ...);
PyObject *PyLong_FromLong(long n);

enum { ABI = 1013, VARARGS = 1, KEPT = 3000 };

static char *make_copy(const char *text, size_t n)
{
	char *copy = malloc(n); /* line 35: never freed */
	return memcpy(copy, text, n);
}

/* A block of KEPT bytes, of which nothing knows afterwards. */
static PyObject *parse(PyObject *self, PyObject *args)
{
	static char text[KEPT];
	long n;
	(void)self;
	if (!PyArg_ParseTuple(args, "l", &n))
		return NULL;
	char *copy = make_copy(text, sizeof text);
	copy[0] = (char)n;
	return PyLong_FromLong(copy[0]);
}

static struct method methods[] = {{"parse", parse, VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct module module = {.refs = 1, .name = "leaky", .size = -1, .methods = methods};

__attribute__((visibility("default"))) PyObject *PyInit_leaky(void);
PyObject *PyInit_leaky(void)
{
	return PyModule_Create2(&module, ABI);
}
