/* SPDX-License-Identifier: MIT
 * Table of keys and their actions.
 */
#include "term.h"

#include <ncurses.h>

#define CTRL(c) ((c)&0x1f)
#define ORDERED (IN_LIST | IN_SITES)
#define TRACE (IN_TRACE | IN_SITE)
#define ROWS (IN_ALL & ~IN_TIMELINE)
#define ENTER                                                                                      \
	{                                                                                          \
		'\n', '\r', KEY_ENTER                                                              \
	}
#define MANY (IN_LIST | IN_TRACE)

/* clang-format off */
const struct key keys[] = {
	{{'?', 'h', KEY_F(1)}, ACT_HELP, IN_ALL, "?", "this help", "? help"},
	{{KEY_UP, 'k'}, ACT_UP, ROWS, "Up k", "one row up", NULL},
	{{KEY_DOWN, 'j'}, ACT_DOWN, ROWS, "Down j", "one row down", NULL},
	{{KEY_PPAGE, CTRL('b')}, ACT_PAGE_UP, ROWS, "PgUp ^B", "a page up", NULL},
	{{KEY_NPAGE, CTRL('f')}, ACT_PAGE_DOWN, ROWS, "PgDn ^F", "a page down", NULL},
	{{KEY_HOME, 'g'}, ACT_FIRST, ROWS, "Home g", "first row, and stay there", NULL},
	{{KEY_END, 'G'}, ACT_LAST, IN_LIST | IN_PROCESS, "End G", "last row", NULL},
	{{'G'}, ACT_LAST, TRACE & ROWS, "G", "last row", NULL},
	{{'/', KEY_F(3)}, ACT_SEARCH, IN_LIST | IN_PROCESS | IN_SITES, "/", "search: text or regex", "/ search"},
	{{'/', KEY_F(3)}, ACT_SEARCH, IN_TRACE & ~IN_SITES, "/", "search among the sites", "/ search"},
	{{'n'}, ACT_SEARCH_NEXT, MANY | IN_PROCESS, "n", "next match", NULL},
	{{'N'}, ACT_SEARCH_PREVIOUS, MANY | IN_PROCESS, "N", "previous match", NULL},
	{{'f', '\\', KEY_F(4)}, ACT_FILTER, ORDERED, "f \\", "filter: text or regex", "f filter"},
	{{'s', '>', KEY_F(6)}, ACT_SORT_NEXT, ORDERED, "s >", "sort by the next column", "s sort"},
	{{'S', '<'}, ACT_SORT_PREVIOUS, ORDERED, "S <", "sort by the previous column", NULL},
	{{'v'}, ACT_REVERSE, ORDERED, "v", "reverse the order", NULL},
	{{'v'}, ACT_REVERSE, IN_TREE, "v", "rows per function or per line", "v lines"},
	{{'u'}, ACT_GROUP, IN_LIST, "u", "group by exe, user or cgroup", "u group by"},
	{{'c'}, ACT_COLUMNS, IN_LIST, "c", "choose columns; sort by any", "c columns"},
	{{'K'}, ACT_KERNEL, IN_LIST, "K", "show or hide kernel threads", NULL},
	{{'a'}, ACT_ALL, IN_LIST, "a", "all rows, also kernel threads", "a all"},
	{{'b'}, ACT_BASELINE, IN_LIST, "b", "count START from now on", NULL},
	{{'1'}, ACT_VIEW_1, IN_LIST, "1", "processes", NULL},
	{{'2'}, ACT_VIEW_2, IN_LIST, "2", "groups", NULL},
	{{'3', 't'}, ACT_VIEW_3, IN_LIST, "3 t", "tree", NULL},
	{{'1'}, ACT_VIEW_1, IN_TRACE, "1", "sites: stacks that allocate", NULL},
	{{'2', 't'}, ACT_VIEW_2, IN_TRACE, "2 t", "tree of calls, from main down", NULL},
	{{'3'}, ACT_VIEW_3, IN_TRACE, "3", "threads", NULL},
	{{'4'}, ACT_VIEW_4, IN_TRACE, "4", "timeline", NULL},
	{{'5'}, ACT_VIEW_5, IN_TRACE, "5", "block sizes", NULL},
	{{'6'}, ACT_VIEW_6, IN_TRACE, "6", "what keeps blocks alive", NULL},
	{{'\t'}, ACT_NEXT_VIEW, MANY, "Tab", "next view", NULL},
	{ENTER, ACT_ENTER, IN_SITES, "Enter", "the whole site", "Enter site"},
	{ENTER, ACT_ENTER, IN_TREE | IN_KEPT, "Enter", "open or close; leaf: its site", "Enter open"},
	{{'K'}, ACT_SCAN, IN_KEPT, "K", "scan: what keeps blocks alive", "K scan"},
	{{'K'}, ACT_SCAN, TRACE & ~IN_KEPT, "K", "scan: what keeps blocks alive", NULL},
	{{'b'}, ACT_BASELINE, IN_TRACE, "b", "show changes since this moment", "b baseline"},
	{{'['}, ACT_EARLIER, TRACE, "[", "earlier", "[ ] time"},
	{{']'}, ACT_LATER, TRACE, "]", "later", NULL},
	{{'{'}, ACT_FAR_EARLIER, TRACE, "{", "ten steps earlier", NULL},
	{{'}'}, ACT_FAR_LATER, TRACE, "}", "ten steps later", NULL},
	{{KEY_END}, ACT_LIVE, TRACE & ROWS, "End", "latest moment; again: last row", "End live"},
	{{KEY_END}, ACT_LIVE, IN_TIMELINE, "End", "back to the latest moment", "End live"},
	{{'w'}, ACT_WRITE, TRACE, "w", "save a snapshot of this moment", "w save"},
	{ENTER, ACT_ENTER, IN_PROCESSES, "Enter", "inspect the process", "Enter inspect"},
	{ENTER, ACT_ENTER, IN_GROUPS, "Enter", "open or close; member: inspect", "Enter open"},
	{{'r'}, ACT_RECORD, IN_LIST | IN_PROCESS, "r", "record it and show the trace", "r record"},
	{{'y'}, ACT_COPY, ROWS & ~(IN_SITES | IN_SITE), "y", "copy the row", "y copy"},
	{{'y'}, ACT_COPY, IN_SITES | IN_SITE, "y", "copy the site's stack", "y copy"},
	{{'q', KEY_BACKSPACE}, ACT_BACK, IN_PROCESS | IN_SITE, "q", "back", "q back"},
	{{27}, ACT_UNDO, IN_ALL, "Esc", "undo filter or freeze; go back", NULL},
	{{' '}, ACT_FREEZE, IN_ALL, "Space", "freeze or continue", "Space freeze"},
	{{'F'}, ACT_FOLLOW, ROWS, "F", "follow selected row: on/off", NULL},
	{{CTRL('l')}, ACT_REFRESH, IN_ALL, "^L", "reread and redraw everything", NULL},
	{{'q'}, ACT_BACK, IN_TRACE, "q", "back, or quit", "q quit"},
	{{'q', 'Q', KEY_F(10)}, ACT_QUIT, IN_LIST, "q", "quit", "q quit"},
	{{'Q', KEY_F(10)}, ACT_QUIT, IN_PROCESS | TRACE, "Q", "quit", NULL},
};
/* clang-format on */
const size_t key_count = sizeof keys / sizeof keys[0];

enum action keys_find(int code, unsigned where)
{
	for (size_t i = 0; i < key_count; i++)
		for (int k = 0; k < 3; k++)
			if (keys[i].where & where && keys[i].codes[k] && keys[i].codes[k] == code)
				return keys[i].action;
	return ACT_NONE;
}
