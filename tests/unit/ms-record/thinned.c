/* SPDX-License-Identifier: MIT
 * What is kept of a recording that goes on for ever is thinned out evenly: samples for a trace that is
 * written anew, and RSS over time for the summary. Of the results of scans the latest stays.
 */
#include "format/retention.h"
#include "ms-record/session/samples.c" /* they belong to a tool, of which there is no library */
#include "ms-record/write/rewrite.c"
#include "tests/unit/held.h"
#include "tests/unit/is.h"

/* One a block. */
static void add_sample(struct kept *k, uint64_t ns)
{
	uint8_t bytes[64];
	struct ms_record_writer w;
	ms_record_writer_init(&w, bytes, sizeof bytes);
	ms_record_begin(&w);
	ms_record_number(&w, MS_SAMPLE_TIME, ns);
	ms_record_number(&w, MS_SAMPLE_RSS, 4096 * ns);
	CHECK(ms_record_end(&w), "record");
	struct ms_column c = ms_record_column(&w);
	kept_block(k, MS_BLOCK_SAMPLES, (const uint64_t[]){ns, ns}, &c);
}

static uint64_t time_of(struct ms_record rec, uint64_t *rss)
{
	struct ms_field time = {0}, f = {0};
	CHECK(ms_record_field(&rec, &time) == MS_FMT_OK && time.id == MS_SAMPLE_TIME, "time");
	CHECK(ms_record_field(&rec, &f) == MS_FMT_OK && f.id == MS_SAMPLE_RSS, "RSS");
	*rss = f.value;
	return time.value;
}

/* The first one stays; all are whole and in order, and of the beginning as many as of the end. */
static void check_samples(void)
{
	enum { SAMPLES = 200000 };
	struct kept *k = kept_new();
	struct records *r = samples_of(k);
	struct ms_record_reader reader;
	struct ms_record rec;
	size_t most = 0, n = 0;
	for (uint64_t ns = 1; ns <= SAMPLES; ns++) {
		add_sample(k, ns);
		most = r->size > most ? r->size : most;
	}
	CHECK(most <= SAMPLES_MAX && most > SAMPLES_MAX - 32, "%zu bytes", most);
	is("first", r->first_ns, 1);
	is("last", r->last_ns, SAMPLES);
	uint64_t last = 0, widest = 0, narrowest = SAMPLES, rss;
	ms_record_reader_init(&reader, r->data, r->size);
	for (; ms_record_next(&reader, &rec) == MS_FMT_OK; n++) {
		uint64_t ns = time_of(rec, &rss);
		CHECK(last ? ns > last : ns == 1, "%lu after %lu", (long)ns, (long)last);
		is("RSS", rss, 4096 * ns);
		widest = last && ns - last > widest ? ns - last : widest;
		narrowest = last && ns - last < narrowest ? ns - last : narrowest;
		last = ns;
	}
	CHECK(reader.at == r->data + r->size, "cut");
	CHECK(n * narrowest <= SAMPLES && widest <= 3 * narrowest, "%zu samples, %lu to %lu apart",
	      n, (long)narrowest, (long)widest);
	CHECK(r->size > SAMPLES_MAX / 2 - 64, "%zu bytes", r->size);
	CHECK(SAMPLES - last < 2 * narrowest, "the newest is %lu", (long)last);
	struct ms_column other = {1, (const uint8_t *)"", 0};
	kept_block(k, MS_BLOCK_EVENTS, (const uint64_t[]){7, 8}, &other);
	is("last", r->last_ns, SAMPLES);
	kept_free(k);
}

/* Adds what keeps blocks reachable, in one block: a head and `rows` rows. Returns its size. */
static size_t add_result(struct kept *k, uint64_t scan, uint64_t rows)
{
	struct ms_record_writer w = {0};
	batch_record(&w, MS_RETENTION_RECORD_BYTES);
	CHECK(ms_retention_put_head(&w, &(struct ms_retention_head){.scan = scan, .state = 1}),
	      "head");
	for (uint64_t i = 1; i <= rows; i++) {
		batch_record(&w, MS_RETENTION_RECORD_BYTES);
		CHECK(ms_retention_put_row(&w, &(struct ms_retention_row){.scan = scan, .row = i}),
		      "row");
	}
	struct ms_column c = ms_record_column(&w);
	kept_block(k, MS_BLOCK_RETENTION, (const uint64_t[]){scan, scan}, &c);
	free(w.data);
	return c.size;
}

/* Results stay as long as there is room for all; then only the latest, whole and whatever its size. */
static void check_results(void)
{
	struct kept *k = kept_new();
	struct records *r = records_of(k, MS_BLOCK_RETENTION);
	struct ms_record_reader reader;
	struct ms_record rec;
	struct ms_retention_lists lists;
	struct ms_retention_record v;
	size_t all = add_result(k, 1, 5) + add_result(k, 2, 0) + add_result(k, 3, 100), n = 0;
	is("all results", r->size, all);
	is("the first", r->first_ns, 1);
	is("the last", r->last_ns, 3);
	all = add_result(k, 4, 40000);
	is("the latest alone", r->size, all);
	CHECK(all > TOLD_MAX, "%zu bytes", all);
	ms_record_reader_init(&reader, r->data, r->size);
	for (; ms_record_next(&reader, &rec) == MS_FMT_OK; n++)
		CHECK(ms_retention_get(rec, &v, &lists) && v.head.scan == 4 &&
			      (n ? v.kind == MS_RETENTION_IS_ROW && v.row.row == n
				 : v.kind == MS_RETENTION_IS_HEAD),
		      "record %zu", n);
	is("records", n, 40001);
	is("verdicts have a place of their own", records_of(k, MS_BLOCK_VERDICTS)->size, 0);
	kept_free(k);
}

static void check_points(void)
{
	struct sampler *p = ms_xcalloc(1, sizeof *p);
	const struct session s = {.sampler = p};
	uint64_t at = 0, every = 1;
	for (uint64_t ns = 0; ns < 5 * POINTS_MAX; ns++) {
		keep_point(p, ns, 4096 * ns);
		CHECK(p->points.n <= POINTS_MAX, "%zu points", p->points.n);
	}
	every = p->points.v[1].ns;
	is("one in eight", every, 8);
	is("points", p->points.n, 5 * POINTS_MAX / 8);
	for (size_t i = 0; i < p->points.n; i++) {
		is("point", p->points.v[i].ns, i * every);
		is("RSS", p->points.v[i].rss, 4096 * i * every);
	}
	is("nearest", samples_rss_at(&s, 11, &at), 4096 * 8);
	is("of", at, 8);
	is("nearest", samples_rss_at(&s, 13, &at), 4096 * 16);
	is("the last", samples_rss_at(&s, UINT64_MAX, &at), 4096 * (5 * (uint64_t)POINTS_MAX - 8));
	free(p->points.v);
	free(p);
}

int main(void)
{
	check_samples();
	check_results();
	check_points();
	is("all is given back", (uint64_t)held_blocks, 0);
	return failures != 0;
}
