/* SPDX-License-Identifier: MIT
 * The list of sites: sorted, searched, each with its whole call stack, sizes, ages and threads; and of a
 * comparison, the list of what changed. */

class Sites {
	constructor(model, flame) {
		this.model = model;
		this.flame = flame;
		this.open = new Set();
		this.limit = 50;
		this.hits = null;
		this.usual = this.columns = model.columns.diff_site ? this.changeColumns() : this.figureColumns();
		this.sort = this.initial = this.columns.find((c) => c.first) ?? this.columns[0];
		this.way = -1;
		this.changed = () => {};
		this.list = { getState: () => this.getOrder(), setState: (text) => this.setOrder(text), changed: () => {} };
		this.box = el("div", {});
		this.head = el("thead", {});
		this.body = el("tbody", {});
		this.foot = el("tfoot", {});
		this.more = el("p", { class: "more" });
		this.caption = el("caption", {});
		this.box.append(el("div", { class: "scroll" }, el("table", { class: "sites" }, this.caption, this.head, this.body, this.foot)), this.more);
		this.rows = this.order();
		this.draw();
	}
	/* {words, why, value(row), say, total, rest: sums of what is not told} */
	figureColumns() {
		const { model, flame } = this, page = model.page, f = (name) => model.figure(name);
		const one = (key, words, name, say, why) => ({
			key, words, why, say, values: f(name), value: (s) => f(name)[s],
			bounds: model.columns[`site_${name}_low`] ? (s) => [model.columns[`site_${name}_low`][s], model.columns[`site_${name}_high`][s]] : null,
		});
		const sum = (c, pair, i) => ({ ...c, total: pair?.total[i] ?? NaN, rest: pair ? [pair.omitted[i], pair.hidden[i], pair.other[i]].map((v) => v ?? NaN) : null });
		const p = page.metrics, metrics = flame.metrics;
		return [
			sum(one("peak", "at peak", "peak_bytes", saySize, "bytes live at the peak"), p.peak, 0),
			sum(one("live", page.at === "end" ? "at end" : page.at_said, "live_bytes", saySize, "bytes live then"), p.live, 0),
			sum(one("blocks", "blocks", "live_blocks", sayCount, "blocks live then"), p.live, 1),
			metrics.unreachable ? one("unreachable", "unreachable", "retained_bytes", saySize, "bytes that nothing points to, and those lost with them") : null,
			sum(one("allocated", "allocated", "allocated_bytes", saySize, "bytes allocated in all"), p.allocated, 0),
			sum(one("allocations", "calls", "allocations", sayCount, "allocations in all"), p.allocations, 0),
			metrics.temporary ? {
				key: "temporary", words: "temporary", why: "allocations freed before the thread's next one", say: (v) => known(v) ? sayShare(v, 1) : unknownWord,
				value: (s) => f("temporary")[s] / (f("allocations")[s] || NaN), rest: null, total: NaN,
			} : null,
			metrics.failed ? one("failed", "failed", "failed_allocations", sayCount, "calls that returned null") : null,
			metrics.mapped ? sum(one("mapped", "mapped", "mapped_bytes", saySize, "address space mapped"), p.mapped, 0) : null,
		].filter((c) => c && (c.key === "temporary" || c.values.some((v) => v > 0))).map((c, i) => ({ ...c, first: i === 0 }));
	}
	changeColumns() {
		const { model, flame } = this, c = model.columns;
		const figures = Object.entries(flame.metrics).flatMap(([key, m]) => {
			const delta = (i) => (known(m.before[i]) || known(m.after[i])) ? (m.after[i] || 0) - (m.before[i] || 0) : NaN;
			return [{ key, words: m.label.toLowerCase(), why: "change, and what it was and is", say: m.say, delta, before: m.before, after: m.after, value: delta }];
		});
		return figures.map((x) => ({ ...x, first: x.key === flame.state.metric })).concat({
			key: "kind", words: "what", why: "new, gone, grown, shrunk", text: true, value: (i) => model.page.diff.kinds[c.diff_kind[i]], say: (v) => v,
		});
	}
	siteOf(row) {
		return this.model.columns.diff_site ? this.model.columns.diff_site[row] : row;
	}
	/* Rows that are shown, in order. */
	order() {
		const c = this.sort, n = this.model.columns.diff_site?.length ?? this.model.sites, rows = [];
		const size = (v) => c.delta ? Math.abs(v) : v;
		for (let i = 0; i < n; i++)
			if (!this.hits || this.matches(i))
				rows.push(i);
		const values = new Array(n);
		rows.forEach((i) => values[i] = c.value(i));
		return rows.sort((a, b) => this.way * (c.text ? compare(values[a], values[b]) : compare(size(values[a]), size(values[b]))) || this.id(a) - this.id(b));
	}
	sortBy(column, way) {
		this.sort = column;
		this.way = way;
		this.rows = this.order();
		this.draw();
	}
	/* Is there a column for what a list of findings is of? Shows all of them. */
	has(key) {
		return key === "changed" || this.usual.some((c) => c.key === key);
	}
	/* Goes to the first row. Is there one? */
	goToFirst() {
		const first = this.body.querySelector("[data-site]");
		first?.scrollIntoView({ block: "center" });
		first?.focus({ preventScroll: true });
		return !!first;
	}
	showAll(key) {
		this.sortBy(this.usual.find((c) => c.key === key) ?? this.initial, -1);
		this.box.scrollIntoView({ block: "start" });
		this.list.changed();
	}
	/* Columns of a range of time come first, {words, figures: {begin, end, grown: {values, total, rest}}}; null = none. */
	setRange(range) {
		const heads = { grown: ["grown in range", "change of what was live, over"], end: ["at its end", "bytes live at the end of"], begin: ["at its beginning", "bytes live at the beginning of"] };
		const columns = !range ? [] : Object.entries(heads).map(([name, [words, why]], i) => {
			const { values, total, rest } = range.figures[name], say = i ? saySize : (v) => signed(saySize, v);
			return { key: name, words, why: `${why} ${range.words}`, say: (v) => known(v) ? say(v) : "n/a", values, value: (s) => values[s], total, rest: [rest, 0, 0], untold: rest, first: i === 0 };
		});
		if (!range && this.columns === this.usual)
			return;
		this.columns = [...columns, ...this.usual];
		this.limit = 50;
		this.sortBy(columns[0] ?? (this.usual.includes(this.sort) ? this.sort : this.initial), -1);
		if (!range)
			this.columns = this.usual;
	}
	/* The sites that are open: "3.17"; null = none. */
	getState() {
		return this.open.size ? [...this.open].join(".") : null;
	}
	setState(text) {
		this.open = new Set(text.split(".").map(Number).filter((id) => this.model.rowOf.has(id)));
		this.draw();
	}
	/* "peak-": sorted by that, and which way; null = as at first. */
	getOrder() {
		return this.usual.includes(this.sort) && (this.sort !== this.initial || this.way > 0) ? this.sort.key + (this.way < 0 ? "-" : "+") : null;
	}
	setOrder(text) {
		const column = this.usual.find((c) => c.key === text.slice(0, -1));
		if (column || this.usual.includes(this.sort))
			this.sortBy(column ?? this.initial, column && text.endsWith("+") ? 1 : -1);
	}
	id(row) {
		return this.model.columns.site_id[this.siteOf(row)];
	}
	matches(row) {
		return this.hits[this.siteOf(row)] === 1;
	}
	/* Shows those that are 1 in `hits`, by site; all, if that is null. */
	search(hits) {
		this.hits = hits;
		this.limit = 50;
		this.rows = this.order();
		this.draw();
	}
	draw() {
		const rows = this.rows, total = this.model.columns.diff_site?.length ?? this.model.sites;
		this.caption.textContent = this.hits ? `${sayCount(rows.length)} of ${sayCount(total)} sites match the search in their call stack` :
			`${sayCount(total)} ${this.model.columns.diff_site ? "places that were compared" : "sites: all blocks with the same call stack"}`;
		clear(this.head).append(el("tr", {}, el("th", { scope: "col" }, "where"), this.columns.map((c) => {
			const th = sortHead(c.words, !c.text, this.sort === c ? this.way < 0 ? "descending" : "ascending" : null, () => {
				this.sortBy(c, this.sort === c ? -this.way : c.text ? 1 : -1);
				this.list.changed();
			});
			th.title = c.why;
			th.className += ` ${this.classOf(c)}`;
			return th;
		})));
		clear(this.body).append(...rows.slice(0, this.limit).flatMap((row) => this.row(row)));
		clear(this.foot).append(...this.sums());
		clear(this.more);
		if (rows.length > this.limit)
			this.more.append(el("button", { type: "button", on: { click: () => { this.limit *= 3; this.draw(); } } }, `Show more of ${sayCount(rows.length)} sites`));
	}
	/* On a narrow screen only the first column of figures and the one that is sorted by are shown. */
	classOf(c) {
		return c.first || c === this.sort ? "" : "wide";
	}
	cell(c, row) {
		const v = c.value(row);
		if (c.text)
			return el("td", { class: this.classOf(c) }, el("span", { class: `badge ${v}` }, v));
		if (c.delta)
			return el("td", { class: `n ${this.classOf(c)}`, title: `${c.say(c.before[row])} before, ${c.say(c.after[row])} after` },
				el("span", { class: v > 0 ? "grown" : v < 0 ? "shrunk" : "dim" }, signed(c.say, v)));
		return barCell(c.say(v), c.total ? v / c.total : 0, c.bounds ? rangeWords(c.say, c.bounds(row)) : null, this.classOf(c));
	}
	row(row) {
		const site = this.siteOf(row), { model } = this, id = this.id(row), open = this.open.has(id), at = model.named(site);
		const label = (frame) => model.fns[model.fnOf[frame]];
		const name = at.frame < 0 ? "(no call stack)" : label(at.frame).brief, verdict = model.verdict(site);
		const toggle = () => {
			if (!this.open.delete(id))
				this.open.add(id);
			this.draw();
			this.box.querySelector(`[data-site="${id}"]`)?.focus();
			this.changed();
		};
		const where = el("td", { class: "where" },
			el("button", { type: "button", class: "link", "data-site": String(id), "aria-expanded": String(open), title: at.frame < 0 ? null : label(at.frame).name,
				on: { click: toggle } }, el("span", { class: "chevron", "aria-hidden": "true" }, open ? "▾\u00a0" : "▸\u00a0"), name),
			" ", at.frame < 0 ? null : el("span", { class: "place" }, model.place(at.frame)),
			verdict && verdict !== "reachable" ? el("span", { class: `badge ${verdict}` }, verdict) : null,
			model.oneTime(site) ? el("span", { class: "badge" }, "one-time") : null,
			el("div", { class: "dim" }, [at.called >= 0 ? `calls ${label(at.called).brief}` : null, at.caller >= 0 ? `called by ${label(at.caller).brief}` : null]
				.concat(verdict === "reachable" ? verdict : null, `#${id}`).filter(Boolean).join(" · ")));
		const line = el("tr", { class: open ? "open" : null }, where, this.columns.map((c) => this.cell(c, row)));
		return open ? [line, el("tr", { class: "detail" }, el("td", { colspan: this.columns.length + 1 }, this.detail(site)))] : [line];
	}
	/* What is not in the rows, so that all add up to the total. */
	sums() {
		const { model } = this, page = model.page;
		if (model.columns.diff_site)
			return page.diff.left_out.places ? [el("tr", { class: "more" }, el("td", {}, `${plural(page.diff.left_out.places, "place", "places")} left out of this page`),
				this.columns.map((c) => el("td", { class: `n ${this.classOf(c)}` }, c.delta ? signed(c.say, c.delta(c.before.length - 1)) : "")))] : [];
		const line = (cls, words, value) => el("tr", { class: cls }, el("td", {}, words),
			this.columns.map((c) => el("td", { class: `n ${this.classOf(c)}` }, c.rest ? c.say(value(c)) : "")));
		const all = [];
		const shown = new Set(this.rows.slice(0, this.limit)), rest = model.sites - shown.size;
		if (rest > 0)
			all.push(line("more", plural(rest, this.hits ? "other site" : "more site", this.hits ? "other sites" : "more sites"), (c) => {
				let sum = page.omitted_sites ? 0 : c.untold ?? 0;
				for (let i = 0; i < model.sites; i++)
					sum += shown.has(i) ? 0 : c.values[i] || 0;
				return sum;
			}));
		const sums = [[page.omitted_sites, "left out of this page"], [page.hidden_sites, "hidden by filters"], [this.columns.some((c) => c.rest?.[2] > 0), "not in any site"]];
		sums.forEach(([there, words], k) => {
			if (there)
				all.push(line("more", k < 2 ? `${plural(there, "site", "sites")} ${words}` : words, (c) => c.rest[k]));
		});
		all.push(line("total", "total", (c) => c.total));
		return all;
	}

	/* ---- one site ---- */

	detail(site) {
		const { model } = this, d = model.details.get(model.columns.site_id[site]);
		const copy = el("button", { type: "button", on: { click: () => this.copy(site, copy) } }, "Copy stack");
		const parts = [el("div", { class: "beside" }, this.stackOf(site), this.sourceOf(site))];
		if (d)
			parts.push(this.figuresOf(d, model.figure("frees")[site]));
		else
			parts.push(el("p", { class: "dim" }, `Sizes, ages and threads are kept here for the ${model.details.size} largest sites: `,
				el("code", {}, `ms-report --site ${model.columns.site_id[site]}`), " shows them for any site."));
		return el("div", { class: "site" }, el("div", { class: "buttons" },
			this.flame.tree ? el("button", { type: "button", on: { click: () => this.show(site) } }, "Show in flame graph") : null, copy), ...parts);
	}
	/* The lines around the one that a site is named after, if they were read. */
	sourceOf(site) {
		const s = this.model.lines(this.model.named(site).frame);
		if (!s)
			return null;
		if (s.after)
			return el("p", { class: "source dim" }, `The lines of ${s.file.replace(/:\d+$/, "")} are not shown: it was changed after ${s.after}.`);
		return el("figure", { class: "source" }, el("figcaption", {}, s.file),
			el("ol", { start: s.rows[0][0] }, s.rows.map(([n, text]) => el("li", { class: n === s.line ? "at" : null, value: String(n), "aria-current": n === s.line ? "true" : null }, el("code", {}, text || " ")))));
	}
	show(site) {
		this.flame.box.scrollIntoView({ block: "start" });
		this.flame.zoomToSite(site);
	}
	stackOf(site) {
		const { model } = this;
		const item = (frame, i) => {
			const fn = model.fns[model.fnOf[frame]], link = model.link(frame), place = model.place(frame), flags = model.flags[frame];
			return el("li", { class: flags & 2 ? "runtime" : null, value: String(i) }, el("span", { class: "fn", title: fn.name }, fn.brief), " ",
				link ? el("a", { href: link, rel: "noreferrer noopener", target: "_blank" }, place) : el("span", { class: "place" }, place),
				flags & 1 ? el("span", { class: "badge" }, "inlined") : null,
				fn.module && model.fileOf(frame) ? el("span", { class: "dim" }, ` ${baseName(fn.module)}`) : null);
		};
		const frames = model.stack(site), shown = new Set(model.unfolded(frames)), folded = frames.filter((f) => !shown.has(f)).length;
		return frames.length ? el("div", {}, el("ol", { class: "stack" }, frames.map((f, i) => shown.has(f) ? item(f, i) : null)),
			folded ? el("p", { class: "dim" }, `${plural(folded, "frame", "frames")} of the runtime folded away`) : null) : el("p", { class: "dim" }, "No call stack was taken.");
	}
	figuresOf(d, frees) {
		const have = (words, v) => known(v) ? [words, v] : null;
		const facts = [
			have("sizes", d.min_size) ? ["sizes", sayRange(d.min_size, d.max_size, saySize)] : null,
			have("most live at once", d.max_live_bytes) ? ["most live at once", saySize(d.max_live_bytes)] : null,
			have("first", d.first_ns) ? ["allocated from", `${sayTime(d.first_ns)} to ${sayTime(d.last_ns)}`] : null,
			d.lifetime_ns > 0 && frees > 0 ? ["mean lifetime of freed blocks", sayTime(d.lifetime_ns / frees)] : null,
			d.retained_bytes > 0 ? ["lost with it", saySize(d.retained_bytes)] : null,
		];
		const charts = [];
		if (d.sizes.length)
			charts.push(el("figure", {}, el("figcaption", {}, "Allocations by size"), barChart("Allocations by size", sizeBars(d.sizes), sayCount, true)));
		if (d.lifetimes.length)
			charts.push(el("figure", {}, el("figcaption", {}, "Frees by age"), barChart("Frees by age", ageBars(d.lifetimes, sayTime), sayCount, true)));
		return el("div", { class: "facts" }, tipLines(facts), charts,
			d.threads.length ? simpleTable("Threads", ["thread", "calls", "allocated", "live"],
				d.threads.map(([tid, name, calls, bytes, live]) => [`${name ?? "(no name)"} ${tid}`, sayCount(calls), saySize(bytes), saySize(live)])) : null,
			d.freed_by.length ? simpleTable("Freed by", ["function", "frees", "bytes"],
				d.freed_by.map(([name, place, frees, bytes]) => [`${name ?? "(not taken)"} ${place ?? ""}`, sayCount(frees), saySize(bytes)])) : null);
	}
	copy(site, button) {
		const { model } = this, text = model.unfolded(model.stack(site)).map((f, i) => `#${i} ${model.fns[model.fnOf[f]].name} ${model.place(f)}`).join("\n");
		const area = el("textarea", { class: "away" }, text);
		document.body.append(area);
		area.select();
		button.textContent = document.execCommand("copy") ? "Copied" : "Cannot copy here";
		area.remove();
		button.focus();
	}
}

/* ---- histograms ---- */

/* Rows whose ranges follow each other, with empty ones where a class has nothing. */
function withGaps(rows, factor) {
	const all = [];
	for (const r of rows) {
		for (let last = all.at(-1); last && known(last[1]) && r[0] > last[1] + 1 && all.length < 100; last = all.at(-1)) {
			const low = last[1] + 1;
			all.push([low, Math.min(low * factor, r[0]) - 1, ...new Array(r.length - 2).fill(0)]);
		}
		all.push(r);
	}
	return all;
}

/* From [low, high, allocations, bytes, peak blocks, live blocks]. */
function sizeBars(rows, column = 2) {
	return withGaps(rows, 2).map((r) => ({
		label: sayRange(r[0], r[1], saySize), short: saySize(r[0]).replace(".0 ", " "), value: r[column],
		tip: [["allocations", sayCount(r[2])], ["bytes", saySize(r[3])], ["live at the peak", sayCount(r[4])], ["live at the end", sayCount(r[5])]],
	}));
}

/* From [low, high, frees]. */
function ageBars(rows, say) {
	return withGaps(rows, 10).map((r) => ({ label: sayRange(r[0], r[1], say), short: say === sayTime ? sayTick(r[0]) : sayBrief(r[0]), value: r[2], tip: [["freed", sayCount(r[2])]] }));
}
