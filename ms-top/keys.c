/* SPDX-License-Identifier: MIT
 * Keys and what they do.
 */
#include "keys.h"

#include <ncurses.h>

#define CTRL(c) ((c)&0x1f)
#define ROWS (IN_LIST | IN_TRACE)
#define TRACE (IN_TRACE | IN_SITE)

const struct key keys[] = {
	{{'?', 'h', KEY_F(1)}, ACT_HELP, IN_ALL, "?", "this help", "? help"},
	{{KEY_UP, 'k'}, ACT_UP, IN_ALL, "Up k", "one row up", NULL},
	{{KEY_DOWN, 'j'}, ACT_DOWN, IN_ALL, "Down j", "one row down", NULL},
	{{KEY_PPAGE, CTRL('b')}, ACT_PAGE_UP, IN_ALL, "PgUp ^B", "a page up", NULL},
	{{KEY_NPAGE, CTRL('f')}, ACT_PAGE_DOWN, IN_ALL, "PgDn ^F", "a page down", NULL},
	{{KEY_HOME, 'g'}, ACT_FIRST, IN_ALL, "Home g", "first row, and stay there", NULL},
	{{KEY_END, 'G'}, ACT_LAST, IN_LIST | IN_PROCESS, "End G", "last row", NULL},
	{{'G'}, ACT_LAST, IN_TRACE | IN_SITE, "G", "last row", NULL},
	{{'/'},
	 ACT_SEARCH,
	 ROWS | IN_PROCESS,
	 "/",
	 "search: text or regular expression",
	 "/ search"},
	{{'n'}, ACT_SEARCH_NEXT, ROWS | IN_PROCESS, "n", "next that matches", NULL},
	{{'f', '\\'}, ACT_FILTER, ROWS, "f \\", "show only what matches", "f filter"},
	{{'s', '>'}, ACT_SORT_NEXT, ROWS, "s >", "sort by the next column", "s sort"},
	{{'S', '<'}, ACT_SORT_PREVIOUS, ROWS, "S <", "sort by the column before", NULL},
	{{'v'}, ACT_REVERSE, IN_LIST, "v", "reverse the order", NULL},
	{{'v'}, ACT_REVERSE, IN_TRACE, "v", "reverse; tree: functions, or lines", NULL},
	{{'u'}, ACT_GROUP, IN_LIST, "u", "groups: by executable, user, cgroup", "u group by"},
	{{'c'}, ACT_COLUMNS, IN_LIST, "c", "other columns; sort by any", "c columns"},
	{{'K'}, ACT_KERNEL, IN_LIST, "K", "show kernel threads, or hide them", NULL},
	{{'a'}, ACT_ALL, IN_LIST, "a", "all: no filter, kernel threads too", "a all"},
	{{'b'}, ACT_BASELINE, IN_LIST, "b", "START counts from now on", NULL},
	{{'1'}, ACT_VIEW_1, IN_LIST, "1", "processes", NULL},
	{{'2'}, ACT_VIEW_2, IN_LIST, "2", "groups", NULL},
	{{'3', 't'}, ACT_VIEW_3, IN_LIST, "3 t", "tree", NULL},
	{{'1'}, ACT_VIEW_1, IN_TRACE, "1", "sites: call stacks that allocate", NULL},
	{{'2', 't'}, ACT_VIEW_2, IN_TRACE, "2 t", "tree of callers, from main on", NULL},
	{{'3'}, ACT_VIEW_3, IN_TRACE, "3", "threads", NULL},
	{{'4'}, ACT_VIEW_4, IN_TRACE, "4", "timeline", NULL},
	{{'5'}, ACT_VIEW_5, IN_TRACE, "5", "sizes of blocks", NULL},
	{{'\t'}, ACT_NEXT_VIEW, ROWS, "Tab", "next view", NULL},
	{{'\n', '\r', KEY_ENTER},
	 ACT_ENTER,
	 IN_TRACE,
	 "Enter",
	 "the whole site; open or close a branch",
	 "Enter site"},
	{{'b'}, ACT_BASELINE, IN_TRACE, "b", "differences from this moment on", "b baseline"},
	{{'['}, ACT_EARLIER, TRACE, "[", "earlier", "[ ] time"},
	{{']'}, ACT_LATER, TRACE, "]", "later", NULL},
	{{'{'}, ACT_FAR_EARLIER, TRACE, "{", "ten steps earlier", NULL},
	{{'}'}, ACT_FAR_LATER, TRACE, "}", "ten steps later", NULL},
	{{KEY_END},
	 ACT_LIVE,
	 TRACE,
	 "End",
	 "back to the latest moment; there: last row",
	 "End live"},
	{{'w'}, ACT_WRITE, TRACE, "w", "write a snapshot of this moment", "w save"},
	{{'\n', '\r', KEY_ENTER},
	 ACT_ENTER,
	 IN_LIST,
	 "Enter",
	 "inspect the process",
	 "Enter inspect"},
	{{'r'},
	 ACT_RECORD,
	 IN_LIST | IN_PROCESS,
	 "r",
	 "record the process, and follow that",
	 "r record"},
	{{'y'}, ACT_COPY, IN_ALL, "y", "copy the row, of a site its stack", "y copy"},
	{{27, 'q', KEY_BACKSPACE}, ACT_BACK, IN_PROCESS | IN_SITE, "Esc q", "back", "q back"},
	{{'F', ' '}, ACT_FREEZE, IN_ALL, "F Space", "freeze, and go on", "F freeze"},
	{{CTRL('l')}, ACT_REFRESH, IN_ALL, "^L", "look again, and draw all anew", NULL},
	{{27, 'q'}, ACT_BACK, IN_TRACE, "q", "back, or quit", "q quit"},
	{{'q', 'Q'}, ACT_QUIT, IN_LIST, "q", "quit", "q quit"},
	{{'Q'}, ACT_QUIT, IN_PROCESS | TRACE, "Q", "quit", NULL},
};
const size_t key_count = sizeof keys / sizeof keys[0];

enum action keys_find(int code, unsigned where)
{
	for (size_t i = 0; i < key_count; i++)
		for (int k = 0; k < 3; k++)
			if (keys[i].where & where && keys[i].codes[k] && keys[i].codes[k] == code)
				return keys[i].action;
	return ACT_NONE;
}
