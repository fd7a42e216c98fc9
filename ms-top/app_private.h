/* SPDX-License-Identifier: MIT
 * The state of ms-top, which the loop, the keys and the plain output share.
 */
#ifndef TOP_APP_PRIVATE_H
#define TOP_APP_PRIVATE_H

#include "draw.h"
#include "grid.h"
#include "json.h"
#include "options.h"
#include "process.h"

enum mode { MODE_LIST, MODE_PROCESS, MODE_HELP, MODE_COLUMNS, MODE_FILTER, MODE_SEARCH };

struct app {
	const struct options *opt;
	struct system system;
	bool has_system;
	struct rows rows;
	struct list list, regions; /* of processes; of the inspected one's regions */
	struct process process;
	bool inspecting; /* `process` is open */
	enum mode mode;
	struct column_set columns;
	int column_at; /* in the choice of columns */
	struct pattern search;
	struct grid grid;
	char *line; /* of a plain frame */
	size_t line_room;
	struct json_line json;
	char typed[96];
	char message[256];
	bool frozen, quit, look; /* look: before the next frame, whatever the time */
};

int app_open(struct app *a, const struct options *o, struct ms_err *err);
void app_close(struct app *a);
/* Looks at what is shown. 0, or -1 with `err` set. */
int app_look(struct app *a, struct ms_err *err);
void app_draw(struct app *a, int rows, int cols);
/* A key, as term_key gives it. */
void app_key(struct app *a, int code);

#endif
