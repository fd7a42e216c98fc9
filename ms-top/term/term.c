/* SPDX-License-Identifier: MIT
 * The terminal, through ncurses. input.c decodes keys, since ncurses returns unknown sequences as
 * an Esc and some characters.
 *
 * Signals to exit set a flag and write into a pipe that term_key waits on, so that keys and signals
 * are handled at once. A crash restores the terminal first, with bytes prepared in advance, since
 * ncurses may not be called in a signal handler.
 */
#include "term.h"

#include <errno.h>
#include <fcntl.h>
#include <ncurses.h>
#include <term.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "input.h"
#include "ms-top/cells/grid.h"
#include "libcommon/base/clock.h"
#include "libcommon/base/err.h"
#include "libcommon/base/io.h"

static SCREEN *screen;
static int wake[2] = {-1, -1};
static volatile sig_atomic_t wanted, resized;
static struct termios before;
static bool has_before, colours;

static void note(int sig)
{
	int why = errno;
	if (sig == SIGWINCH)
		resized = 1;
	else
		wanted = sig;
	ssize_t n = write(wake[1], "", 1);
	(void)n;
	errno = why;
}

/* Holds the bytes that restore the terminal if ncurses cannot be called. */
static char back[256];
static size_t back_n;

static int add_byte(int c)
{
	if (back_n < sizeof back)
		back[back_n++] = (char)c;
	return c;
}

static void prepare_back(void)
{
	static const char *const names[] = {"sgr0", "cnorm", "rmcup"};
	static const char no_mouse[] = "\033[?1006;1000l";
	back_n = 0;
	if (tigetstr("kmous") && tigetstr("kmous") != (char *)-1)
		for (const char *c = no_mouse; *c; c++)
			add_byte(*c);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		const char *text = tigetstr(names[i]);
		if (text && text != (char *)-1)
			tputs(text, 1, add_byte);
	}
}

/* ---- standard error ----
 *
 * Messages on a screen that is about to be cleared would be lost: those of our arena, the C library
 * or another library before it exits. So they are stored in a memory file.
 */
static int said = -1, real_error = -1;

static void keep_said(void)
{
#ifndef __SANITIZE_ADDRESS__ /* the sanitizer exits after its report, which would be lost */
	if (!isatty(STDERR_FILENO))
		return;
	said = memfd_create("ms-top-said", MFD_CLOEXEC);
	real_error = said < 0 ? -1 : fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (real_error >= 0)
		dup2(said, STDERR_FILENO);
#endif
}

/* Prints the stored messages. May be called in a signal handler. */
static void show_said(void)
{
	char text[512];
	ssize_t n, w = 0;
	if (real_error < 0)
		return;
	dup2(real_error, STDERR_FILENO);
	close(real_error);
	real_error = -1;
	for (off_t at = 0; (n = pread(said, text, sizeof text, at)) > 0; at += n)
		w = write(STDERR_FILENO, text, (size_t)n);
	(void)w;
	close(said);
	said = -1;
}

static void crashed(int sig)
{
	ssize_t n = write(STDOUT_FILENO, back, back_n);
	(void)n;
	if (has_before)
		tcsetattr(STDIN_FILENO, TCSANOW, &before);
	show_said();
	signal(sig, SIG_DFL);
	raise(sig);
}

static void catch (int sig, void (*f)(int), int flags)
{
	struct sigaction sa = {.sa_handler = f, .sa_flags = flags};
	sigaction(sig, &sa, NULL);
}

static void catch_all(void)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH};
	static const int crashes[] = {SIGSEGV, SIGFPE, SIGILL, SIGABRT};
	static char room[1 << 16]; /* separate stack for handlers, in case of stack overflow */
	sigaltstack(&(stack_t){.ss_sp = room, .ss_size = sizeof room}, NULL);
	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
		catch (ends[i], note, SA_RESTART);
	for (size_t i = 0; i < sizeof crashes / sizeof crashes[0]; i++)
		catch (crashes[i], crashed, (int)SA_RESETHAND | SA_ONSTACK);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

/* Selects colours from the terminal's palette, on its own background. */
static void choose_colours(void)
{
	const char *no = getenv("NO_COLOR");
	if ((no && no[0]) || !has_colors() || start_color() != OK)
		return;
	colours = true;
	use_default_colors();
	init_pair(GRID_GOOD, COLOR_GREEN, -1);
	init_pair(GRID_WARN, COLOR_MAGENTA, -1); /* yellow is illegible on white */
	init_pair(GRID_BAD, COLOR_RED, -1);
	init_pair(GRID_ACCENT, COLOR_CYAN, -1);
}

int term_open(struct ms_err *err)
{
	const char *name = getenv("TERM");
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return ms_err_set(err, "no terminal: use -b for plain text output");
	if (!name || !name[0])
		return ms_err_set(err, "TERM is not set: use -b for plain text output");
	has_before = tcgetattr(STDIN_FILENO, &before) == 0;
	if (pipe2(wake, O_CLOEXEC | O_NONBLOCK) != 0)
		return ms_err_set(err, "cannot create a pipe: %s", strerror(errno));
	screen = newterm(NULL, stdout, stdin);
	/* terminals without a terminfo entry on this system support all that we use of xterm */
	if (!screen && strcmp(name, "unknown") != 0)
		screen = newterm("xterm-256color", stdout, stdin);
	if (!screen)
		return ms_err_set(err, "unknown terminal '%s': use -b for plain text output", name);
	const char *place = tigetstr("cup");
	if (!place || place == (char *)-1) {
		term_close();
		return ms_err_set(
			err, "terminal '%s' cannot move its cursor: use -b for plain text output",
			name);
	}
	prepare_back();
	keep_said();
	catch_all();
	atexit(term_close); /* for exits on out of memory */
	choose_colours();
	cbreak();
	noecho();
	nonl();
	mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
	curs_set(0);
	return 0;
}

void term_close(void)
{
	if (!screen)
		return;
	/* a terminal that has hung up cannot be reset */
	if (wanted != SIGHUP)
		endwin();
	delscreen(screen);
	screen = NULL;
	show_said();
}

void term_size(int *rows, int *cols)
{
	getmaxyx(stdscr, *rows, *cols);
}

static attr_t attributes_of(const struct grid_cell *c)
{
	static const attr_t plain[GRID_STYLES] = {
		[GRID_DIM] = A_DIM,   [GRID_BOLD] = A_BOLD, [GRID_HEAD] = A_REVERSE,
		[GRID_WARN] = A_BOLD, [GRID_BAD] = A_BOLD,  [GRID_ACCENT] = A_NORMAL,
	};
	attr_t a = plain[c->style];
	/* dim reversed text is illegible */
	return c->selected ? (a & ~A_DIM) | A_REVERSE : a;
}

void term_show(const struct grid *g)
{
	for (int row = 0; row < g->rows; row++) {
		for (int col = 0; col < g->cols; col++) {
			const struct grid_cell *c = &g->cells[row * g->cols + col];
			wchar_t text[CCHARW_MAX + 1];
			cchar_t out;
			const char *from = c->text;
			if (!c->width)
				continue;
			mbstate_t state = {0};
			size_t n = mbsrtowcs(text, &from, CCHARW_MAX, &state);
			if (n == (size_t)-1 || !n)
				n = (size_t)swprintf(text, 2, L"?");
			text[n] = 0;
			bool coloured = colours && c->style >= GRID_GOOD;
			if (setcchar(&out, text, attributes_of(c), coloured ? (short)c->style : 0,
				     NULL) == OK)
				mvadd_wch(row, col, &out);
		}
	}
	refresh();
}

/* ---- the clipboard ---- */

static void put_base64(char out[4], const unsigned char *in, size_t n)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned v = in[0] << 16 | (n > 1 ? in[1] << 8 : 0) | (n > 2 ? in[2] : 0);
	out[0] = digits[v >> 18];
	out[1] = digits[v >> 12 & 63];
	out[2] = n > 1 ? digits[v >> 6 & 63] : '=';
	out[3] = n > 2 ? digits[v & 63] : '=';
}

bool term_copy(const char *text, size_t n)
{
	static const char *const without[] = {"linux", "vt", "dumb", "ansi", "cons"};
	static char out[8 + (TERM_COPY_MOST + 2) / 3 * 4];
	const char *name = getenv("TERM");
	for (size_t i = 0; i < sizeof without / sizeof without[0]; i++)
		if (!name || strncmp(name, without[i], strlen(without[i])) == 0)
			return false;
	if (n > TERM_COPY_MOST)
		return false;
	size_t at = (size_t)sprintf(out, "\033]52;c;");
	for (size_t i = 0; i < n; i += 3, at += 4)
		put_base64(out + at, (const unsigned char *)text + i, n - i < 3 ? n - i : 3);
	out[at++] = '\a';
	return ms_write_all(STDOUT_FILENO, out, at) == 0;
}

void term_redraw(void)
{
	clearok(stdscr, TRUE);
}

static void drain(void)
{
	char bytes[64];
	while (read(wake[0], bytes, sizeof bytes) > 0)
		continue;
}

/* ---- keys ---- */

static struct input input;
static unsigned char bytes[256];
static size_t bytes_n, bytes_at;
static uint64_t bytes_ns; /* time at which the bytes were read */

/* Returns the next key from the bytes read. */
static int next_key(void)
{
	int key = TERM_NONE;
	while (key == TERM_NONE && bytes_at < bytes_n)
		key = input_byte(&input, bytes[bytes_at++]);
	return key;
}

/* Reads the available bytes. Returns false if the terminal is gone. */
static bool read_bytes(void)
{
	ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
	bytes_at = 0;
	bytes_n = n > 0 ? (size_t)n : 0;
	bytes_ns = ms_clock_ns(CLOCK_MONOTONIC);
	/* readable without data means end of file */
	return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

/* Returns how long the rest of a sequence may still take, in ms; -1 = none has begun. */
static int sequence_left(void)
{
	uint64_t patience = (uint64_t)input_patience(&input),
		 spent = (ms_clock_ns(CLOCK_MONOTONIC) - bytes_ns) / 1000000;
	return !patience ? -1 : spent < patience ? (int)(patience - spent) : 0;
}

void term_clicked(int *row, int *col)
{
	*row = input.row;
	*col = input.col;
}

static void take_size(void)
{
	struct winsize w;
	resized = 0;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) != 0 || !w.ws_row || !w.ws_col)
		return;
	resizeterm(w.ws_row, w.ws_col);
	/* otherwise ncurses would scroll the screen in a region of the old size, which stays set
	 * after we exit */
	clearok(stdscr, TRUE);
}

static int watched = -1;

void term_watch(int fd)
{
	watched = fd;
}

int term_key(int timeout_ms)
{
	struct pollfd p[] = {{STDIN_FILENO, POLLIN, 0}, {wake[0], POLLIN, 0}, {watched, POLLIN, 0}};
	if (wanted)
		return TERM_GONE;
	int c = next_key(), left = sequence_left();
	if (c != TERM_NONE)
		return c;
	if (left >= 0 && (timeout_ms < 0 || left < timeout_ms))
		timeout_ms = left;
	if (poll(p, 3, timeout_ms) < 0 && errno != EINTR)
		return TERM_GONE;
	if (p[1].revents & POLLIN)
		drain();
	if (wanted)
		return TERM_GONE;
	if (resized) {
		take_size();
		return TERM_RESIZED;
	}
	if (p[0].revents & (POLLHUP | POLLERR | POLLNVAL))
		return TERM_GONE;
	if (!(p[0].revents & POLLIN))
		return sequence_left() == 0 ? input_rest(&input) : TERM_NONE;
	return read_bytes() ? next_key() : TERM_GONE;
}
