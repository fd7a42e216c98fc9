/* SPDX-License-Identifier: MIT
 * The chart of memory over time: what was live, resident and mapped, how fast was allocated, with
 * the peak, the moments looked at and the program's own marks. */

const CHART = { height: 240, rate: 46, left: 72, right: 14, top: 26, gap: 30 };

/* Values of a series at the points of the chart, NaN where nothing is known. */
function liveSeries(model) {
	const c = model.columns, n = c.span_to_ns?.length ?? 0;
	if (!n)
		return null;
	const time = Float64Array.from(c.span_to_ns, (to, i) => (to + c.span_from_ns[i]) / 2);
	const live = Float64Array.from(c.span_live_max, (v, i) => known(v) ? v : c.span_live_bytes[i]);
	const seconds = (c.span_to_ns[0] - c.span_from_ns[0]) / 1e9;
	return {
		time,
		series: [
			{ id: "live", label: "Live heap", area: true, values: live },
			{ id: "rss", label: "RSS", values: c.span_rss_bytes },
			{ id: "mapped", label: "Mapped address space", dashed: true, values: c.span_mapped_bytes },
		].filter((s) => s.values.some(known)),
		rate: c.span_allocations.some((v) => v > 0) ? Float64Array.from(c.span_allocations, (v) => v / seconds) : null,
		table: () => timelineTable(model),
	};
}

/* A figure of all processes at each time, NaN where it was read of none. Another process then has what lies between its own two
 * samples around that time, and nothing before the first or after the last one. */
function sumOfKnown(rows, times, to, who, column) {
	const values = new Float64Array(times.length).fill(NaN), of = new Map(), known = new Set();
	for (const r of rows) {
		if (r[column] === null)
			continue;
		known.add(r[to]);
		if (!of.has(r[who]))
			of.set(r[who], []);
		of.get(r[who]).push([r[to], r[column]]);
	}
	for (const samples of of.values()) {
		let k = 0;
		times.forEach((time, i) => {
			while (k + 1 < samples.length && samples[k + 1][0] <= time)
				k++;
			const [from, a] = samples[k], [until, b] = samples[k + 1] ?? samples[k];
			if (known.has(time) && time >= from && time <= until)
				values[i] = (values[i] || 0) + (until > from ? a + (b - a) * (time - from) / (until - from) : a);
		});
	}
	return values;
}

/* What /proc said: the sum of all processes that were looked at. */
function watchedSeries(model) {
	const t = model.page.tables.find((x) => x.id === "timeline");
	if (!t?.rows.length)
		return null;
	const at = (name) => 1 + t.columns.findIndex((c) => c[1] === name), who = at("process");
	const times = [...new Set(t.rows.map((r) => r[at("to_ns")]))].sort((a, b) => a - b);
	const series = [["heap_bytes", "Heap", true], ["rss_bytes", "RSS"], ["private_bytes", "Private"], ["swap_bytes", "Swap"]].map(([name, label, area]) => {
		return { id: name.replace("_bytes", ""), label, area, values: sumOfKnown(t.rows, times, at("to_ns"), who, at(name)) };
	});
	return {
		time: Float64Array.from(times), rate: null, joined: true, table: () => dataTable(t, { caption: t.title }),
		series: series.filter((s) => s.values.some((v) => v > 0)),
	};
}

function timelineTable(model) {
	const c = model.columns, n = c.span_to_ns.length, step = Math.ceil(n / 50), rows = [], mapped = c.span_mapped_bytes.some(known);
	for (let i = 0; i < n; i += step) {
		let most = NaN, allocations = 0, frees = 0;
		const end = Math.min(i + step, n);
		for (let k = i; k < end; k++) {
			most = known(most) ? Math.max(most, c.span_live_max[k] || 0) : c.span_live_max[k];
			allocations += c.span_allocations[k];
			frees += c.span_frees[k];
		}
		const last = end - 1;
		rows.push([sayTime(c.span_to_ns[last]), saySize(most), saySize(c.span_live_bytes[last]), sayCount(c.span_live_blocks[last]),
			saySize(c.span_rss_bytes[last]), ...(mapped ? [saySize(c.span_mapped_bytes[last])] : []), sayCount(allocations), sayCount(frees)]);
	}
	return simpleTable("The run in spans of equal length", ["up to", "live, most", "live", "blocks", "RSS", ...(mapped ? ["mapped"] : []), "allocations", "frees"], rows);
}

class Timeline {
	constructor(model, data) {
		this.model = model;
		this.data = data;
		this.off = new Set();
		this.at = -1;
		this.svg = el("svg:svg", { class: "chart", role: "slider", tabindex: "0", "aria-label": "Memory over time: arrow keys move through the run" });
		this.readout = el("p", { class: "readout", "aria-live": "off" });
		this.legend = el("div", { class: "legend", role: "group", "aria-label": "Lines shown" });
		this.box = el("div", { class: "timeline" }, this.legend, this.svg, this.readout);
		this.end = Math.max(model.page.duration_ns || 0, data.time.at(-1) || 0, 1);
		this.svg.addEventListener("mousemove", (e) => this.point(e));
		this.svg.addEventListener("mouseleave", () => this.move(-1));
		this.svg.addEventListener("blur", () => this.move(-1));
		this.svg.addEventListener("keydown", (e) => this.key(e));
		this.svg.addEventListener("pointerdown", (e) => this.drag(e));
		this.svg.addEventListener("pointermove", (e) => this.drag(e));
		this.svg.addEventListener("pointerup", (e) => this.drop(e));
		this.svg.addEventListener("pointercancel", () => this.drop(null));
		this.moments = null; /* where a range can begin and end, see ranges.js */
		this.ends = this.held = null; /* numbers of these moments: the range that is chosen, and the end of it that stays */
		this.chosen = this.changed = () => {};
		new ResizeObserver(() => this.draw()).observe(this.box);
		this.drawLegend();
		this.move(-1);
	}
	shown() {
		return this.data.series.filter((s) => !this.off.has(s.id));
	}
	drawLegend() {
		clear(this.legend).append(...this.data.series.map((s) => el("button", {
			type: "button", class: `key ${s.id}`, "aria-pressed": String(!this.off.has(s.id)),
			on: { click: () => this.toggle(s.id) },
		}, el("span", { class: "swatch", "aria-hidden": "true" }), s.label)));
	}
	toggle(id) {
		if (!this.off.delete(id))
			this.off.add(id);
		this.drawLegend();
		this.draw();
	}
	x(ns) {
		return CHART.left + ns / this.end * this.inner;
	}
	y(v) {
		return CHART.top + this.plot - v / this.most * this.plot;
	}
	draw() {
		const width = Math.max(280, this.box.clientWidth), rate = this.data.rate ? CHART.rate + CHART.gap : 0;
		const { left, right, top, height } = CHART;
		this.inner = width - left - right;
		this.plot = height - top;
		this.most = Math.max(1, ...this.shown().map((s) => s.values.reduce((a, v) => v > a ? v : a, 0))) * 1.04;
		this.tall = height + rate + 24;
		this.svg.setAttribute("viewBox", `0 0 ${width} ${this.tall}`);
		clear(this.svg).append(...this.axes(width), ...this.shown().flatMap((s) => this.line(s)), ...this.points(), ...this.rates(), ...this.ticksOfMoments());
		this.band = el("svg:rect", { class: "band", y: top, height: height + rate - top });
		this.svg.prepend(this.band);
		this.drawBand(this.ends);
		this.cursor = el("svg:line", { class: "cursor", y1: top, y2: height + rate, visibility: "hidden" });
		this.svg.append(this.cursor);
	}
	axes(width) {
		const { left, right, height } = CHART, foot = height + (this.data.rate ? CHART.rate + CHART.gap : 0);
		return [
			...ticks(this.most, 5, true).flatMap((v) => [
				el("svg:line", { class: "grid", x1: left, x2: width - right, y1: this.y(v), y2: this.y(v) }),
				el("svg:text", { class: "tick", x: left - 8, y: this.y(v) + 4, "text-anchor": "end" }, saySize(v).replace(".0 ", " "))]),
			...timeTicks(this.end, Math.max(3, this.inner / 110)).flatMap((t) => [
				el("svg:line", { class: "grid faint", x1: this.x(t), x2: this.x(t), y1: CHART.top, y2: foot }),
				el("svg:text", { class: "tick", x: this.x(t), y: foot + 16, "text-anchor": "middle" }, sayTick(t))]),
		];
	}
	path(values, y) {
		let d = "", pen = "M";
		for (let i = 0; i < values.length; i++) {
			if (!known(values[i])) {
				pen = this.data.joined && d ? "L" : "M";
				continue;
			}
			d += `${pen}${this.x(this.data.time[i]).toFixed(1)} ${y(values[i]).toFixed(1)}`;
			pen = "L";
		}
		return d;
	}
	line(s) {
		const d = this.path(s.values, (v) => this.y(v)), drawn = [el("svg:path", { class: `line ${s.id}${s.dashed ? " dashed" : ""}`, d })];
		if (s.area && d && !d.slice(1).includes("M")) {
			const first = s.values.findIndex(known), last = s.values.length - 1, foot = this.y(0);
			drawn.unshift(el("svg:path", { class: `area ${s.id}`, d: `${d}L${this.x(this.data.time[last])} ${foot}L${this.x(this.data.time[first])} ${foot}Z` }));
		}
		return drawn;
	}
	/* Marks and moments as lines with a label on top where there is room, for marks first; many moments are ticks on top. */
	flags() {
		const page = this.model.page, drawn = [], taken = [];
		const flags = page.marks.slice(0, 300).map((m) => ({ at: m.time_ns, label: m.name, cls: "mark", foot: CHART.height }));
		const moments = page.moments.filter((m) => !["peak", "end", "start"].includes(m.label) && m.time_ns !== null), many = moments.length > 12;
		if (!many || (!this.moments && this.model.sites))
			flags.push(...moments.slice(0, 1000).map((m) => ({ at: m.time_ns, label: m.label, cls: "moment", foot: many ? CHART.top : CHART.height })));
		for (const f of flags) {
			const x = this.x(f.at), words = f.label.length > 24 ? f.label.slice(0, 23) + "…" : f.label, room = words.length * 6.6 + 8;
			drawn.push(el("svg:line", { class: f.cls, x1: x, x2: x, y1: CHART.top - 6, y2: f.foot }, el("svg:title", {}, `${f.label} at ${sayTime(f.at)}`)));
			if (x + room < this.inner + CHART.left && !(many && f.cls === "moment") && !taken.some(([from, to]) => x < to && x + room > from)) {
				drawn.push(el("svg:text", { class: `flag ${f.cls}`, x: x + 3, y: CHART.top - 10 }, words));
				taken.push([x, x + room]);
			}
		}
		return drawn;
	}
	/* Those, and the peak as a dot. */
	points() {
		const page = this.model.page, t = page.totals, drawn = this.flags();
		if (known(t.peak_time_ns) && known(t.peak_bytes) && !this.off.has("live") && !page.watched && t.peak_bytes > 0) {
			const x = this.x(t.peak_time_ns), right = x > CHART.left + this.inner * 0.75;
			drawn.push(el("svg:circle", { class: "peak", cx: x, cy: this.y(t.peak_bytes), r: 4.5 }),
				el("svg:text", { class: "flag peak", x: x + (right ? -9 : 9), y: this.y(t.peak_bytes) + 4, "text-anchor": right ? "end" : "start" },
					`peak ${saySize(t.peak_bytes)}`));
		}
		return drawn;
	}
	rates() {
		const rate = this.data.rate;
		if (!rate || !rate.some((v) => v > 0))
			return [];
		const most = rate.reduce((a, v) => v > a ? v : a, 0), top = CHART.height + CHART.gap, foot = top + CHART.rate;
		const y = (v) => foot - v / most * CHART.rate, d = this.path(rate, y);
		return [
			el("svg:text", { class: "tick", x: CHART.left, y: top - 5 }, "allocations a second"),
			el("svg:text", { class: "tick", x: CHART.left - 8, y: top + 8, "text-anchor": "end" }, sayBrief(most)),
			el("svg:line", { class: "grid", x1: CHART.left, x2: CHART.left + this.inner, y1: foot, y2: foot }),
			el("svg:path", { class: "area rate", d: d && !d.slice(1).includes("M") ? `${d}V${foot}H${this.x(this.data.time[0])}Z` : "" }),
			el("svg:path", { class: "line rate", d }),
		];
	}
	/* ---- a range of time ---- */

	ticksOfMoments() {
		return (this.moments?.all ?? []).map((m) => el("svg:line", { class: "moment-tick", x1: this.x(m.time_ns), x2: this.x(m.time_ns), y1: CHART.height, y2: CHART.height + 6 }));
	}
	drawBand(ends) {
		if (!this.band) /* an address can have a range before anything is drawn */
			return;
		const [from, to] = ends?.map((i) => this.x(this.moments.all[i].time_ns)) ?? [0, 0];
		this.band.setAttribute("x", from);
		this.band.setAttribute("width", to - from);
	}
	/* The range between two moments, or null: the whole run. */
	choose(ends) {
		this.ends = ends;
		this.held = ends && ends.includes(this.held) ? this.held : ends?.[0] ?? null;
		this.drawBand(ends);
		this.chosen(ends);
		this.move(this.at);
	}
	between(a, b) {
		return a === b ? null : [Math.min(a, b), Math.max(a, b)];
	}
	drag(e) {
		if (!this.moments || (e.type === "pointerdown" ? e.button !== 0 : !this.grip))
			return;
		if (e.type === "pointerdown") {
			this.grip = { x: e.clientX, ns: this.timeAt(e), ends: null };
			this.svg.setPointerCapture(e.pointerId);
		} else if (Math.abs(e.clientX - this.grip.x) > 4) {
			const held = this.moments.nearest(this.grip.ns);
			this.grip.held = held;
			this.grip.ends = this.between(held, this.moments.nearest(this.timeAt(e)));
			this.drawBand(this.grip.ends);
		}
	}
	drop(e) {
		const grip = this.grip;
		this.grip = null;
		if (e && grip?.ends) {
			this.held = grip.held;
			this.choose(grip.ends);
			this.changed();
		} else if (grip) {
			this.drawBand(this.ends);
		}
	}
	/* One moment further, of the end that is not held. */
	extend(step) {
		const last = this.moments.all.length - 1;
		const held = this.ends ? this.held : this.moments.nearest(this.at < 0 ? 0 : this.data.time[this.at]);
		const free = this.ends ? this.ends[0] === held ? this.ends[1] : this.ends[0] : held;
		this.held = held;
		this.choose(this.between(held, Math.max(0, Math.min(last, free + step))));
	}
	/* "FROM-TO" in ns; null = none is chosen. */
	getState() {
		return this.ends ? this.ends.map((i) => this.moments.all[i].time_ns).join("-") : null;
	}
	setState(text) {
		const times = /^(\d+)-(\d+)$/.exec(text)?.slice(1).map(Number);
		if (this.moments)
			this.choose(times ? this.between(...times.map((ns) => this.moments.nearest(ns))) : null);
	}

	/* ---- reading it ---- */

	timeAt(e) {
		const box = this.svg.getBoundingClientRect(), scale = this.svg.viewBox.baseVal.width / box.width;
		return ((e.clientX - box.left) * scale - CHART.left) / this.inner * this.end;
	}
	point(e) {
		const ns = this.timeAt(e);
		let low = 0, high = this.data.time.length - 1;
		while (low < high) {
			const mid = (low + high) >> 1;
			if (this.data.time[mid] < ns)
				low = mid + 1;
			else
				high = mid;
		}
		this.move(low);
	}
	key(e) {
		const n = this.data.time.length, page = Math.ceil(n / 20), step = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
		if (this.moments && (e.key === "Escape" ? this.ends : e.shiftKey && step)) {
			e.preventDefault();
			if (step)
				this.extend(step);
			else
				this.choose(null);
			this.changed();
			return;
		}
		const to = { ArrowLeft: this.at - 1, ArrowRight: this.at + 1, PageDown: this.at - page, PageUp: this.at + page, Home: 0, End: n - 1 }[e.key];
		if (to === undefined)
			return;
		e.preventDefault();
		this.move(Math.max(0, Math.min(n - 1, to)));
	}
	/* What there was at a point; -1 = no point: the whole run. */
	move(i) {
		this.at = i;
		this.cursor?.setAttribute("visibility", i < 0 ? "hidden" : "visible");
		let words = "Point at the chart, or focus it with Tab and use the arrow keys, to read its figures";
		if (this.moments)
			words += "; drag across it, or hold Shift with the arrow keys, to choose a range of time";
		if (i >= 0) {
			const time = this.data.time[i], x = this.x(time);
			this.cursor.setAttribute("x1", x);
			this.cursor.setAttribute("x2", x);
			words = `${sayTime(time)}: ` + this.data.series.map((s) => `${s.label} ${saySize(s.values[i])}`).join(", ");
			if (this.data.rate && known(this.data.rate[i]))
				words += `, ${sayBrief(this.data.rate[i])} allocations a second`;
		}
		this.readout.textContent = words;
		this.svg.setAttribute("aria-valuemin", "0");
		this.svg.setAttribute("aria-valuemax", String(this.data.time.length - 1));
		this.svg.setAttribute("aria-valuenow", String(Math.max(0, i)));
		this.svg.setAttribute("aria-valuetext", words);
	}
}
