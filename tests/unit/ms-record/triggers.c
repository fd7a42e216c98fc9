/* SPDX-License-Identifier: MIT
 * --when: what is understood and what is refused, the shell text of commands, when conditions are
 * true, by figures known beforehand, and when commands are ended.
 */
#include "ms-record/control/triggers.c" /* it belongs to a tool, of which there is no library */

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "libcommon/base/err.h"
#include "tests/unit/is.h"

static struct triggers all;

/* ---- texts ---- */

static const struct trigger *parsed(const char *text)
{
	static const struct trigger none;
	struct ms_err err = {0};
	if (triggers_add(&all, text, &err)) {
		CHECK(false, "'%s': %s", text, err.text);
		return &none;
	}
	return &all.v[all.n - 1];
}

static void refused(const char *text, const char *why)
{
	struct ms_err err = {0};
	struct triggers t = {0};
	char want[400];
	snprintf(want, sizeof want, "bad --when '%s': %s", text, why);
	CHECK(triggers_add(&t, text, &err) && strncmp(err.text, want, strlen(want)) == 0,
	      "'%s', not '%s'", err.text, want);
	triggers_free(&t);
}

static void check_understood(void)
{
	const struct trigger *t = parsed(" rss>=2GiB , 3 times : leak-check,mark: a b ");
	is("name", strcmp(t->text, "rss>=2GiB"), 0);
	is("kind", t->kind, TRIGGER_LEVEL);
	is("figure", t->figure, TRIGGER_RSS);
	is("operator", t->op, MS_OP_GE);
	is("limit", t->limit, UINT64_C(2) << 30);
	is("times", t->times, 3);
	is("actions", t->actions, TRIGGER_SCAN);
	is("marks", t->marks.n, 1);
	is("its name", strcmp(t->marks.v[0], " a b"), 0);
	t = parsed("live grows 100MiB in 1m: retention, resident, checkpoint, stop");
	is("kind", t->kind, TRIGGER_GROWS);
	is("limit", t->limit, 100 << 20);
	is("time", t->ns, UINT64_C(60000000000));
	is("times", t->times, TRIGGER_TIMES);
	is("actions", t->actions,
	   TRIGGER_SCAN | TRIGGER_RETENTION | TRIGGER_RESIDENT | TRIGGER_CHECKPOINT | TRIGGER_STOP);
	t = parsed("every 10m: mark:t");
	is("time", t->ns, UINT64_C(600000000000));
	is("any number of times", t->times, 0);
	is("no action", t->actions, 0);
	is("as stated", parsed("every 1s, 1000 times: start")->times, 1000);
	t = parsed("failed, once: exec:echo a, b: c");
	is("figure", t->figure, TRIGGER_FAILED);
	is("times", t->times, 1);
	is("the rest is the command", strcmp(t->command, "echo a, b: c"), 0);
	t = parsed("cgroup > 90 %: stop");
	is("share", t->percent, true);
	is("limit", t->limit, 90);
	is("bytes", parsed("cgroup < 1G: stop")->limit, 1 << 30);
	is("event", parsed("cgroup oom_kill: stop")->event, CGROUP_OOM_KILL);
}

static void check_refused(void)
{
	static const struct {
		const char *text, *why;
	} v[] = {
		{"", "expected CONDITION: ACTION[, ACTION...]"},
		{"rss > 2G", "expected CONDITION: ACTION[, ACTION...]"},
		{"rss > 2G: ", "expected CONDITION: ACTION[, ACTION...]"},
		{"rrs > 2G: stop",
		 "unknown condition 'rrs': did you mean 'rss'? Otherwise use rss, live, cgroup,"},
		{": stop", "unknown condition '': use rss,"},
		{"rss: stop", "expected >, >=, <, <= or 'grows SIZE in DURATION' after 'rss'"},
		{"rss > : stop", "bad size ''"},
		{"rss > 1x: stop", "bad size '1x'"},
		{"rss = 1: stop", "'rss' can only be compared with >, >=, < or <="},
		{"live > 5%: stop", "only 'cgroup' can be compared with a percentage"},
		{"cgroup > 0%: stop", "bad percentage '0'"},
		{"cgroup > 101%: stop", "bad percentage '101'"},
		{"cgroup low: stop", "expected a comparison after 'cgroup', or high, max, oom or "},
		{"live grows 1M: stop", "expected SIZE in DURATION after 'grows'"},
		{"live grows 1M in: stop", "expected SIZE in DURATION after 'grows'"},
		{"live grows 1M in 1m 2m: stop", "expected SIZE in DURATION after 'grows'"},
		{"live grows 0 in 1m: stop",
		 "'grows' needs a size above 0 and a duration of at least 1s"},
		{"live grows 1 in 1ms: stop",
		 "'grows' needs a size above 0 and a duration of at least 1s"},
		{"cgroup grows 1M in 1m: stop", "expected a comparison after 'cgroup'"},
		{"failed > 3: stop", "'failed' stands alone: nothing may follow it"},
		{"every 10ms: stop", "'every' needs a duration of at least 1s"},
		{"every never: stop", "bad duration 'never'"},
		{"failed, often: stop", "expected 'N times' or 'once' after ','"},
		{"failed, 0 times: stop", "bad number of times '0'"},
		{"failed: halt", "unknown action 'halt': use mark:NAME, leak-check,"},
		{"failed: retenion",
		 "unknown action 'retenion': did you mean 'retention'? Otherwise use mark:NAME,"},
		{"failed: stop,", "unknown action '': use mark:NAME,"},
		{"failed: mark:", "a name of at most 255 bytes must follow 'mark:'"},
		{"failed: exec: ", "a command must follow 'exec:'"},
		{"failed: exec:echo 'a", "the command of 'exec:' lacks a closing '"},
		{"failed: exec:sh -c 'cp {trace} x'", "{trace} cannot be in single quotes"},
	};
	for (size_t i = 0; i < sizeof v / sizeof *v; i++)
		refused(v[i].text, v[i].why);
}

static void check_commands(void)
{
	static const struct {
		const char *typed, *shell;
	} v[] = {
		{"a {trace} {pid}{rss}",
		 "a \"${MEMSCOPE_TRACE}\" \"${MEMSCOPE_PID}\"\"${MEMSCOPE_RSS}\""},
		{"a -o {trace}.md \"{trace} of {pid}\"",
		 "a -o \"${MEMSCOPE_TRACE}\".md \"${MEMSCOPE_TRACE} of ${MEMSCOPE_PID}\""},
		{"a \\{trace} {trac} '\"' \"'{pid}'\" \\\"{pid}",
		 "a \\{trace} {trac} '\"' \"'${MEMSCOPE_PID}'\" \\\"\"${MEMSCOPE_PID}\""},
		{"awk '{print \"{x}\"}' \"\\\"{rss}\"",
		 "awk '{print \"{x}\"}' \"\\\"${MEMSCOPE_RSS}\""},
	};
	for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
		char text[200];
		snprintf(text, sizeof text, "failed: exec:%s", v[i].typed);
		const char *got = parsed(text)->command;
		CHECK(got && !strcmp(got, v[i].shell), "'%s' is '%s'", v[i].typed, got);
	}
}

static void check_actions(void)
{
	struct triggers t = {0};
	struct ms_err err = {0};
	triggers_add_moment(&t, TRIGGER_LEVEL, TRIGGER_LIVE, 5, "live:5 B");
	is("of its own", triggers_action(&t, TRIGGER_SCAN, ~0u) == NULL, true);
	is("live", triggers_need_merge(&t), true);
	is("once", t.v[0].times, 1);
	triggers_add(&t, "rss > 1: retention, start", &err);
	is("by name", strcmp(triggers_action(&t, TRIGGER_SCAN, ~0u), "retention"), 0);
	is("of others", triggers_action(&t, TRIGGER_START, 1u << TRIGGER_LIVE) == NULL, true);
	is("start", triggers_action(&t, TRIGGER_START, 1u << TRIGGER_RSS) != NULL, true);
	is("none", triggers_action(&t, TRIGGER_RESIDENT | TRIGGER_STOP, ~0u) == NULL, true);
	triggers_free(&t);
}

/* ---- conditions ---- */

/* Judges a row of figures, S seconds after the start and apart from each other, and returns the
 * indexes of those at which the condition fires, as a bit set. */
static uint64_t fires(const char *text, unsigned step_ms, size_t n, const uint64_t v[])
{
	const struct trigger *t = parsed(text);
	struct trigger_state st = {0};
	struct cgroup g = {.limit = 1000};
	uint64_t set = 0;
	for (size_t i = 0; i < n; i++) {
		struct now now = {.ns = UINT64_C(5000000000) + i * step_ms * UINT64_C(1000000),
				  .rss = v[i],
				  .live = v[i],
				  .failed = v[i],
				  .cgroup = &g};
		g.bytes = g.own_bytes = v[i];
		g.events[CGROUP_OOM] = v[i];
		set |= (uint64_t)is_true(t, &st, &now) << i;
	}
	free(st.least);
	triggers_free(&all);
	all = (struct triggers){0};
	return set;
}
#define FIRES(text, step, want, ...)                                                               \
	is(text,                                                                                   \
	   fires(text, step, sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t),                 \
		 (const uint64_t[]){__VA_ARGS__}),                                                 \
	   want)

static void check_conditions(void)
{
	/* a tenth below the limit, or above it, before it counts again */
	FIRES("rss > 1000: stop", 40, 1 << 2 | 1 << 7, 999, 1000, 1001, 999, 5000, 901, 900, 1001);
	FIRES("rss >= 1000: stop", 40, 1 << 1 | 1 << 6, 999, 1000, 999, 1001, 901, 900, 1000);
	FIRES("rss > 1000: stop", 40, 1 << 0, 2000, 2000, 0, 3000); /* 0 = not known */
	FIRES("live < 1000: stop", 40, 1 << 2 | 1 << 6, 5, 1100, 999, 1, 1099, 1100, 7);
	FIRES("live <= 1000: stop", 40, 1 << 2, 5, 1100, 1000, 1001, 1000);
	FIRES("cgroup > 90%: stop", 40, 1 << 1 | 1 << 5, 900, 901, 900, 1000, 810, 1000);
	FIRES("cgroup > 90: stop", 40, 1 << 1, 90, 91);
	/* a count that rises, and a second without one */
	FIRES("failed: stop", 400, 1 << 1 | 1 << 6, 0, 1, 2, 2, 2, 2, 3);
	FIRES("failed: stop", 400, 1 << 0, 2, 2, 2, 2, 2);
	FIRES("failed: stop", 900, 1 << 0, 1, 2, 3, 4, 5);
	FIRES("cgroup oom: stop", 400, 1 << 2, 7, 7, 8, 8);
	FIRES("every 2s: stop", 500, 1 << 4 | 1 << 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
	FIRES("every 2s: stop", 3000, 1 << 1 | 1 << 2 | 1 << 3, 0, 0, 0, 0);
	/* from the least value of the last second; what has grown counts once */
	FIRES("rss grows 100 in 1s: stop", 250, 1 << 2, 500, 550, 600, 650, 699);
	FIRES("rss grows 100 in 1s: stop", 250, 1 << 2 | 1 << 4, 500, 550, 600, 650, 700);
	FIRES("rss grows 100 in 1s: stop", 500, 0, 500, 540, 580, 620, 660, 700, 740);
	FIRES("rss grows 100 in 1s: stop", 250, 1 << 4, 500, 500, 300, 350, 400);
	FIRES("rss grows 100 in 1s: stop", 5000, 0, 500, 900, 1500);
	FIRES("rss grows 100 in 1s: stop", 250, 1 << 3, 500, 1, 100, 101);
	FIRES("live grows 100 in 1s: stop", 250, 1 << 0 | 1 << 3, 100, 150, 199, 200);
}

/* ---- commands ---- */

/* Reads what commands print, up to the end of the last one that has the pipe, which is not read
 * further than `room`. */
static size_t printed(int fd, char *text, size_t room, const char *until)
{
	size_t n = 0;
	text[0] = '\0';
	for (ssize_t got; n < room - 1 && !(until && strstr(text, until)); n += (size_t)got) {
		got = read(fd, text + n, room - 1 - n);
		if (got <= 0)
			break;
		text[n + (size_t)got] = '\0';
	}
	return n;
}

/* Looks at a command until it has ended. */
static void end(struct control *c, struct firing *f)
{
	while (!triggers_run(c, f, true))
		usleep(1000);
}

/* A command, and what it has started, is ended after a minute and not before. */
static void check_limit(void)
{
	struct control_options opt = {0};
	struct trigger_count count = {0};
	struct control c = {.opt = &opt, .acting = {.counts = &count}};
	struct firing f = {.trigger = parsed("failed: exec:sleep 6000 & echo began; sleep 6000"),
			   .program = (char[]){"p"},
			   .trace = (char[]){"t"},
			   .due_ns = 1};
	char text[400];
	int ends[2];
	if (pipe2(ends, O_CLOEXEC))
		abort();
	c.acting.log = ends[1];
	alarm(600); /* if nothing ends it */
	is("it is started", triggers_run(&c, &f, true), false);
	printed(ends[0], text, sizeof text, "began\n");
	is("and not ended at once", triggers_run(&c, &f, true), false);
	f.start_ns -= TRIGGER_RUN_NS - UINT64_C(30000000000);
	is("nor half a minute early", triggers_run(&c, &f, true), false);
	is("nor told to end", f.late, false);
	is("nor as if it had failed", count.failed, 0);
	f.start_ns -= UINT64_C(30000000000);
	end(&c, &f);
	close(ends[1]);
	is("nothing of it is left", printed(ends[0], text, sizeof text, NULL), 0);
	alarm(0);
	is("it has run", count.runs, 1);
	is("and failed", count.failed, 1);
	is("why", strcmp(count.why, "killed after a minute"), 0);
	is("none is running", c.acting.running, 0);
	close(ends[0]);
	triggers_free(&all);
	all = (struct triggers){0};
}

/* No more than four run at a time, and one that is not wanted any longer is ended. */
static void check_turns(void)
{
	struct control_options opt = {0};
	struct trigger_count count = {0};
	struct control c = {.opt = &opt, .acting = {.counts = &count}};
	const struct trigger *t = parsed("failed: exec:exec sleep 6000");
	struct firing f[TRIGGER_RUNS + 2] = {0};
	c.acting.log = open("/dev/null", O_WRONLY | O_CLOEXEC);
	for (size_t i = 0; i < TRIGGER_RUNS + 2; i++) {
		f[i] = (struct firing){.trigger = t, .program = (char[]){"p"}, .due_ns = 1};
		f[i].trace = (char[]){"t"};
		is("none has ended", triggers_run(&c, &f[i], true), false);
	}
	is("four run", count.runs, TRIGGER_RUNS);
	is("the fifth waits", f[TRIGGER_RUNS].child, 0);
	kill(f[1].child, SIGTERM);
	end(&c, &f[1]);
	is("why", strcmp(count.why, "killed by signal 15"), 0);
	is("now it is its turn", triggers_run(&c, &f[TRIGGER_RUNS], true), false);
	is("five have run", count.runs, TRIGGER_RUNS + 1);
	is("one that never ran is given up", triggers_run(&c, &f[TRIGGER_RUNS + 1], false), true);
	for (size_t i = 0; i <= TRIGGER_RUNS; i++)
		while (i != 1 && !triggers_run(&c, &f[i], false))
			usleep(1000);
	is("all were ended", count.failed, TRIGGER_RUNS + 1);
	is("none is running", c.acting.running, 0);
	close(c.acting.log);
	triggers_free(&all);
	all = (struct triggers){0};
}

int main(void)
{
	check_understood();
	check_refused();
	check_commands();
	check_actions();
	check_conditions();
	check_limit();
	check_turns();
	triggers_free(&all);
	return failures != 0;
}
