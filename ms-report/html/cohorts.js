/* SPDX-License-Identifier: MIT
 * Cohorts as a heat map: a row is what was allocated in one part of the run, from left to right how much
 * of it was live at the end of each part. What is never freed is a line that does not fade. */

class Cohorts {
	constructor(page) {
		this.all = page.cohorts;
		this.several = page.processes.length > 1;
		this.map = el("div", {});
		this.box = el("div", {}, this.all.length > 1 ? el("div", { class: "controls" }, choice("By", this.all.map((c) => [c.kind, c.kind]), this.all[0].kind, (k) => this.draw(k))) : null, this.map);
		this.draw(this.all[0].kind);
	}
	name(c, r) {
		const when = r.before ? "before counting began" : known(r.from_ns) ? `${sayTime(r.from_ns)} to ${sayTime(r.to_ns)}` : null;
		return c.kind === "label" ? r.name ?? "(no label)" : [r.name, when].filter(Boolean).join(", ");
	}
	draw(kind) {
		const c = this.all.find((x) => x.kind === kind), most = Math.max(...c.rows.flatMap((r) => r.live.map((v) => v ?? 0)));
		const cell = (r, v, i) => {
			if (v === null)
				return el("span", {});
			const lines = () => [el("strong", {}, this.name(c, r)), tipLines([[`live at ${sayTime(c.ends[i])}`, saySize(v)],
				known(r.allocated) && r.allocated ? ["of what was allocated", sayShare(v, r.allocated)] : null])];
			return el("span", { class: "cell", style: { "--part": `${most ? Math.round(Math.sqrt(v / most) * 100) : 0}%` },
				on: { mousemove: (e) => showTip(e.clientX, e.clientY, lines()), mouseleave: hideTip } });
		};
		const axis = c.ends.length ? [sayTime(c.ends[0]), sayTime(c.ends.at(-1))] : ["", ""];
		clear(this.map).append(
			this.several ? el("p", {}, `Of process ${c.pid}, which had the highest peak.`) : "",
			el("div", { class: "cohorts", role: "img", "aria-label": `Live bytes by time of allocation: ${plural(c.rows.length, "row", "rows")}; the table has the figures` },
				c.rows.map((r) => el("div", { class: "cohort", "aria-hidden": "true" }, el("span", { class: "name" }, this.name(c, r)), r.live.map((v, i) => cell(r, v, i)))),
				el("div", { class: "cohort axis", "aria-hidden": "true" }, el("span", { class: "name" }, "live at the end of each part"), el("span", {}, axis[0]), el("span", {}, axis[1]))),
			behind("The same as a table", () => simpleTable("Live of what was allocated", ["allocated", "bytes", ...c.ends.map(sayTime)],
				c.rows.map((r) => [this.name(c, r), saySize(r.allocated ?? NaN), ...r.live.map((v) => v === null ? "" : saySize(v))]))));
	}
}
