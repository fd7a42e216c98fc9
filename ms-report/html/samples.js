/* SPDX-License-Identifier: MIT
 * What flame graphs are drawn of: sites as rows of functions, their figures under a metric, and trees of frames merged from them. */

/* ---- what is merged ---- */

/* Call stacks as functions, outermost first: a row per site (or per place, of a comparison), then
 * one for each sum that no site tells. */
class Samples {
	/* `fold`: direct recursion counts as one call; `mine`: frames of the runtime are left out. */
	constructor(model, fold, mine) {
		this.model = model;
		const page = model.page, diff = model.columns.diff_site;
		this.site = diff ? Int32Array.from(diff) : Int32Array.from({ length: model.sites }, (_, i) => i);
		this.rest = diff ? ["omitted"] : ["omitted", "hidden", "other"];
		this.n = this.site.length + this.rest.length;
		this.start = new Int32Array(this.n + 1);
		const processes = page.processes.length > 1 ? model.processFns ??= page.processes.map((p) =>
			model.pseudo({ name: `${p.name}, pid ${p.pid ?? "?"}`, kind: "process" })) : null;
		model.noStack ??= model.pseudo(NO_STACK);
		const omitted = page.diff?.left_out.places ?? page.omitted_sites;
		model.restFns ??= [
			omitted ? `${plural(omitted, "small site", "small sites")} left out of this page` : "sites shown as one sum",
			`${plural(page.hidden_sites || 0, "site", "sites")} hidden by filters`, "not in any site",
		].map((name) => model.pseudo({ name }));
		const all = [], one = [];
		for (let i = 0; i < this.site.length; i++) {
			this.start[i] = all.length;
			const site = this.site[i];
			one.length = 0;
			for (let n = model.node[site]; n >= 0; n = model.parent[n]) {
				const fn = model.fnOf[model.frame[n]];
				if ((!fold || fn !== one[one.length - 1]) && !(mine && model.flags[model.frame[n]] & 2))
					one.push(fn);
			}
			if (!one.length)
				one.push(model.node[site] < 0 ? model.noStack : model.runtimeFn ??= model.pseudo({ name: "(only frames of the runtime)" }));
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
	/* All of them, outermost first, or innermost first when `up`. */
	stack(i, up) {
		return Array.from({ length: this.depth(i) }, (_, k) => this.fn(i, k, up));
	}
}

/* Those of the same stacks that have a function: from its outermost call out to the entry when `up`, else in to the allocation. The
 * two meet in that call alone, so that each stack counts once, recursive or not, and no frame of it is lost. */
class Around {
	constructor(samples, fn, up) {
		const { n, path, start } = samples;
		Object.assign(this, { samples, up, n, model: samples.model, at: new Int32Array(n).fill(-1) });
		for (let i = 0; i < n; i++)
			for (let k = start[i]; k < start[i + 1] && this.at[i] < 0; k++)
				if (path[k] === fn)
					this.at[i] = k;
	}
	depth(i) {
		return this.up ? this.at[i] - this.samples.start[i] : this.samples.start[i + 1] - 1 - this.at[i];
	}
	fn(i, level) {
		return this.samples.path[this.up ? this.at[i] - 1 - level : this.at[i] + 1 + level];
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
	/* `widths` by sample, below 0 = it does not belong here; `before` and `after` of a comparison are summed up too, also where the width
	 * is 0. `fn` is what the root stands for, -1 = all. */
	constructor(samples, widths, up, before, after, fn = -1) {
		Object.assign(this, { samples, widths, up, before, after });
		const chosen = [];
		for (let i = 0; i < samples.n; i++)
			if (widths[i] > 0 || (widths[i] === 0 && (before?.[i] || after?.[i])))
				chosen.push(i);
		this.seen = new Int32Array(samples.model.fns.length).fill(-1);
		this.root = this.node(fn, null, Int32Array.from(chosen));
	}
	node(fn, parent, members) {
		const sum = (v) => {
			let a = 0;
			for (const i of members)
				a += v[i] || 0;
			return a;
		};
		return {
			tree: this, fn, parent, members, level: parent ? parent.level + 1 : 0, kids: null, own: 0, sum: sum(this.widths),
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
