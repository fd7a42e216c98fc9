/* SPDX-License-Identifier: MIT
 * Flame graph and icicle: sites merged by function, from the program's entry down or from the
 * allocating function up, in bytes or calls of a metric, or in what changed between two runs; and
 * callers and callees of one function. */

const ROW = 19; /* pixels of a frame's height */
const MOST_FRAMES = 4000;

/* ---- the chart ---- */

class Flame {
	constructor(model) {
		this.model = model;
		this.diff = !!model.columns.diff_site;
		this.metrics = this.diff ? changesOf(model) : metricsOf(model);
		const names = Object.keys(this.metrics);
		this.state = {
			metric: this.metrics[model.page.metric] ? model.page.metric : names[0], up: false, hanging: true, fold: true, side: "change",
			around: -1, /* the function whose callers and callees are shown */
		};
		this.path = []; /* functions that were zoomed to, also where a metric has nothing of them */
		this.own = null; /* the metric that setFigures made: {name, before} */
		this.followers = [];
		this.find = () => {};
		if (this.diff && names.length && !this.metric.after.some((v, i) => (v || 0) !== (this.metric.before[i] || 0)))
			this.state.side = "after";
		this.opened = { ...this.state };
		this.samples = names.length ? new Samples(model, true, model.mine) : null;
		this.search = null;
		this.hues = huesOf(model);
		this.chart = el("div", { class: "flame", role: "tree",
			"aria-label": "Flame graph: arrow keys move, Enter zooms, Escape undoes that, s shows callers and callees, the menu key has more" });
		this.view = el("div", { class: "flame-view" }, this.chart);
		this.crumbs = el("nav", { class: "crumbs", "aria-label": "Zoomed to" });
		this.status = el("p", { class: "readout", "aria-live": "polite" });
		this.controls = el("div", { class: "controls" });
		this.table = behind("The same as a table", () => this.tableBox);
		this.tableBox = el("div", {});
		this.table.addEventListener("toggle", () => this.drawTable());
		this.legend = el("ul", { class: "modules", "aria-label": "Colours" });
		this.box = el("div", {}, this.controls, this.crumbs, this.view, this.status, this.legend, this.table);
		this.nodes = new WeakMap();
		this.changed = () => {};
		if (!this.samples)
			return;
		this.listen();
		this.drawControls();
		this.drawLegend();
		this.rebuild();
		let width = 0;
		new ResizeObserver(() => {
			if (Math.abs(this.view.clientWidth - width) > 2) {
				width = this.view.clientWidth;
				this.draw();
			}
		}).observe(this.view);
	}
	get metric() {
		return this.metrics[this.state.metric];
	}
	set(change) {
		const up = this.state.up;
		Object.assign(this.state, change);
		if ("fold" in change)
			this.merge();
		if (this.state.up !== up)
			this.path = [];
		this.rebuild();
		this.drawControls();
		this.tell();
	}
	tell() {
		this.changed();
		this.followers.forEach((f) => f());
	}
	/* Calls f() after each change of what is shown. */
	onChange(f) {
		this.followers.push(f);
	}
	/* Makes the call stacks anew and stays at the frame that was zoomed to, or the nearest around it that there still is. */
	merge() {
		this.samples = new Samples(this.model, this.state.fold, this.model.mine);
		this.path = [];
		if (this.model.mine && this.model.fns[this.state.around]?.runtime)
			this.state.around = -1;
		for (let n = this.zoomed; n.parent && !this.path.length && n.members.length; n = n.parent) {
			const stack = this.samples.stack(n.members[0], this.state.up);
			this.path = stack.slice(0, stack.indexOf(n.fn) + 1);
		}
	}
	/* After model.mine was changed. */
	refresh() {
		this.merge();
		this.rebuild();
		this.tell();
	}
	/* A metric of figures by site, which is shown at once; `rest`: what was left out of the page, was hidden by filters, and is in no site. */
	setFigures(name, values, label, { say = saySize, rest = [0, 0, 0] } = {}) {
		if (this.diff || !this.tree)
			return false;
		if (this.own && this.own.name !== name)
			this.clearFigures();
		this.own ??= { name, before: this.state.metric };
		const total = [...rest, ...values].reduce((a, v) => a + (v || 0), 0);
		this.metrics[name] = { label, name, values, say, rest, total, blocks: null };
		this.set({ metric: name });
		return true;
	}
	/* Without that again; the metric from before is shown, if this was. */
	clearFigures() {
		const own = this.own;
		if (!own)
			return false;
		this.own = null;
		delete this.metrics[own.name];
		this.set({ metric: this.state.metric === own.name ? own.before : this.state.metric });
		return true;
	}
	/* Widths of the samples under the present choice. */
	rebuild() {
		const { samples, state } = this, m = this.metric, n = samples.site.length, found = this.search?.found;
		const widths = new Float64Array(samples.n);
		if (this.diff) {
			const pick = { before: (i) => m.before[i] || 0, after: (i) => m.after[i] || 0, change: (i) => Math.abs((m.after[i] || 0) - (m.before[i] || 0)) };
			for (let i = 0; i < samples.n; i++)
				widths[i] = pick[state.side](i);
		} else {
			for (let i = 0; i < n; i++)
				widths[i] = m.values[i] || 0;
			m.rest.forEach((v, k) => widths[n + k] = v || 0);
		}
		this.whole = widths.reduce((a, v) => a + v, 0);
		this.sums = { found: 0, foundSites: 0, left: 0, leftSites: 0 };
		for (let i = 0; found && i < n; i++) {
			const what = found[samples.site[i]], left = what === 2;
			this.sums[left ? "left" : "found"] += what ? widths[i] : 0;
			this.sums[left ? "leftSites" : "foundSites"] += what ? 1 : 0;
			if (left)
				widths[i] = -1;
		}
		this.tree = new Tree(samples, widths, state.up, m.before, m.after);
		this.zoomed = this.tree.follow(this.path);
		this.focused = null;
		this.around();
		this.draw();
	}
	/* Trees of callers and callees of the function that they are shown of; of none, there are no such trees. */
	around() {
		const fn = this.state.around, { widths, before, after } = this.tree;
		const half = (up) => {
			const part = new Around(this.samples, fn, up);
			return new Tree(part, widths.map((v, i) => part.at[i] < 0 ? -1 : v), up, before, after, fn);
		};
		this.halves = fn < 0 ? null : { callers: half(true), callees: half(false) };
		this.centre = this.halves?.callees.root;
	}
	total() {
		return this.whole;
	}
	name(node) {
		return node.fn < 0 ? "all" : this.model.fns[node.fn].brief;
	}

	/* ---- drawing ---- */

	/* Frames to draw: {node, x, w} with x and w as parts of the whole width; of callers and callees, `row` is below 0 for callers. */
	layout() {
		const above = [];
		if (this.halves)
			return [...this.rows(this.halves.callers.root).slice(1).map((f) => ({ ...f, row: -f.node.level })), ...this.rows(this.centre)];
		for (let n = this.zoomed.parent; n; n = n.parent)
			above.unshift({ node: n, x: 0, w: 1, above: true });
		return [...above, ...this.rows(this.zoomed)];
	}
	/* A node and what is wide enough of what it leads to. */
	rows(root) {
		const least = 1.3 / Math.max(200, this.view.clientWidth || 1000), shown = [{ node: root, x: 0, w: 1 }];
		let row = [shown[0]];
		while (row.length && shown.length < MOST_FRAMES) {
			const next = [];
			for (const f of row) {
				let x = f.x;
				const scale = f.node.sum ? f.w / f.node.sum : 0;
				for (const kid of f.node.tree.kids(f.node)) {
					const w = kid.sum * scale;
					if (w < least)
						break;
					next.push({ node: kid, x, w });
					x += w;
				}
			}
			shown.push(...next);
			row = next;
		}
		return shown;
	}
	draw() {
		if (!this.tree)
			return;
		const shown = this.layout(), width = this.view.clientWidth || 1000, row = (f) => f.row ?? f.node.level;
		const first = shown.reduce((a, f) => Math.min(a, row(f)), 0), last = shown.reduce((a, f) => Math.max(a, row(f)), 0);
		const hanging = this.state.hanging || this.halves, had = this.chart.contains(document.activeElement);
		const pieces = document.createDocumentFragment();
		this.measure ??= measureOf(this.chart);
		for (const f of shown)
			pieces.append(this.frame(f, width, hanging ? row(f) - first : last - row(f)));
		clear(this.chart).append(pieces);
		this.chart.style.height = (last - first + 1) * ROW + "px";
		if (!hanging)
			this.view.scrollTop = this.view.scrollHeight;
		if (this.halves)
			this.view.scrollTop = -first * ROW - this.view.clientHeight / 2;
		this.current(this.focused && this.elementOf(this.focused) ? this.focused : this.centre ?? this.zoomed, had);
		this.drawCrumbs();
		this.drawTable();
		this.say();
	}
	frame({ node, x, w, above }, width, row) {
		const e = el("div", {
			class: this.classes(node, above), role: "treeitem", tabindex: "-1", "aria-level": node.level + 1,
			"aria-label": `${this.name(node)}, ${this.amount(node)}`,
			style: { left: x * 100 + "%", width: `max(1px, calc(${w * 100}% - 1px))`, top: row * ROW + "px" },
		}, w * width > 26 ? fitName(this.name(node), w * width - 9, this.measure) : "");
		this.nodes.set(e, node);
		return e;
	}
	classes(node, above) {
		const fn = node.fn < 0 ? { kind: "all" } : this.model.fns[node.fn];
		let c = "fr " + (this.diff ? changeClass(node) : fn.kind ? fn.kind : !fn.known ? "nameless" : fn.runtime ? "runtime" :
			`m${this.hues ? this.hues.get(fn.module) ?? 11 : nameHash(fn.name) % 12} v${(nameHash(fn.name) >>> 8) % 4}`);
		if (above)
			c += " above";
		if (node === this.centre)
			c += " centre";
		if (this.search && node.fn >= 0 && this.search.fns[node.fn] && node.members.some((i) => this.search.found[this.samples.site[i]] === 1))
			c += " hit";
		return c;
	}
	amount(node) {
		const m = this.metric;
		if (!this.diff)
			return `${m.say(node.sum)}, ${sayShare(node.sum, this.total())}`;
		const delta = node.after - node.before;
		return `${signed(m.say, delta)} (${m.say(node.before)} to ${m.say(node.after)})`;
	}
	drawCrumbs() {
		const v = [], button = (words, click, cls = null, title = null) => el("button", { type: "button", class: cls, title, on: { click } }, words);
		for (let n = this.zoomed; n; n = n.parent)
			v.unshift(n);
		clear(this.crumbs);
		if (this.centre) {
			this.crumbs.append(el("strong", {}, `Callers (above) and callees (below) of ${this.name(this.centre)}`),
				button("Back to all stacks", () => this.sandwich(-1), "reset"));
			return;
		}
		if (v.length < 2)
			return;
		const shown = v.length > 7 ? [v[0], null, ...v.slice(-5)] : v;
		this.crumbs.append(...shown.map((n) => n ? button(this.name(n), () => this.zoom(n), null, "Zoom to this frame") : el("span", {}, "…")),
			this.real(this.zoomed) ? button("Callers and callees", () => this.sandwich(this.zoomed.fn), "reset", `${this.name(this.zoomed)}, wherever it occurs`) : "",
			button("Reset zoom", () => this.zoom(this.tree.root), "reset"));
	}
	drawControls() {
		const s = this.state, names = Object.entries(this.metrics).map(([k, m]) => [k, m.label]);
		clear(this.controls).append(
			choice("Show", names, s.metric, (metric) => this.set({ metric })),
			this.diff ? choice("Width", [["change", "what changed"], ["after", "after"], ["before", "before"]], s.side, (side) => this.set({ side })) : "",
			...this.halves ? [] : [choice("Read", [["down", "from the program's entry down"], ["up", "from the allocation up"]], s.up ? "up" : "down",
				(v) => this.set({ up: v === "up" })),
			choice("As", [["icicle", "icicle (root on top)"], ["flame", "flame graph (root below)"]], s.hanging ? "icicle" : "flame",
				(v) => this.set({ hanging: v === "icicle" }))],
			el("label", { class: "choice check" }, el("input", {
				type: "checkbox", checked: s.fold, on: { change: (e) => this.set({ fold: e.target.checked }) },
			}), el("span", {}, "Fold recursion")));
	}
	drawLegend() {
		const item = (cls, words) => el("li", {}, cls.split(" ").map((c) => el("span", { class: `fr ${c}`, "aria-hidden": "true" })), words);
		const hues = [...this.hues ?? []], named = this.diff ? [["up4", "grown"], ["up1", "a little"], ["same", "unchanged"], ["down1", "a little"], ["down4", "shrunk"]] :
			[...hues.slice(0, hues.length > 12 ? 11 : 12).map(([module, i]) => [`m${i}`, baseName(module)]), ...(hues.length > 12 ? [["m11", `${hues.length - 11} more modules`]] : []),
				...(this.hues ? [] : [["m3 m0 m2 m4", "a colour for each function"]]), ["runtime", "runtime"], ["nameless", "no symbols"]];
		this.legend.append(...named.map(([cls, words]) => item(cls, words)));
	}
	/* The children of what is zoomed to, in words; or callers and callees. */
	drawTable() {
		if (!this.table.open || !this.tree)
			return;
		const { up } = this.state, roots = this.halves ? [[this.halves.callers.root, true], [this.centre, false]] : [[this.zoomed, up]];
		clear(this.tableBox).append(...roots.map(([node, callers]) => this.kidsTable(node, `What ${this.name(node)} ${callers ? "is called by" : "calls"}`)));
	}
	kidsTable(node, caption) {
		const kids = node.tree.kids(node), m = this.metric, most = 200;
		const heads = this.diff ? ["function", "before", "after", "change"] : ["function", "with what it calls", "share", "itself"];
		const rows = kids.slice(0, most).map((k) => {
			const button = el("button", { type: "button", class: "link", on: { click: () => this.choose(k) } }, this.name(k));
			if (this.diff)
				return [button, m.say(k.before), m.say(k.after), signed(m.say, k.after - k.before)];
			k.tree.kids(k);
			return [button, m.say(k.sum), sayShare(k.sum, this.total()), m.say(k.own)];
		});
		if (kids.length > most)
			rows.push([`${sayCount(kids.length - most)} more`, m.say(kids.slice(most).reduce((a, k) => a + k.sum, 0)), "", ""]);
		return simpleTable(caption, heads, rows);
	}

	/* ---- moving about ---- */

	listen() {
		const nodeAt = (e) => this.nodes.get(e.target.closest(".fr"));
		this.chart.addEventListener("click", (e) => nodeAt(e) && this.choose(nodeAt(e)));
		this.chart.addEventListener("contextmenu", (e) => {
			const node = e.target.closest(".fr") && nodeAt(e);
			if (!node || node.fn < 0)
				return;
			e.preventDefault();
			hideTip();
			this.current(node, true);
			showMenu(e.target, e.clientX, e.clientY, this.menu(node));
		});
		this.chart.addEventListener("mousemove", (e) => {
			const node = e.target.closest(".fr") && nodeAt(e);
			if (node)
				showTip(e.clientX, e.clientY, this.about(node));
			else
				hideTip();
		});
		this.chart.addEventListener("mouseleave", hideTip);
		this.chart.addEventListener("focusin", (e) => {
			const node = nodeAt(e);
			if (node)
				this.current(node, false);
		});
		this.chart.addEventListener("keydown", (e) => this.key(e));
	}
	/* Is it a function, which may be called from elsewhere? */
	real(node) {
		return node.fn >= 0 && !["pseudo", "process"].includes(this.model.fns[node.fn].kind);
	}
	/* What can be done with a frame. */
	menu(node) {
		const { name } = this.model.fns[node.fn], phrase = `"${name.replaceAll('"', " ")}"`, zoomed = this.halves ? null : ["Zoom to this frame", () => this.zoom(node, true)];
		return [zoomed, ...(this.real(node) ? [["Callers and callees", () => this.sandwich(node.fn, true)], ["Search for it", () => this.find(phrase)],
			["Exclude stacks that contain it", () => this.find("-" + phrase)]] : [])].filter(Boolean);
	}
	/* What a click on a frame does. */
	choose(node, focus) {
		if (!this.halves)
			this.zoom(node, focus);
		else if (this.real(node))
			this.sandwich(node.fn, focus);
	}
	/* Where a frame is: "quotes.cc:13", "quotes.cc:13, 19", of many lines the file alone; "" where nothing is known. */
	places(node) {
		const { model, samples } = this, seen = new Map();
		for (const i of node.members) {
			const site = samples.site[i];
			for (let n = site === undefined ? -1 : model.node[site]; n >= 0; n = model.parent[n])
				if (model.fnOf[model.frame[n]] === node.fn)
					seen.set(model.place(model.frame[n]), model.line[model.frame[n]]);
			if (seen.size > 3)
				break;
		}
		const all = [...seen].filter(([place]) => place).sort((a, b) => a[1] - b[1]), file = (place) => place.replace(/:\d+$/, "");
		if (all.length < 2)
			return all[0]?.[0] ?? "";
		return all.some(([place]) => file(place) !== file(all[0][0])) ? "" : all.length > 3 ? file(all[0][0]) : `${all[0][0]}, ${all.slice(1).map(([, line]) => line).join(", ")}`;
	}
	/* What a frame stands for, for the tip. */
	about(node) {
		const m = this.metric, fn = node.fn < 0 ? null : this.model.fns[node.fn];
		node.tree.kids(node);
		const lines = this.diff ? [
			["before", m.say(node.before)], ["after", m.say(node.after)],
			["change", `${signed(m.say, node.after - node.before)}${node.before ? ` (${sayShare(node.after - node.before, node.before)})` : ""}`],
		] : [
			[m.label, `${m.say(node.sum)} (${sayShare(node.sum, this.total())})`],
			this.range(node) ? ["95 % interval", this.range(node).slice(2, -1)] : null,
			node.own ? ["in the frame itself", m.say(node.own)] : null,
			node.parent && node.parent.fn >= 0 ? ["share of the frame before", sayShare(node.sum, node.parent.sum)] : null,
		];
		if (m.blocks && !this.diff && fn?.kind !== "pseudo")
			lines.push([m === this.metrics.allocated ? "calls" : "blocks", sayCount(this.blocks(node))]);
		lines.push(["sites", sayCount(node.members.length)]);
		const place = fn ? this.places(node) : "";
		return [el("strong", {}, fn ? fn.brief : "all"), place ? el("span", { class: "place" }, place) : "",
			fn?.module && place !== `[${baseName(fn.module)}]` ? el("span", { class: "dim" }, baseName(fn.module)) : "", tipLines(lines)];
	}
	/* " (1.2 MiB to 3.4 MiB)": the interval of an estimate, or "". */
	range(node) {
		const m = this.metric, { site, rest } = this.samples, own = this.model.page.metrics[m.name]?.spread;
		const spreadOf = !this.diff && own?.total ? this.model.spreads(m.bytes ?? m.count) : null, spread = new Spread();
		if (!spreadOf)
			return "";
		if (node === this.tree.root)
			spread.add(...own.total);
		else
			for (const i of node.members)
				spread.add(...(i < site.length ? spreadOf(site[i]) : own[rest[i - site.length]] ?? [0, 0, 0, 0]));
		return ` (${rangeWords(m.say, spread.interval(node.sum))})`;
	}
	blocks(node) {
		let sum = 0;
		for (const i of node.members)
			sum += i < this.samples.site.length ? this.metric.blocks[this.samples.site[i]] : 0;
		return sum;
	}
	elementOf(node) {
		return [...this.chart.children].find((e) => this.nodes.get(e) === node);
	}
	/* Makes a frame the one that Tab comes to. */
	current(node, focus) {
		this.chart.querySelector("[tabindex='0']")?.setAttribute("tabindex", "-1");
		const e = this.elementOf(node) ?? this.chart.firstElementChild;
		if (!e)
			return;
		this.focused = this.nodes.get(e);
		e.setAttribute("tabindex", "0");
		if (focus)
			e.focus();
		if (focus || document.activeElement === e)
			this.status.textContent = `${this.name(this.focused)}: ${this.amount(this.focused)}${this.range(this.focused)}`;
	}
	key(e) {
		const at = this.focused, drawn = (n) => n && this.elementOf(n) ? n : null, kids = (n) => n.tree.kids(n), { halves, centre } = this;
		const siblings = at.parent ? kids(at.parent) : [], i = siblings.indexOf(at), caller = halves && at.tree === halves.callers;
		const inwards = () => drawn(kids(at)[0]), outwards = () => at.parent === halves?.callers.root ? centre : drawn(at.parent);
		const down = caller ? outwards : halves || this.state.hanging ? inwards : outwards;
		const above = caller ? inwards : at === centre ? () => drawn(kids(halves.callers.root)[0]) : halves || this.state.hanging ? outwards : inwards;
		const moves = {
			ArrowDown: down, ArrowUp: above,
			ArrowLeft: () => drawn(siblings[i - 1]), ArrowRight: () => drawn(siblings[i + 1]), Home: () => drawn(centre ?? this.tree.root),
		};
		if (e.ctrlKey || e.altKey || e.metaKey)
			return;
		if (moves[e.key]) {
			e.preventDefault();
			const to = moves[e.key]();
			if (to)
				this.current(to, true);
		} else if (e.key === "Enter" || e.key === " ") {
			e.preventDefault();
			this.choose(at, true);
		} else if (e.key === "s" && this.real(at)) {
			this.sandwich(at.fn, true);
		} else if (e.key === "Backspace") {
			e.preventDefault();
			this.out();
		}
	}
	/* One step out: from callers and callees to all stacks, from a zoom to the frame around it. Was there one? */
	out() {
		const inside = this.halves || this.zoomed.parent;
		if (this.halves)
			this.sandwich(-1);
		else if (inside)
			this.zoom(this.zoomed.parent);
		return !!inside;
	}
	zoom(node, focus) {
		hideTip();
		this.path = trail(node);
		this.zoomed = node;
		this.focused = node;
		this.draw();
		this.current(node, focus);
		this.tell();
	}
	/* Zooms along functions that functionKey names so, as far as there are such frames. */
	zoomAlong(keys) {
		let node = this.tree.root;
		for (const key of keys) {
			const next = this.tree.kids(node).find((k) => functionKey(this.model, k.fn) === key);
			if (!next)
				break;
			node = next;
		}
		this.zoom(node);
	}
	/* Callers and callees of a function, -1 = all stacks again. */
	sandwich(fn, focus) {
		hideTip();
		this.state.around = fn;
		this.around();
		this.focused = null;
		this.drawControls();
		this.draw();
		this.current(this.centre ?? this.zoomed, focus);
		this.tell();
	}
	/* Zooms to where a site's stack ends. */
	zoomToSite(site) {
		const i = this.samples.site.indexOf(site);
		if (this.halves)
			this.sandwich(-1);
		this.zoom(this.tree.follow(i < 0 ? [] : this.samples.stack(i, this.state.up)), true);
	}
	/* Goes to the first frame that a search found. Is there one? */
	goToHit() {
		const hit = this.chart.querySelector(".fr.hit");
		if (!hit)
			return false;
		this.box.scrollIntoView({ block: "start" });
		this.current(this.nodes.get(hit), true);
		return true;
	}
	/* Marks what a search found, and leaves out what it excludes; `search` is searchSites' result or null. */
	show(search) {
		this.search = search;
		this.chart.classList.toggle("searching", !!search?.words);
		this.rebuild();
		this.followers.forEach((f) => f());
	}
	/* What the search found and left out, in words. */
	found() {
		const { sums } = this, say = (sum, sites) => `${plural(sites, this.diff ? "place" : "site", this.diff ? "places" : "sites")}: ${this.metric.say(sum)}, ${sayShare(sum, this.total())}`;
		return { found: say(sums.found, sums.foundSites), left: say(sums.left, sums.leftSites) };
	}
	say() {
		const m = this.metric;
		let words = this.diff ? `${m.label}: ${signed(m.say, m.after.reduce((a, v, i) => a + (v || 0) - (m.before[i] || 0), 0))} in all` : `${m.label}: ${m.say(this.total())} in all`;
		const at = this.centre ?? this.zoomed;
		if (this.model.page.estimated && !this.sums.left)
			words += this.range(this.tree.root) || ", an estimate";
		if (at.fn >= 0)
			words += `; ${this.name(at)}: ${this.amount(at)}${this.range(at)}`;
		if (this.search?.words)
			words += `; found in ${this.found().found}`;
		if (this.search?.without)
			words += `; ${this.search.without} leaves out ${this.found().left}`;
		if (this.model.mine)
			words += "; frames of the runtime are folded away";
		this.status.textContent = words;
	}
}

/* Colours of modules: the one with most functions gets the first of twelve hues, and so on. Null where nine in ten functions are of one
 * module: then each function has a hue of its own. */
function huesOf(model) {
	const counts = new Map();
	let all = 0;
	for (const fn of model.fns)
		if (fn.module && !fn.runtime && !fn.kind && ++all)
			counts.set(fn.module, (counts.get(fn.module) ?? 0) + 1);
	const order = [...counts].sort((a, b) => b[1] - a[1] || compare(a[0], b[0])).map(([module]) => module);
	return counts.get(order[0]) >= all * 0.9 ? null : new Map(order.map((module, i) => [module, Math.min(i, 11)]));
}

/* A function that says how many pixels a text takes in a frame, by the font that there is. */
function measureOf(chart) {
	const pen = document.createElement("canvas").getContext("2d");
	pen.font = `12px ${getComputedStyle(chart).fontFamily}`;
	return (text) => pen.measureText(text).width;
}

/* A name in so many pixels, cut at its left, as paths are: "…::insert_or_assign". */
function fitName(name, room, measure) {
	const all = measure(name), fits = (text) => measure(text) <= room;
	if (all <= room)
		return name;
	for (let i = 0, depth = 0; i < name.length; i++) {
		depth += "<({[".includes(name[i]) ? 1 : ">)}]".includes(name[i]) && name[i - 1] !== "-" ? -1 : 0;
		if (depth === 0 && name.startsWith("::", i) && fits("…" + name.slice(i)))
			return "…" + name.slice(i);
	}
	let letters = Math.floor(name.length * room / all);
	while (letters > 2 && !fits("…" + name.slice(-letters)))
		letters--;
	return letters > 2 ? "…" + name.slice(-letters).replace(/^:+/, "") : name;
}

/* A number for a name, the same in every page. */
function nameHash(name) {
	let h = 5381;
	for (let i = 0; i < name.length && i < 200; i++)
		h = (h * 33 ^ name.charCodeAt(i)) >>> 0;
	return Math.imul(h, 0x9e3779b1) >>> 4;
}

/* How much a frame changed: grown or shrunk, in four steps of what it was or is. */
function changeClass(node) {
	const delta = node.after - node.before, part = Math.abs(delta) / Math.max(node.before, node.after, 1);
	if (!delta)
		return "same";
	return (delta > 0 ? "up" : "down") + (part > 0.66 ? 4 : part > 0.33 ? 3 : part > 0.1 ? 2 : 1);
}
