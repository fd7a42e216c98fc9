/* SPDX-License-Identifier: MIT
 * What the report says first: the lists of the first screen of text, by what they find. A row opens to
 * its site's call stack, sizes, ages and threads. */

/* What a comparison's list calls a metric. */
const CHANGED = { live: "live", peak: "peak", allocations: "calls", allocated: "allocated" };

class Lists {
	constructor(model, sites) {
		this.model = model;
		this.sites = sites;
		this.open = new Set();
		this.changed = () => {};
		this.wrong = model.page.lists.some((l) => l.wrong);
		this.box = el("div", { class: "findings" });
		this.draw();
	}
	draw() {
		clear(this.box).append(...this.model.page.lists.map((list) => this.list(list)));
	}
	list(list) {
		/* in a narrow window the figure that the list is of is shown; of a comparison the one that its charts begin with */
		const main = this.model.page.diff ? Math.max(0, list.heads.indexOf(CHANGED[this.model.page.metric])) : 0, cls = (i) => i === main ? "n" : "n wide";
		const figures = (cells) => list.heads.map((_, i) => el("td", { class: cls(i) }, cells[i] ?? ""));
		const rows = list.rows.length ? el("tbody", {}, list.rows.flatMap((r) => this.row(list, r, figures(r.cells)))) : null;
		const foot = list.rest.length ? el("tfoot", {}, list.rest.map((r, i) => el("tr", { class: "rest" }, ...figures(r.cells),
			el("td", {}, i === 0 && this.sites?.has(list.id) ? el("button", { type: "button", class: "link", on: { click: () => this.sites.showAll(list.id) } }, r.words) : r.words)))) : null;
		return el("div", { class: `finding ${list.wrong ? "wrong" : ""} ${list.id.startsWith("alloc") ? "half" : ""}` }, el("h3", {}, list.title),
			rows ? el("div", { class: "scroll" }, el("table", { class: list.id }, el("thead", {}, el("tr", {},
				list.heads.map((h, i) => el("th", { scope: "col", class: cls(i) }, h)), el("th", { scope: "col", title: "the first frame of your own code" }, "where"))), rows, foot)) : null);
	}
	row(list, r, figures) {
		const key = `${list.id}.${r.site}`, site = this.model.rowOf.get(r.site), open = this.open.has(key);
		const at = site === undefined ? null : this.model.named(site), full = at && at.frame >= 0 ? this.model.fns[this.model.fnOf[at.frame]].name : null;
		const toggle = () => {
			if (!this.open.delete(key))
				this.open.add(key);
			this.draw();
			this.box.querySelector(`[data-row="${key}"]`)?.focus();
			this.changed();
		};
		const name = site === undefined ? el("strong", {}, r.name) : el("button", { type: "button", class: "link", "data-row": key, "aria-expanded": String(open), title: full, on: { click: toggle } },
			el("span", { class: "chevron", "aria-hidden": "true" }, open ? "▾\u00a0" : "▸\u00a0"), r.name);
		const kind = list.id === "changed" ? r.more[0] : null; /* "new, LEAK" */
		const lines = [r.caller ? `< ${r.caller} ${r.caller_place ?? ""}` : null, ...r.apart, r.called ? `calls ${r.called}` : null].filter(Boolean);
		const line = el("tr", { class: open ? "row open" : "row" }, ...figures, el("td", {}, name, " ", el("span", { class: "place" }, r.place ?? ""), " ", el("span", { class: "dim" }, `#${r.site} `), r.note ? el("span", { class: r.note === "reachable" ? "dim" : `badge ${r.note}` }, r.note) : null,
			kind ? el("span", { class: `badge ${kind.split(",")[0]}` }, kind) : null, lines.map((s) => el("div", { class: "dim" }, s)), !kind && r.more.length ? el("div", { class: "remark" }, r.more.join(" ")) : null));
		return open ? [line, el("tr", { class: "detail" }, el("td", { colspan: list.heads.length + 1 }, this.sites.detail(site)))] : [line];
	}
	/* Rows that are open: "unreachable.3_peak.7". */
	getState() {
		return this.open.size ? [...this.open].join("_") : null;
	}
	setState(text) {
		const there = new Set(this.model.page.lists.flatMap((l) => l.rows.filter((r) => this.model.rowOf.has(r.site)).map((r) => `${l.id}.${r.site}`)));
		this.open = new Set(text.split("_").filter((key) => there.has(key)));
		this.draw();
	}
}
