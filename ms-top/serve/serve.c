/* SPDX-License-Identifier: MIT
 * Handles requests.
 *
 * A request is handled when it is complete. If it cannot be answered at once, it waits in ask.c
 * with its connection suspended, and is handled again when its result is there. The number of
 * connections is limited. A connection that sends no request, or does not read its answer, is
 * closed after some time, which is shorter if there are many.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "serve_private.h"
#include "ms-top/trace/trace.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/clock.h"
#include "libcommon/base/io.h"

#define CLIENTS_MOST 2000u
#define MEMORY_OF_ONE ((size_t)16 << 10) /* memory per connection, which must hold the headers */
#define BODY_MOST ((size_t)64 << 10)
#define SWEEP_NS UINT64_C(500000000)
#define ASK_NS UINT64_C(20000000000) /* time for sending a complete request */
#define CROWDED_NS UINT64_C(2000000000)
#define TAKE_NS UINT64_C(60000000000) /* time for reading the answer */
#define SECONDS_MOST 3600u
#define WORK_NS UINT64_C(20000000)
#define WAITS_MS 10 /* polling interval while a request waits for its answer */

/* ---- connections ---- */

struct client {
	struct MHD_Connection *http;
	struct client *next, **link;
	uint64_t since_ns; /* time of the request if `asked`; else of the latest answer, or of the
			      connection */
	bool asked;
	struct request *waits; /* request that waits for an answer; NULL = none */
};

static void connection_changed(void *cls, struct MHD_Connection *http, void **context,
			       enum MHD_ConnectionNotificationCode what)
{
	struct serve *s = cls;
	struct client *c = *context;
	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		*context = c = ms_xcalloc(1, sizeof *c);
		*c = (struct client){.http = http,
				     .next = s->clients,
				     .link = &s->clients,
				     .since_ns = ms_clock_ns(CLOCK_MONOTONIC)};
		if (c->next)
			c->next->link = &c->next;
		s->clients = c;
		s->client_count++;
	} else if (c) {
		*c->link = c->next;
		if (c->next)
			c->next->link = c->link;
		s->client_count--;
		free(c);
	}
}

static struct client *client_of(struct MHD_Connection *http)
{
	return MHD_get_connection_info(http, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

/* ---- a request ---- */

struct request {
	struct serve *serve;
	struct MHD_Connection *http;
	struct ask ask;
	bool whole, too_large;
	char *body;
	size_t n;
};

static const char *header(const struct request *q, const char *name)
{
	return MHD_lookup_connection_value(q->http, MHD_HEADER_KIND, name);
}

static const char *argument(const struct request *q, const char *name)
{
	return MHD_lookup_connection_value(q->http, MHD_GET_ARGUMENT_KIND, name);
}

/* Sends the answer `r`, and releases it. `r` may be NULL: out of memory. */
static enum MHD_Result answer(struct request *q, unsigned status, const char *type,
			      struct MHD_Response *r)
{
	if (!r)
		return MHD_NO;
	MHD_add_response_header(r, "Content-Type", type);
	MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(r, "Cache-Control", "no-store");
	if (status == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(r, "WWW-Authenticate", "Basic realm=\"ms-top\"");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, "Allow", "GET, HEAD");
	if (status == MHD_HTTP_SERVICE_UNAVAILABLE)
		MHD_add_response_header(r, "Retry-After", "1");
	if (status != MHD_HTTP_OK)
		MHD_add_response_header(r, "X-Go-Pprof", "1");
	enum MHD_Result rc = MHD_queue_response(q->http, status, r);
	MHD_destroy_response(r);
	return rc;
}

static enum MHD_Result refuse(struct request *q, unsigned status, const char *why)
{
	char text[600];
	int n = snprintf(text, sizeof text, "%s\n", why);
	return answer(q, status, "text/plain; charset=utf-8",
		      MHD_create_response_from_buffer((size_t)n, text, MHD_RESPMEM_MUST_COPY));
}

/* Answers with a text, which is then freed. */
static enum MHD_Result answer_text(struct request *q, const char *type, char *text, size_t n)
{
	return answer(q, MHD_HTTP_OK, type,
		      text ? MHD_create_response_from_buffer(n, text, MHD_RESPMEM_MUST_FREE)
			   : NULL);
}

/* Suspends the request until request_wake. */
static enum MHD_Result wait_for(struct request *q)
{
	client_of(q->http)->waits = q;
	MHD_suspend_connection(q->http);
	return MHD_YES;
}

void request_wake(struct request *q)
{
	struct client *c = client_of(q->http);
	if (!c->waits)
		return;
	c->waits = NULL;
	c->since_ns = ms_clock_ns(CLOCK_MONOTONIC);
	MHD_resume_connection(q->http);
}

/* ---- what ms-report makes ---- */

static const char *const types[ANSWER_KINDS] = {
	[ANSWER_PAGE] = "text/html; charset=utf-8",  [ANSWER_JSON] = "application/json",
	[ANSWER_HEAP] = "application/octet-stream",  [ANSWER_ALLOCS] = "application/octet-stream",
	[ANSWER_TEXT] = "text/plain; charset=utf-8", [ANSWER_RETAINED] = "application/json",
};

/* Answers with a report. `name`: name for saving it as a file, NULL = to be displayed. */
static enum MHD_Result answer_report(struct request *q, enum answer_kind kind, unsigned seconds,
				     const char *name)
{
	struct stat st;
	if (q->ask.state == ASK_NONE && !ask_report(q->serve, &q->ask, kind, seconds))
		return refuse(q, MHD_HTTP_SERVICE_UNAVAILABLE, "too many requests are waiting");
	if (q->ask.state == ASK_WAITS)
		return wait_for(q);
	if (q->ask.state == ASK_FAILED || q->ask.fd < 0 || fstat(q->ask.fd, &st) != 0)
		return refuse(q, MHD_HTTP_INTERNAL_SERVER_ERROR, q->ask.error);
	struct MHD_Response *r = MHD_create_response_from_fd64((uint64_t)st.st_size, q->ask.fd);
	if (r)
		q->ask.fd = -1; /* the response closes the descriptor */
	if (r && name) {
		char text[80];
		snprintf(text, sizeof text, "attachment; filename=\"%s\"", name);
		MHD_add_response_header(r, "Content-Disposition", text);
	}
	return answer(q, MHD_HTTP_OK, types[kind], r);
}

/* Parses an unsigned number; *given: whether there is one. False = invalid, or above `most`. */
static bool number(const char *text, unsigned most, unsigned *v, bool *given)
{
	*v = 0;
	*given = text != NULL;
	for (const char *c = text; c && *c; c++) {
		if (*c < '0' || *c > '9' || (*v = *v * 10 + (unsigned)(*c - '0')) > most)
			return false;
	}
	return !text || *text;
}

/* Answers for a profile as Go does: ?seconds=N is the change during N seconds, ?debug=1 is readable
 * text; not both. */
static enum MHD_Result answer_profile(struct request *q, enum answer_kind kind, const char *name)
{
	unsigned seconds, debug;
	bool has_seconds, has_debug;
	if (!number(argument(q, "seconds"), SECONDS_MOST, &seconds, &has_seconds) ||
	    (has_seconds && !seconds))
		return refuse(q, MHD_HTTP_BAD_REQUEST, "bad 'seconds': expected 1 to 3600");
	if (!number(argument(q, "debug"), 9, &debug, &has_debug))
		return refuse(q, MHD_HTTP_BAD_REQUEST, "bad 'debug': expected 0 or 1");
	if (seconds && debug)
		return refuse(q, MHD_HTTP_BAD_REQUEST, "'seconds' and 'debug': choose one");
	return debug ? answer_report(q, ANSWER_TEXT, 0, NULL)
		     : answer_report(q, kind, seconds, name);
}

static enum MHD_Result get_heap(struct request *q)
{
	return answer_profile(q, ANSWER_HEAP, "heap");
}

static enum MHD_Result get_allocs(struct request *q)
{
	return answer_profile(q, ANSWER_ALLOCS, "allocs");
}

static enum MHD_Result get_page(struct request *q)
{
	return answer_report(q, ANSWER_PAGE, 0, NULL);
}

static enum MHD_Result get_json(struct request *q)
{
	return answer_report(q, ANSWER_JSON, 0, NULL);
}

static enum MHD_Result get_retained(struct request *q)
{
	return answer_report(q, ANSWER_RETAINED, 0, NULL);
}

/* ---- what is made here ---- */

static enum MHD_Result get_cmdline(struct request *q)
{
	size_t n;
	char *text = pprof_cmdline(q->serve->trace, &n);
	return answer_text(q, "text/plain; charset=utf-8", text, n);
}

/* Stores the first key of the query, which has no value. */
static enum MHD_Result take_key(void *to, enum MHD_ValueKind kind, const char *key,
				const char *value)
{
	(void)kind;
	(void)value;
	*(const char **)to = key;
	return MHD_NO;
}

static enum MHD_Result get_symbol(struct request *q)
{
	size_t n;
	const char *asked = q->body;
	if (!asked)
		MHD_get_connection_values(q->http, MHD_GET_ARGUMENT_KIND, take_key, &asked);
	char *text = pprof_symbol(q->serve->trace, asked ? asked : "", &n);
	ask_names(q->serve, &q->ask);
	if (q->ask.state == ASK_WAITS) {
		free(text);
		return wait_for(q);
	}
	return answer_text(q, "text/plain; charset=utf-8", text, n);
}

static enum MHD_Result get_index(struct request *q)
{
	return answer(q, MHD_HTTP_OK, "text/html; charset=utf-8",
		      MHD_create_response_from_buffer(strlen(pprof_index),
						      (void *)(uintptr_t)pprof_index,
						      MHD_RESPMEM_PERSISTENT));
}

/* Answers with metrics. Newer readers include OpenMetrics in Accept, with a quality value; readers
 * that do not want it never list it. */
static enum MHD_Result get_metrics(struct request *q)
{
	struct serve *s = q->serve;
	const char *accept = header(q, "Accept");
	bool open = accept && strstr(accept, "application/openmetrics-text");
	struct metrics_kept *m = &s->metrics[open];
	uint64_t now = ms_clock_ns(CLOCK_MONOTONIC);
	if (!m->text || now - m->ns >= SERVE_KEEP_NS) {
		size_t n;
		char *text = metrics_text(s->trace, open, &n);
		if (!text)
			return MHD_NO;
		/* a name that is found later would change the label */
		ask_names(s, &q->ask);
		if (q->ask.state == ASK_WAITS) {
			free(text);
			return wait_for(q);
		}
		free(m->text);
		*m = (struct metrics_kept){text, n, now};
	}
	return answer(q, MHD_HTTP_OK,
		      open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
			   : "text/plain; version=0.0.4; charset=utf-8",
		      MHD_create_response_from_buffer(m->n, m->text, MHD_RESPMEM_MUST_COPY));
}

/* ---- which of these ---- */

static const struct route {
	const char *path;
	enum MHD_Result (*get)(struct request *q);
	bool post; /* POST is allowed, too */
} routes[] = {
	{"/", get_page, false},
	{"/report.json", get_json, false},
	{"/retained.json", get_retained, false},
	{"/metrics", get_metrics, false},
	{"/debug/pprof/", get_index, false},
	{"/debug/pprof/heap", get_heap, false},
	{"/debug/pprof/allocs", get_allocs, false},
	{"/debug/pprof/cmdline", get_cmdline, false},
	{"/debug/pprof/symbol", get_symbol, true},
};

static enum MHD_Result get_empty(struct request *q, const char *url)
{
	static const char folder[] = "/debug/pprof/";
	size_t n;
	char *text = strncmp(url, folder, sizeof folder - 1) == 0
			     ? pprof_empty(url + sizeof folder - 1, &n)
			     : NULL;
	return text ? answer_text(q, types[ANSWER_HEAP], text, n)
		    : refuse(q, MHD_HTTP_NOT_FOUND, "not found");
}

static enum MHD_Result route(struct request *q, const char *url, const char *method)
{
	const struct serve *s = q->serve;
	const struct route *r = routes, *last = routes + sizeof routes / sizeof *routes;
	if (s->token[0] && !token_matches(s->token, header(q, "Authorization")))
		return refuse(q, MHD_HTTP_UNAUTHORIZED,
			      "a token is required: Authorization: Bearer TOKEN");
	if (!s->token[0] && !s->at.path[0] && !host_is_local(header(q, "Host")))
		return refuse(q, MHD_HTTP_FORBIDDEN,
			      "the Host header does not name this machine: use localhost");
	if (q->too_large)
		return refuse(q, MHD_HTTP_CONTENT_TOO_LARGE, "the request is larger than 64 KiB");
	while (r < last && strcmp(r->path, url) != 0)
		r++;
	bool reads = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
	if (!reads && !(r < last && r->post && strcmp(method, "POST") == 0))
		return refuse(q, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET");
	return r < last ? r->get(q) : get_empty(q, url);
}

/* ---- called by the library ---- */

static void take_body(struct request *q, const char *bytes, size_t n)
{
	q->too_large |= q->n + n > BODY_MOST;
	if (q->too_large)
		return;
	q->body = ms_xrealloc(q->body, q->n + n + 1, 1);
	memcpy(q->body + q->n, bytes, n);
	q->n += n;
	q->body[q->n] = 0;
}

static enum MHD_Result handle(void *cls, struct MHD_Connection *http, const char *url,
			      const char *method, const char *version, const char *bytes, size_t *n,
			      void **context)
{
	struct request *q = *context;
	(void)version;
	if (!q) {
		*context = q = ms_xcalloc(1, sizeof *q);
		*q = (struct request){
			.serve = cls, .http = http, .ask = {.base = -1, .fd = -1, .of = q}};
		return MHD_YES;
	}
	if (*n) {
		take_body(q, bytes, *n);
		*n = 0;
		return MHD_YES;
	}
	if (!q->whole) {
		struct client *c = client_of(http);
		q->whole = c->asked = true;
		c->since_ns = ms_clock_ns(CLOCK_MONOTONIC);
	}
	return route(q, url, method);
}

static void completed(void *cls, struct MHD_Connection *http, void **context,
		      enum MHD_RequestTerminationCode why)
{
	struct request *q = *context;
	struct client *c = client_of(http);
	(void)why;
	if (c) {
		c->asked = false;
		c->waits = NULL;
		c->since_ns = ms_clock_ns(CLOCK_MONOTONIC);
	}
	if (!q)
		return;
	ask_drop(cls, &q->ask);
	MS_FREE(q->body, q);
	*context = NULL;
}

/* ---- clients that are slow, or gone ---- */

static int socket_of(const struct client *c)
{
	return MHD_get_connection_info(c->http, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

/* Tells whether a suspended client has closed the connection, which the library does not notice. */
static bool is_gone(const struct client *c)
{
	char byte;
	return recv(socket_of(c), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* Closes connections that take too long; the library then finds them closed. */
static void sweep(struct serve *s)
{
	uint64_t now = ms_clock_ns(CLOCK_MONOTONIC);
	if (now < s->sweep_ns)
		return;
	s->sweep_ns = now + SWEEP_NS;
	bool crowded = s->client_count > s->client_most / 2;
	for (struct client *c = s->clients; c; c = c->next) {
		uint64_t most = c->asked ? TAKE_NS : crowded ? CROWDED_NS : ASK_NS;
		if (c->waits && is_gone(c))
			ask_give_up(s, &c->waits->ask);
		else if (!c->waits && now - c->since_ns > most)
			shutdown(socket_of(c), SHUT_RDWR);
	}
}

/* ---- the whole ---- */

/* Raises the limit of open files. Returns how many connections may be open, which leaves some for
 * files. */
static unsigned raise_limit(void)
{
	struct rlimit l;
	if (getrlimit(RLIMIT_NOFILE, &l) != 0)
		return 100;
	rlim_t want = CLIENTS_MOST + 200;
	if (l.rlim_cur < want) {
		l.rlim_cur = l.rlim_max < want ? l.rlim_max : want;
		setrlimit(RLIMIT_NOFILE, &l);
		getrlimit(RLIMIT_NOFILE, &l);
	}
	return l.rlim_cur >= want ? CLIENTS_MOST
	       : l.rlim_cur > 300 ? (unsigned)l.rlim_cur - 200
				  : 100;
}

static struct MHD_Daemon *start(struct serve *s)
{
	return MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handle, s,
				MHD_OPTION_LISTEN_SOCKET, s->at.fd, MHD_OPTION_CONNECTION_LIMIT,
				s->client_most, MHD_OPTION_CONNECTION_MEMORY_LIMIT, MEMORY_OF_ONE,
				MHD_OPTION_NOTIFY_CONNECTION, connection_changed, s,
				MHD_OPTION_NOTIFY_COMPLETED, completed, s, MHD_OPTION_END);
}

struct serve *serve_open(const struct serve_options *o, struct ms_err *err)
{
	struct serve *s = ms_xcalloc(1, sizeof *s);
	s->opt = o;
	s->at.fd = -1;
	asking_init(&s->asking);
	int rc = o->token_file ? token_read(s->token, o->token_file, err) : 0;
	if (rc == 0)
		rc = listen_open(&s->at, o, err);
	s->client_most = raise_limit();
	if (rc == 0 && !(s->http = start(s)))
		rc = ms_err_sys(err, "cannot start the HTTP server on '%s'", o->listen);
	if (rc == 0)
		return s;
	serve_close(s);
	return NULL;
}

void serve_close(struct serve *s)
{
	if (!s)
		return;
	while (s->asking.first)
		ask_drop(s, s->asking.first);
	for (struct client *c = s->clients; c; c = c->next)
		if (c->waits)
			MHD_resume_connection(c->http);
	if (s->http)
		MHD_stop_daemon(s->http); /* closes the socket, too */
	else
		ms_close(s->at.fd);
	s->at.fd = -1;
	listen_close(&s->at);
	asking_close(&s->asking);
	MS_FREE(s->metrics[0].text, s->metrics[1].text, s);
}

const char *serve_where(const struct serve *s)
{
	return s->at.where;
}

int serve_fd(const struct serve *s)
{
	return MHD_get_daemon_info(s->http, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

int serve_work(struct serve *s, struct trace *t)
{
	MHD_UNSIGNED_LONG_LONG left;
	uint64_t until = ms_clock_ns(CLOCK_MONOTONIC) + WORK_NS;
	bool more;
	s->trace = t;
	bool waits = asking_work(s);
	sweep(s);
	do {
		MHD_run(s->http);
		more = MHD_get_timeout(s->http, &left) == MHD_YES && left == 0;
	} while (more && ms_clock_ns(CLOCK_MONOTONIC) < until);
	s->trace = NULL;
	return more ? 0 : waits ? WAITS_MS : -1;
}
