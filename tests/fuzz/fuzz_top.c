/* SPDX-License-Identifier: MIT
 * Fuzzes ms-top on a trace that grows, is cut, is damaged, goes away or becomes another one while
 * it is read, with any keys and sizes of the window.
 *
 * Input: how many steps, the steps { what, with }, then the trace.
 */
#include <ncurses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "folder.h"
#include "fuzz.h"
#include "mend.h"
#include "libcommon/base/err.h"
#include "ms-top/app/app_private.h"

#define STEPS 48u
#define LARGEST ((size_t)64 << 10)

enum { GROW, DAMAGE, CUT, REMOVE, REPLACE, LOOK, KEY, DRAW, WORK, WHATS };

struct file {
	const uint8_t *data; /* all that may come */
	size_t n, at;        /* there so far */
};

static char path[64];

static void put(struct file *f, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	n = n < f->n - f->at ? n : f->n - f->at;
	if (fd < 0 || pwrite(fd, f->data + f->at, n, (off_t)f->at) != (ssize_t)n)
		exit(2);
	f->at += n;
	close(fd);
}

static void damage(const struct file *f, unsigned with)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0 && f->at && pwrite(fd, &with, 1, (off_t)(with * 257 % f->at)) != 1)
		exit(2);
	if (fd >= 0)
		close(fd);
}

static void press(struct app *a, unsigned with)
{
	/* none that writes a file or starts a recorder */
	static const int typed[] = {'j',  'k',     'G', 'g', KEY_PPAGE, KEY_NPAGE, '\n', 27,
				    's',  'S',     'v', '1', '2',       '3',       '4',  '5',
				    '\t', 'b',     '[', ']', '{',       '}',       'f',  'a',
				    '/',  KEY_END, 'F', 12,  '?',       'n',       '6'};
	app_key(a, typed[with % (sizeof typed / sizeof *typed)]);
	a->quit = false;
}

static void step(struct app *a, struct file *f, unsigned what, unsigned with)
{
	struct ms_err err = {0};
	switch (what % WHATS) {
	case GROW:
		put(f, with * 64);
		break;
	case DAMAGE:
		damage(f, with);
		break;
	case CUT:
		if (truncate(path, (off_t)(f->at * with / 256)) == 0)
			f->at = f->at * with / 256;
		break;
	case REMOVE:
		unlink(path);
		f->at = 0;
		break;
	case REPLACE:
		unlink(path);
		f->at = 0;
		put(f, with * 256);
		break;
	case KEY:
		press(a, with);
		break;
	case DRAW:
		app_draw(a, 1 + (int)(with & 15) * 5, 1 + (int)(with >> 4) * 13);
		break;
	case WORK:
		app_subject(a)->work(a, &err);
		break;
	case LOOK:
		/* when reading fails ms-top ends */
		if (app_look(a, &err) != 0 && !err.text[0])
			abort();
		break;
	}
}

static void run(const struct options *o, const uint8_t *steps, unsigned count, struct file *f)
{
	struct app a;
	struct ms_err err = {0};
	put(f, f->n / 2);
	if (app_open(&a, o, &err) != 0) {
		if (!err.text[0])
			abort();
		return;
	}
	for (unsigned i = 0; i < count; i++)
		step(&a, f, steps[2 * i], steps[2 * i + 1]);
	while (app_subject(&a)->work(&a, &err) > 0)
		continue;
	if (app_look(&a, &err) == 0)
		app_draw(&a, 24, 80);
	app_close(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static uint8_t trace[LARGEST];
	char *argv[] = {(char *)"ms-top", path, NULL};
	struct options o;
	struct ms_err err = {0};
	unsigned count = n ? data[0] % (STEPS + 1) : 0;
	if (n < 1 + 2 * (size_t)count || n - 1 - 2 * count > LARGEST)
		return 0;
	fuzz_folder();
	snprintf(path, sizeof path, "%s/t.trace", fuzz_folder_path);
	unlink(path);
	if (options_parse(&o, 2, argv, &err) != 0)
		abort();
	struct file f = {trace, n - 1 - 2 * count, 0};
	memcpy(trace, data + 1 + 2 * count, f.n);
	if (data[0] & 128)
		fuzz_mend(trace, f.n);
	run(&o, data + 1, count, &f);
	return 0;
}
