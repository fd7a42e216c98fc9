/* SPDX-License-Identifier: MIT
 * Flame graph and icicle: sites merged by function, from the program's entry down or from the
 * allocating function up, in bytes or calls of a metric, or in what changed between two runs. */

const ROW = 19; /* pixels of a frame's height */
const MOST_FRAMES = 4000;

/* ---- what is merged ---- */

/* Call stacks as functions, outermost first: a row per site (or per place, of a comparison), then
 * one for each sum that no site tells. */
class Samples {
	constructor(model, fold) {
		this.model = model;
		const page = model.page, diff = model.columns.diff_site;
		this.site = diff ? Int32Array.from(diff) : Int32Array.from({ length: model.sites }, (_, i) => i);
		this.rest = diff ? ["omitted"] : ["omitted", "hidden", "other"];
		this.n = this.site.length + this.rest.length;
		this.start = new Int32Array(this.n + 1);
		const processes = page.processes.length > 1 ? model.processFns ??= page.processes.map((p) =>
			model.pseudo({ name: `${p.name}, pid ${p.pid ?? "?"}`, kind: "process" })) : null;
		model.noStack ??= model.pseudo(NO_STACK);
		model.restFns ??= [
			`${plural(page.diff?.left_out.places ?? page.omitted_sites, "small site", "small sites")} left out of this page`,
			`${plural(page.hidden_sites || 0, "site", "sites")} hidden by filters`, "in no site",
		].map((name) => model.pseudo({ name }));
		const all = [], one = [];
		for (let i = 0; i < this.site.length; i++) {
			this.start[i] = all.length;
			const site = this.site[i];
			one.length = 0;
			for (let n = model.node[site]; n >= 0; n = model.parent[n]) {
				const fn = model.fnOf[model.frame[n]];
				if (!fold || fn !== one[one.length - 1])
					one.push(fn);
			}
			if (!one.length)
				one.push(model.noStack);
			if (processes)
				one.push(processes[model.columns.site_process[site]]);
			for (let k = one.length - 1; k >= 0; k--)
				all.push(one[k]);
		}
		this.rest.forEach((_, k) => {
			this.start[this.site.length + k] = all.length;
			all.push(model.restFns[k]);
		});
		this.start[this.n] = all.length;
		this.path = Int32Array.from(all);
	}
	depth(i) {
		return this.start[i + 1] - this.start[i];
	}
	/* The function `level` steps from the outermost one, or from the innermost when `up`. */
	fn(i, level, up) {
		return this.path[up ? this.start[i + 1] - 1 - level : this.start[i] + level];
	}
}

/* ---- metrics ---- */

const METRICS = {
	peak: { label: "Live at the peak", bytes: "peak_bytes", blocks: "peak_blocks" },
	live: { label: "Live at the end", bytes: "live_bytes", blocks: "live_blocks" },
	growth: { label: "Growth over the run", bytes: "growth" },
	unreachable: { label: "Unreachable at the end", bytes: "retained_bytes", blocks: "retained_blocks" },
	allocated: { label: "Allocated in all", bytes: "allocated_bytes", blocks: "allocations" },
	allocations: { label: "Calls", count: "allocations" },
	temporary: { label: "Temporary calls", count: "temporary" },
	failed: { label: "Failed calls", count: "failed_allocations" },
	mapped: { label: "Mapped address space", bytes: "mapped_bytes", blocks: "maps" },
};

/* Those that this recording has something of, with their figures by site, their total and what
 * belongs to no site. */
function metricsOf(model) {
	const page = model.page, found = {};
	const grown = new Float64Array(model.sites);
	page.growth.forEach(([id, , rise]) => {
		if (model.rowOf.has(id) && rise > 0)
			grown[model.rowOf.get(id)] = rise;
	});
	for (const [name, m] of Object.entries(METRICS)) {
		const column = m.bytes ?? m.count, values = column === "growth" ? grown : model.figure(column), own = page.metrics[name];
		const sum = values.reduce((a, v) => a + (v || 0), 0);
		if (!sum && !(own?.total[0] > 0))
			continue;
		found[name] = {
			...m, name, values, say: m.bytes ? saySize : sayCount, blocks: m.blocks ? model.figure(m.blocks) : null,
			total: own ? own.total[0] ?? NaN : sum, rest: own ? [own.omitted[0], own.hidden[0], own.other[0]] : [0, 0, 0],
		};
	}
	if (found.live && page.at !== "end")
		found.live.label = `Live at ${page.at_said}`;
	return found;
}

/* The same of a comparison: figures before and after of each place. */
function changesOf(model) {
	const c = model.columns, found = {};
	const figures = {
		peak: ["Live at the peak", "peak_bytes", saySize], live: ["Live at the end", "live_bytes", saySize],
		allocated: ["Allocated in all", "allocated_bytes", saySize], allocations: ["Calls", "allocations", sayCount],
		temporary: ["Temporary calls", "temporary", sayCount],
	};
	for (const [name, [label, figure, say]] of Object.entries(figures)) {
		const before = c["diff_old_" + figure], after = c["diff_new_" + figure];
		if (before?.some(known) || after?.some(known))
			found[name] = { label, say, ...withRest(before, after, model.page.diff.left_out, figure) };
	}
	return found;
}

/* Before and after of each place, then of those that are not told. */
function withRest(before, after, rest, figure) {
	return { before: Float64Array.from([...before, rest.old[figure]]), after: Float64Array.from([...after, rest.new[figure]]) };
}

/* ---- the tree ---- */

class Tree {
	/* `widths` by sample; `signed` ones (before, after) are summed up too. */
	constructor(samples, widths, up, before, after) {
		Object.assign(this, { samples, widths, up, before, after });
		const chosen = [];
		for (let i = 0; i < samples.n; i++)
			if (widths[i] > 0)
				chosen.push(i);
		this.seen = new Int32Array(samples.model.fns.length).fill(-1);
		this.root = this.node(-1, null, Int32Array.from(chosen));
	}
	node(fn, parent, members) {
		const sum = (v) => {
			let a = 0;
			for (const i of members)
				a += v[i] || 0;
			return a;
		};
		return {
			fn, parent, members, level: parent ? parent.level + 1 : 0, kids: null, own: 0, sum: sum(this.widths),
			before: this.before ? sum(this.before) : 0, after: this.after ? sum(this.after) : 0,
		};
	}
	/* The children of a node, widest first; made when they are first asked for. */
	kids(node) {
		if (node.kids)
			return node.kids;
		const groups = [];
		for (const i of node.members) {
			if (this.samples.depth(i) === node.level) {
				node.own += this.widths[i];
				continue;
			}
			const fn = this.samples.fn(i, node.level, this.up);
			if (this.seen[fn] < 0) {
				this.seen[fn] = groups.length;
				groups.push({ fn, members: [] });
			}
			groups[this.seen[fn]].members.push(i);
		}
		groups.forEach((g) => this.seen[g.fn] = -1);
		node.kids = groups.map((g) => this.node(g.fn, node, Int32Array.from(g.members)));
		node.kids.sort((a, b) => b.sum - a.sum || a.fn - b.fn);
		return node.kids;
	}
	/* The node that those functions lead to from the root, as far as there is one. */
	follow(fns) {
		let at = this.root;
		for (const fn of fns) {
			const next = this.kids(at).find((k) => k.fn === fn);
			if (!next)
				break;
			at = next;
		}
		return at;
	}
}

function trail(node) {
	const v = [];
	for (let n = node; n?.parent; n = n.parent)
		v.unshift(n.fn);
	return v;
}

/* ---- the chart ---- */

class Flame {
	constructor(model) {
		this.model = model;
		this.diff = !!model.columns.diff_site;
		this.metrics = this.diff ? changesOf(model) : metricsOf(model);
		const names = Object.keys(this.metrics);
		this.state = {
			metric: this.metrics[model.page.metric] ? model.page.metric : names[0], up: false, hanging: true, fold: true, side: "change", search: "",
		};
		if (this.diff && names.length && !this.metric.after.some((v, i) => (v || 0) !== (this.metric.before[i] || 0)))
			this.state.side = "after";
		this.samples = names.length ? new Samples(model, true) : null;
		this.hits = null;
		this.hues = huesOf(model);
		this.chart = el("div", { class: "flame", role: "tree", "aria-label": "Flame graph: arrow keys move, Enter zooms, Escape zooms out" });
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
		const fold = this.state.fold, up = this.state.up;
		Object.assign(this.state, change);
		if (this.state.fold !== fold)
			this.samples = new Samples(this.model, this.state.fold);
		this.rebuild(up === this.state.up ? trail(this.zoomed) : []);
		this.drawControls();
		this.changed();
	}
	/* Widths of the samples under the present choice. */
	rebuild(fns = []) {
		const { samples, state } = this, m = this.metric, n = samples.site.length;
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
		this.tree = new Tree(samples, widths, state.up, m.before, m.after);
		this.zoomed = this.tree.follow(fns);
		this.focused = null;
		this.draw();
	}
	total() {
		return this.tree.root.sum;
	}
	name(node) {
		return node.fn < 0 ? "all" : this.model.fns[node.fn].brief;
	}

	/* ---- drawing ---- */

	/* Frames to draw: {node, x, w, level} with x and w as parts of the whole width. */
	layout() {
		const least = 1.3 / Math.max(200, this.view.clientWidth || 1000), above = [];
		for (let n = this.zoomed.parent; n; n = n.parent)
			above.unshift({ node: n, x: 0, w: 1, above: true });
		const shown = [...above, { node: this.zoomed, x: 0, w: 1 }];
		let row = [shown.at(-1)];
		while (row.length && shown.length < MOST_FRAMES) {
			const next = [];
			for (const f of row) {
				let x = f.x;
				const scale = f.node.sum ? f.w / f.node.sum : 0;
				for (const kid of this.tree.kids(f.node)) {
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
		const shown = this.layout(), width = this.view.clientWidth || 1000;
		const deepest = shown.reduce((a, f) => Math.max(a, f.node.level), 0);
		const pieces = document.createDocumentFragment();
		for (const f of shown)
			pieces.append(this.frame(f, width, deepest));
		clear(this.chart).append(pieces);
		this.chart.style.height = (deepest + 1) * ROW + "px";
		if (!this.state.hanging)
			this.view.scrollTop = this.view.scrollHeight;
		this.current(this.focused && this.elementOf(this.focused) ? this.focused : this.zoomed, false);
		this.drawCrumbs();
		this.drawTable();
		this.say();
	}
	frame({ node, x, w, above }, width, deepest) {
		const level = this.state.hanging ? node.level : deepest - node.level;
		const e = el("div", {
			class: this.classes(node, above), role: "treeitem", tabindex: "-1", "aria-level": node.level + 1,
			"aria-label": `${this.name(node)}, ${this.amount(node)}`,
			style: { left: x * 100 + "%", width: `max(1px, calc(${w * 100}% - 1px))`, top: level * ROW + "px" },
		}, w * width > 26 ? this.name(node) : "");
		this.nodes.set(e, node);
		return e;
	}
	classes(node, above) {
		const fn = node.fn < 0 ? { kind: "all" } : this.model.fns[node.fn];
		let c = "fr " + (this.diff ? changeClass(node) : fn.kind ? fn.kind : !fn.known ? "nameless" : fn.runtime ? "runtime" :
			`m${this.hues.get(fn.module) ?? 11} v${shade(fn.name)}`);
		if (above)
			c += " above";
		if (this.hits && node.fn >= 0 && this.hits[node.fn])
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
		const v = [];
		for (let n = this.zoomed; n; n = n.parent)
			v.unshift(n);
		const button = (n) => el("button", { type: "button", title: "Zoom to this frame", on: { click: () => this.zoom(n) } }, this.name(n));
		clear(this.crumbs);
		if (v.length < 2)
			return;
		const shown = v.length > 7 ? [v[0], null, ...v.slice(-5)] : v;
		this.crumbs.append(...shown.map((n) => n ? button(n) : el("span", {}, "…")),
			el("button", { type: "button", class: "reset", on: { click: () => this.zoom(this.tree.root) } }, "Reset zoom"));
	}
	drawControls() {
		const s = this.state, names = Object.entries(this.metrics).map(([k, m]) => [k, m.label]);
		clear(this.controls).append(
			choice("Show", names, s.metric, (metric) => this.set({ metric })),
			this.diff ? choice("Width", [["change", "what changed"], ["after", "after"], ["before", "before"]], s.side, (side) => this.set({ side })) : "",
			choice("Read", [["down", "from the program's entry down"], ["up", "from the allocation up"]], s.up ? "up" : "down",
				(v) => this.set({ up: v === "up" })),
			choice("As", [["icicle", "icicle (root on top)"], ["flame", "flame graph (root below)"]], s.hanging ? "icicle" : "flame",
				(v) => this.set({ hanging: v === "icicle" })),
			el("label", { class: "choice check" }, el("input", {
				type: "checkbox", checked: s.fold, on: { change: (e) => this.set({ fold: e.target.checked }) },
			}), el("span", {}, "Fold recursion")));
	}
	drawLegend() {
		const item = (cls, words) => el("li", {}, el("span", { class: `fr ${cls}`, "aria-hidden": "true" }), words);
		const hues = [...this.hues], named = this.diff ? [["up4", "grown"], ["up1", "a little"], ["same", "unchanged"], ["down1", "a little"], ["down4", "shrunk"]] :
			[...hues.slice(0, hues.length > 12 ? 11 : 12).map(([module, i]) => [`m${i}`, baseName(module)]), ...(hues.length > 12 ? [["m11", `${hues.length - 11} more modules`]] : []),
				["runtime", "runtime"], ["nameless", "no symbols"]];
		this.legend.append(...named.map(([cls, words]) => item(cls, words)));
	}
	/* The children of what is zoomed to, in words. */
	drawTable() {
		if (!this.table.open || !this.tree)
			return;
		const kids = this.tree.kids(this.zoomed), m = this.metric, most = 200;
		const heads = this.diff ? ["function", "before", "after", "change"] : ["function", "with what it calls", "share", "itself"];
		const rows = kids.slice(0, most).map((k) => {
			const button = el("button", { type: "button", class: "link", on: { click: () => this.zoom(k) } }, this.name(k));
			if (this.diff)
				return [button, m.say(k.before), m.say(k.after), signed(m.say, k.after - k.before)];
			this.tree.kids(k);
			return [button, m.say(k.sum), sayShare(k.sum, this.total()), m.say(k.own)];
		});
		if (kids.length > most)
			rows.push([`${sayCount(kids.length - most)} more`, m.say(kids.slice(most).reduce((a, k) => a + k.sum, 0)), "", ""]);
		clear(this.tableBox).append(simpleTable(`What ${this.name(this.zoomed)} ${this.state.up ? "is called by" : "calls"}`, heads, rows));
	}

	/* ---- moving about ---- */

	listen() {
		const nodeAt = (e) => this.nodes.get(e.target.closest(".fr"));
		this.chart.addEventListener("click", (e) => nodeAt(e) && this.zoom(nodeAt(e)));
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
	/* What a frame stands for, for the tip. */
	about(node) {
		const m = this.metric, fn = node.fn < 0 ? null : this.model.fns[node.fn];
		this.tree.kids(node);
		const lines = this.diff ? [
			["before", m.say(node.before)], ["after", m.say(node.after)],
			["change", `${signed(m.say, node.after - node.before)}${node.before ? ` (${sayShare(node.after - node.before, node.before)})` : ""}`],
		] : [
			[m.label, `${m.say(node.sum)} (${sayShare(node.sum, this.total())})`],
			this.range(node) ? ["95 % sure", this.range(node).slice(2, -1)] : null,
			node.own ? ["of that itself", m.say(node.own)] : null,
			node.parent && node.parent.fn >= 0 ? ["of the frame before", sayShare(node.sum, node.parent.sum)] : null,
		];
		if (m.blocks && !this.diff && fn?.kind !== "pseudo")
			lines.push([m === this.metrics.allocated ? "calls" : "blocks", sayCount(this.blocks(node))]);
		lines.push(["sites", sayCount(node.members.length)]);
		return [el("strong", {}, fn ? fn.name : "all"), fn?.module ? el("span", { class: "dim" }, fn.module) : "", tipLines(lines)];
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
		const at = this.focused, drawn = (n) => n && this.elementOf(n) ? n : null;
		const siblings = at?.parent ? this.tree.kids(at.parent) : [], i = siblings.indexOf(at);
		const inwards = () => drawn(this.tree.kids(at)[0]), outwards = () => drawn(at.parent);
		const moves = {
			ArrowDown: this.state.hanging ? inwards : outwards, ArrowUp: this.state.hanging ? outwards : inwards,
			ArrowLeft: () => drawn(siblings[i - 1]), ArrowRight: () => drawn(siblings[i + 1]), Home: () => drawn(this.tree.root),
		};
		if (moves[e.key]) {
			e.preventDefault();
			const to = moves[e.key]();
			if (to)
				this.current(to, true);
		} else if (e.key === "Enter" || e.key === " ") {
			e.preventDefault();
			this.zoom(at, true);
		} else if (e.key === "Escape" || e.key === "Backspace") {
			e.preventDefault();
			this.zoom(this.zoomed.parent ?? this.tree.root, true);
		}
	}
	zoom(node, focus) {
		hideTip();
		this.zoomed = node;
		this.focused = node;
		this.draw();
		this.current(node, focus);
		this.changed();
	}
	/* Zooms to where a site's stack ends. */
	zoomToSite(site) {
		const i = this.samples.site.indexOf(site), n = i < 0 ? 0 : this.samples.depth(i);
		this.zoom(this.tree.follow(Array.from({ length: n }, (_, k) => this.samples.fn(i, k, this.state.up))), true);
	}
	/* Marks functions; `hits` is a flag by function, or null. */
	search(hits) {
		this.hits = hits;
		this.chart.classList.toggle("searching", !!hits);
		this.draw();
	}
	/* How much lies in stacks that have a marked function. */
	found() {
		const { samples, hits, tree } = this;
		let sum = 0;
		for (const i of tree.root.members)
			for (let k = samples.start[i]; k < samples.start[i + 1]; k++)
				if (hits[samples.path[k]]) {
					sum += tree.widths[i];
					break;
				}
		return sum;
	}
	say() {
		const m = this.metric;
		let words = this.diff ? `${m.label}: ${signed(m.say, this.tree.root.after - this.tree.root.before)} in all` : `${m.label}: ${m.say(this.total())} in all`;
		if (this.model.page.estimated)
			words += this.range(this.tree.root) || ", an estimate";
		if (this.zoomed.parent)
			words += `; ${this.name(this.zoomed)}: ${this.amount(this.zoomed)}${this.range(this.zoomed)}`;
		if (this.hits)
			words += `; found in ${m.say(this.found())}, ${sayShare(this.found(), this.total())}`;
		this.status.textContent = words;
	}
}

/* Colours of modules: the one with most functions gets the first of twelve hues, and so on. */
function huesOf(model) {
	const counts = new Map();
	for (const fn of model.fns)
		if (fn.module && !fn.runtime && !fn.kind)
			counts.set(fn.module, (counts.get(fn.module) ?? 0) + 1);
	const order = [...counts].sort((a, b) => b[1] - a[1] || compare(a[0], b[0])).map(([module]) => module);
	return new Map(order.map((module, i) => [module, Math.min(i, 11)]));
}

/* One of four shades, so that neighbours of a module can be told apart. */
function shade(name) {
	let h = 5381;
	for (let i = 0; i < name.length && i < 200; i++)
		h = (h * 33 ^ name.charCodeAt(i)) >>> 0;
	return h % 4;
}

/* How much a frame changed: grown or shrunk, in four steps of what it was or is. */
function changeClass(node) {
	const delta = node.after - node.before, part = Math.abs(delta) / Math.max(node.before, node.after, 1);
	if (!delta)
		return "same";
	return (delta > 0 ? "up" : "down") + (part > 0.66 ? 4 : part > 0.33 ? 3 : part > 0.1 ? 2 : 1);
}
