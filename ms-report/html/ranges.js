/* SPDX-License-Identifier: MIT
 * A range of time, between two of the moments at which the page knows what was live in which site: what
 * the flame graph and the tables then show. */

class Moments {
	constructor(model) {
		this.model = model;
		this.all = Array.from(model.columns.moment_at, (i) => model.page.moments[i]);
		this.told = model.columns.moment_site;
	}
	static of(model) {
		return model.columns.moment_at && !model.page.diff ? new Moments(model) : null;
	}
	nearest(ns) {
		return this.all.reduce((best, m, i) => Math.abs(m.time_ns - ns) < Math.abs(this.all[best].time_ns - ns) ? i : best, 0);
	}
	name(i) {
		const { label, time_ns } = this.all[i];
		return label === "peak" || label === "end" ? `the ${label} (${sayTime(time_ns)})` : sayTime(time_ns);
	}
	/* Bytes by site; not known of sites that are not told, whose sum is `rest`. */
	live(i) {
		const values = new Float64Array(this.model.sites).fill(this.told.length < this.model.sites ? NaN : 0), column = this.model.columns[`moment_${i}`];
		this.told.forEach((site, k) => values[site] = column[k] || 0);
		return { values, total: this.all[i].live_bytes, rest: this.all[i].live_bytes - column.reduce((a, v) => a + (v || 0), 0) };
	}
}

const RANGE_FIGURES = { grown: "grown in it", end: "live at its end", begin: "live at its beginning" };

/* What a chosen range says, and the charts and tables that follow it. */
class Range {
	constructor(model, moments, timeline, { flame, sites, groups }) {
		Object.assign(this, { model, moments, timeline, flame, sites, groups, figure: "grown" });
		this.box = el("div", { class: "range-chosen", role: "status" });
		timeline.moments = moments;
		timeline.chosen = (ends) => this.show(ends);
		timeline.move(-1);
		this.show(null);
	}
	show(ends) {
		const { moments } = this;
		clear(this.box);
		this.box.hidden = !ends;
		if (!ends) {
			this.flame.clearFigures();
			this.sites.setRange(null);
			return;
		}
		const [from, to] = ends.map((i) => moments.live(i)), words = `${moments.name(ends[0])} to ${moments.name(ends[1])}`;
		const figures = { begin: from, end: to, grown: { values: to.values.map((v, i) => v - from.values[i]), total: to.total - from.total, rest: to.rest - from.rest } };
		const more = [...figures.grown.values, figures.grown.rest].reduce((a, v) => a + (v > 0 ? v : 0), 0), net = to.total - from.total;
		const apart = more > net && moments.told.length === this.model.sites ? `: ${saySize(more)} more in sites that grew, ${saySize(more - net)} less in others` : "";
		const wide = figures[this.figure], label = `${this.figure === "grown" ? "Grown" : this.figure === "end" ? "Live at the end" : "Live at the beginning"}, ${words}`;
		this.box.append(el("p", {}, el("strong", {}, `From ${words}`), `: live ${saySize(from.total)} to ${saySize(to.total)}, ${signed(saySize, net)}${apart}${this.counted(ends)}`),
			el("div", { class: "controls" }, choice("Shown in flame graph and functions", Object.entries(RANGE_FIGURES), this.figure, (figure) => {
				this.figure = figure;
				this.show(ends);
				this.timeline.changed();
			}), el("button", { type: "button", on: { click: () => { this.timeline.choose(null); this.timeline.changed(); } } }, "Whole run (Esc)")),
			el("p", { class: "dim" }, this.honest(ends)));
		this.sites.setRange({ figures, words });
		this.flame.setFigures("range", wide.values.map((v) => v > 0 ? v : 0), label, { rest: this.restOf(wide.rest) });
		this.groups?.draw();
	}
	/* What is in no site that is told, as it is called: left out, hidden by filters, or in no site. */
	restOf(bytes) {
		const { page, sites } = this.model, what = page.omitted_sites || this.moments.told.length < sites ? 0 : page.hidden_sites ? 1 : 2;
		return [0, 1, 2].map((k) => k === what && bytes > 0 ? bytes : 0);
	}
	/* What the program did meanwhile, from the chart's spans, whose ends are not those of the range. */
	counted(ends) {
		const c = this.model.columns, [from, to] = ends.map((i) => this.moments.all[i].time_ns), sum = { allocations: 0, allocated_bytes: 0, frees: 0 };
		if (!c.span_to_ns)
			return "";
		c.span_to_ns.forEach((end, i) => {
			const middle = (end + c.span_from_ns[i]) / 2;
			for (const name in sum)
				sum[name] += middle >= from && middle <= to ? c[`span_${name}`][i] : 0;
		});
		return known(sum.allocations) ? `; about ${plural(sum.allocations, "allocation", "allocations")} of ${saySize(sum.allocated_bytes)} and ${plural(sum.frees, "free", "frees")}` : "";
	}
	/* What the figures are, and what the page does not know. */
	honest(ends) {
		const { moments, model } = this, at = (i) => `${+(moments.all[i].time_ns / 1e9).toFixed(9)}s`, n = moments.told.length;
		return [
			model.page.estimated ? "All figures by site are estimates. " : "",
			`What was live in which call stack is known at ${plural(moments.all.length, "moment", "moments")}, the ticks below the chart: a range begins and ends at these`,
			n < model.sites ? `; of ${sayCount(model.sites)} sites the ${sayCount(n)} that changed most are shown, the others as one sum` : "",
			`. What each allocated in that span: ms-snap --from ${at(ends[0])} --to ${at(ends[1])} TRACE | ms-report`,
		].join("");
	}
}
