/* SPDX-License-Identifier: MIT
 * Tables: those that ms-report made (threads, sizes, modules...), sorted by a click on a heading,
 * and the functions, modules and files that its script adds up from sites. */

/* Short names of functions by their whole ones, as the page has them. */
const briefNames = new Map();

const SAY = { size: saySize, count: sayCount, time: sayTime, id: (v) => v === null ? "" : String(v) };

/* A heading that sorts; `sorted` is "ascending", "descending" or null. */
function sortHead(words, number, sorted, click) {
	return el("th", { scope: "col", class: number ? "n" : null, "aria-sort": sorted },
		click ? el("button", { type: "button", on: { click } }, words, el("span", { class: "arrow", "aria-hidden": "true" },
			sorted === "ascending" ? " ▲" : sorted === "descending" ? " ▼" : "")) : words);
}

function compare(a, b) {
	if (typeof a === "string" || typeof b === "string")
		return String(a ?? "").localeCompare(String(b ?? ""), "en");
	return (known(a) ? a : -1) - (known(b) ? b : -1);
}

/* An amount with a bar of its share under it; `range` of an estimate, `cls` of its column. */
function barCell(words, share, range, cls) {
	return el("td", { class: `n ${cls ?? ""}` }, words, range ? el("span", { class: "range" }, range) : null,
		share > 0 ? el("span", { class: "share", "aria-hidden": "true", style: { width: `${Math.min(100, share * 100)}%` } }) : null);
}

/* "1.2 KiB to 3.4 KiB" of an estimate, or null. */
function rangeWords(say, bounds) {
	return bounds && known(bounds[0]) && known(bounds[1]) ? `${say(bounds[0])} to ${say(bounds[1])}` : null;
}

function cellValue(v) {
	return Array.isArray(v) ? v[0] : v;
}

function cellWords(kind, v) {
	const say = SAY[kind];
	if (!say)
		return (kind === "function" ? briefNames.get(v) : null) ?? v ?? "";
	return kind === "id" ? say(cellValue(v)) : say(cellValue(v) ?? NaN);
}

/* A table of ms-report's, 50 rows at first. `choose`: names of columns, default those for people. */
function dataTable(t, { caption, first = 50, bars = true } = {}) {
	const columns = t.columns.map(([title, name, kind, sum], i) => ({ title, name, kind, sum, at: i + 1 })).filter((c) => c.title !== null && c.kind !== "bar");
	const items = t.rows.filter((r) => r[0] === ""), rest = t.rows.filter((r) => r[0] !== "");
	if (!items.length)
		return el("p", { class: "none" }, t.empty ?? "nothing");
	const shown = columns.filter((c) => items.some((r) => cellValue(r[c.at]) !== null));
	const most = new Map(shown.map((c) => [c, Math.max(...items.map((r) => cellValue(r[c.at]) || 0))]));
	let by = null, way = -1, limit = first;
	const head = el("thead", {}), body = el("tbody", {}), foot = el("tfoot", {}), more = el("p", { class: "more" });
	const short = new Set(shown.filter((c) => c.kind === "text" && items.every((r) => (r[c.at] ?? "").length <= 26)));
	const isNumber = (c) => !["text", "function", "path"].includes(c.kind);
	const cell = (c, v, item) => {
		const words = cellWords(c.kind, v);
		if (isNumber(c))
			return barCell(words, item && bars && c.sum ? cellValue(v) / most.get(c) : 0, Array.isArray(v) ? rangeWords(SAY[c.kind], v.slice(1)) : null);
		return el("td", { class: short.has(c) ? "short" : c.kind === "text" ? "text" : "name", title: c.kind === "path" || words !== v ? v : null }, words);
	};
	const draw = () => {
		const rows = by ? [...items].sort((a, b) => way * compare(cellValue(a[by.at]), cellValue(b[by.at]))) : items;
		clear(head).append(el("tr", {}, shown.map((c) => sortHead(c.title, isNumber(c), by === c ? way < 0 ? "descending" : "ascending" : null, () => {
			way = by === c ? -way : isNumber(c) ? -1 : 1;
			by = c;
			draw();
		}))));
		clear(body).append(...rows.slice(0, limit).map((r) => el("tr", {}, shown.map((c) => cell(c, r[c.at], true)))));
		clear(more);
		if (rows.length > limit)
			more.append(el("button", { type: "button", on: { click: () => { limit *= 4; draw(); } } }, `Show more of ${sayCount(rows.length)} rows`));
	};
	foot.append(...rest.map((r) => el("tr", { class: r[0] }, shown.map((c) => cell(c, r[c.at], false)))));
	draw();
	return el("div", {}, el("div", { class: "scroll" }, el("table", {}, caption ? el("caption", {}, caption) : null, head, body, foot)), more);
}

/* ---- functions, modules, files ---- */

/* Rows {name, module, self, total}: `self` of sites named after it, `total` of those that have it
 * anywhere in their stack. */
function groupsOf(model, values, spreadOf, by, hits) {
	const groups = new Map(), keyOf = {
		function: (frame) => model.fns[model.fnOf[frame]].name, module: (frame) => model.fns[model.fnOf[frame]].module ?? "(no module)",
		file: (frame) => model.fileOf(frame) ?? "(no source file known)",
	}[by];
	const keys = new Array(model.fnOf.length);
	for (let site = 0; site < model.sites; site++) {
		const v = values[site];
		if (!(v > 0) || (hits && hits[site] !== 1))
			continue;
		const user = model.columns.site_user[site], at = user >= 0 ? user : 0, spread = spreadOf?.(site);
		let depth = 0;
		for (let n = model.node[site]; n >= 0; n = model.parent[n], depth++) {
			const frame = model.frame[n], key = keys[frame] ??= keyOf(frame);
			if (model.mine && model.flags[frame] & 2 && depth !== at)
				continue;
			let g = groups.get(key);
			if (!g)
				groups.set(key, g = { key, frame, self: 0, total: 0, sites: 0, last: -1, spreads: spread ? [new Spread(), new Spread()] : null });
			if (g.last !== site) {
				g.last = site;
				g.total += v;
				g.spreads?.[1].add(...spread);
			}
			if (depth === at) {
				g.self += v;
				g.spreads?.[0].add(...spread);
				g.sites++;
			}
		}
	}
	return [...groups.values()];
}

class Groups {
	constructor(model, flame) {
		this.model = model;
		this.flame = flame;
		this.by = "function";
		this.sort = "self";
		this.limit = 25;
		this.controls = el("div", { class: "controls" });
		this.body = el("div", {});
		this.box = el("div", {}, this.controls, this.body);
		this.hits = null;
		this.metric = this.shown = flame.state.metric;
		this.changed = () => {};
		flame.onChange(() => this.follow());
		this.draw();
	}
	/* "function.self": grouped by that, sorted by that. */
	getState() {
		const state = `${this.by}.${this.sort}`;
		return state === "function.self" ? null : state;
	}
	setState(text) {
		const [by, sort] = text.split(".");
		this.by = ["module", "file"].includes(by) ? by : "function";
		this.sort = sort === "total" ? sort : "self";
		this.draw();
	}
	/* The metric that the flame graph was changed to. */
	follow() {
		const metric = this.flame.state.metric;
		if (metric !== this.shown || !this.flame.metrics[this.metric]) {
			this.metric = this.shown = metric;
			this.draw();
		}
	}
	/* Of sites that are 1 in `hits` alone; of all, if that is null. */
	search(hits) {
		this.hits = hits;
		this.draw();
	}
	draw() {
		const m = this.flame.metrics[this.metric], again = (change) => {
			Object.assign(this, change);
			this.draw();
			this.changed();
		};
		clear(this.controls).append(
			choice("By", [["function", "function"], ["module", "module"], ["file", "source file"]], this.by, (by) => again({ by, limit: 25 })),
			choice("Of", Object.entries(this.flame.metrics).map(([k, x]) => [k, x.label]), this.metric, (metric) => again({ metric })));
		const rows = groupsOf(this.model, m.values, this.model.spreads(m.bytes ?? m.count), this.by, this.hits).filter((g) => g[this.sort] > 0), total = m.total;
		rows.sort((a, b) => b[this.sort] - a[this.sort] || compare(a.key, b.key));
		const narrow = (key) => this.sort === key ? "" : "wide"; /* there only the one that is sorted by is shown */
		const head = (key, words, why) => {
			const th = sortHead(words, true, this.sort === key ? "descending" : null, () => again({ sort: key }));
			th.title = why;
			th.className += ` ${narrow(key)}`;
			return th;
		};
		const figure = (g, key, i) => barCell(m.say(g[key]), g[key] / total, g.spreads && rangeWords(m.say, g.spreads[i].interval(g[key])), narrow(key));
		const table = el("table", {}, el("caption", {}, `${m.label}, by ${this.by}${this.hits ? ", only what the search found" : ""}${this.model.mine ? "; frames of the runtime are folded away" : ""}`),
			el("thead", {}, el("tr", {}, sortHead(this.by, false, null), head("self", "as the site", "of call stacks in which it is the first frame of your own code"),
				head("total", "anywhere", "of call stacks that contain it"), sortHead("share", true, null), sortHead("sites", true, null))),
			el("tbody", {}, rows.slice(0, this.limit).map((g) => el("tr", {}, this.nameCell(g), figure(g, "self", 0),
				figure(g, "total", 1), el("td", { class: "n" }, sayShare(g[this.sort], total)), el("td", { class: "n" }, sayCount(g.sites))))));
		clear(this.body).append(el("div", { class: "scroll" }, table));
		if (rows.length > this.limit)
			this.body.append(el("p", { class: "more" }, el("button", { type: "button", on: { click: () => again({ limit: this.limit * 4 }) } },
				`Show more of ${sayCount(rows.length)} rows`)));
	}
	nameCell(g) {
		const fn = this.model.fns[this.model.fnOf[g.frame]];
		if (this.by !== "function")
			return el("td", { class: "name" }, g.key);
		return el("td", { class: "name" }, el("button", {
			type: "button", class: fn.runtime ? "link fn runtime" : "link fn", title: `Callers and callees of ${fn.name}`,
			on: { click: () => { this.flame.box.scrollIntoView({ block: "start" }); this.flame.sandwich(this.model.fnOf[g.frame], true); } },
		}, fn.brief), " ",
			el("span", { class: "dim" }, fn.module ? baseName(fn.module) : ""));
	}
}
