/* SPDX-License-Identifier: MIT
 * Called from Python by ctypes: notes what CPython says of the stack at this moment, and allocates a
 * block, whose recorded stack has to be the same. CPython's functions are those of the program that
 * loads this; none of its headers is needed.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct object {
	long unused;
} PyObject;
PyObject *PyEval_GetFrame(void);
int PyFrame_GetLineNumber(PyObject *frame);
PyObject *PyObject_GetAttrString(PyObject *object, const char *name);
void PyErr_Clear(void);
extern PyObject _Py_NoneStruct;
const char *PyUnicode_AsUTF8(PyObject *object);
void Py_IncRef(PyObject *object);
void Py_DecRef(PyObject *object);
void *PyEval_SaveThread(void);
void PyEval_RestoreThread(void *state);

#define STACKS (1u << 16)
static struct {
	char *text;
	unsigned long long count;
} stacks[STACKS];
static unsigned different;

static void note(const char *text)
{
	uint32_t h = 0;
	for (const char *c = text; *c; c++)
		h = h * 31 + (uint8_t)*c;
	for (;; h++) {
		if (!stacks[h % STACKS].text && ++different == STACKS)
			abort();
		if (!stacks[h % STACKS].text)
			stacks[h % STACKS].text = strdup(text);
		if (!strcmp(stacks[h % STACKS].text, text))
			break;
	}
	stacks[h % STACKS].count++;
}

__attribute__((noipa)) void probe_malloc(void)
{
	void *volatile block = malloc(24);
	free(block);
}

/* Holding the interpreter's lock; `without`: it is given up meanwhile. */
void probe(int without)
{
	char text[1 << 17];
	size_t n = 0;
	PyObject *f = PyEval_GetFrame(), *back;
	text[0] = '\0';
	if (f)
		Py_IncRef(f);
	for (; f && f != &_Py_NoneStruct && n < sizeof text - 4096; f = back) {
		PyObject *code = PyObject_GetAttrString(f, "f_code");
		PyObject *name = PyObject_GetAttrString(code, "co_qualname");
		if (!name) { /* before 3.11 */
			PyErr_Clear();
			name = PyObject_GetAttrString(code, "co_name");
		}
		PyObject *file = PyObject_GetAttrString(code, "co_filename");
		n += (size_t)snprintf(text + n, sizeof text - n, "%s|%s|%d;",
				      PyUnicode_AsUTF8(name), PyUnicode_AsUTF8(file),
				      PyFrame_GetLineNumber(f));
		back = PyObject_GetAttrString(f, "f_back");
		Py_DecRef(name);
		Py_DecRef(file);
		Py_DecRef(code);
		Py_DecRef(f);
	}
	note(text);
	void *state = without ? PyEval_SaveThread() : NULL;
	probe_malloc();
	if (state)
		PyEval_RestoreThread(state);
}

void probe_write(const char *path)
{
	FILE *f = fopen(path, "w");
	for (uint32_t i = 0; f && i < STACKS; i++)
		if (stacks[i].text)
			fprintf(f, "%llu %s\n", stacks[i].count, stacks[i].text);
	if (f)
		fclose(f);
}
