/* SPDX-License-Identifier: MIT
 * Puts the page together: figures, charts, tables, search, and light or dark. */

/* ---- light and dark ---- */

function themeButton() {
	const names = ["auto", "light", "dark"];
	const stored = () => {
		try {
			return localStorage.getItem("memscope-theme");
		} catch {
			return null; /* not allowed where the page is */
		}
	};
	let theme = names.includes(stored()) ? stored() : "auto";
	const button = el("button", { type: "button", id: "theme" });
	const apply = () => {
		if (theme === "auto")
			delete document.documentElement.dataset.theme;
		else
			document.documentElement.dataset.theme = theme;
		button.textContent = `Colours: ${theme}`;
	};
	button.addEventListener("click", () => {
		theme = names[(names.indexOf(theme) + 1) % 3];
		try {
			localStorage.setItem("memscope-theme", theme);
		} catch {
			/* forgotten with the page */
		}
		apply();
	});
	apply();
	return button;
}

/* ---- figures of the run ---- */

/* Of an estimate, "3.2 MiB (1.3-6.9)", the interval goes below. */
function card(title, value, note, cls) {
	const [, figure, range] = /^(.*) \((\d.*-.*)\)$/.exec(value) ?? [null, value, null];
	return el("div", { class: `card ${cls ?? ""}` }, el("dt", {}, title),
		el("dd", {}, el("span", { class: "value" }, figure, range ? el("span", { class: "range" }, `95 % interval: ${range}`) : null), note ? el("span", { class: "note" }, note) : null));
}

function runCards(page) {
	const t = page.totals, said = (name, say) => page.said?.[name] ?? say(t[name]);
	const blocks = (n) => known(n) ? `in ${plural(n, "block", "blocks")}` : "";
	const cards = [
		card("Peak heap", said("peak_bytes", saySize), [known(t.peak_time_ns) ? `at ${sayTime(t.peak_time_ns)}` : "", blocks(t.peak_blocks)].filter(Boolean).join(", ") + (page.peak_of || ""), "peak"),
		card(page.still_growing ? "Live so far" : "Live at the end", said("unfreed_bytes", saySize), blocks(t.unfreed_blocks) + (page.end_of || ""), "live"),
	];
	if (known(t.peak_rss_bytes))
		cards.push(card("Peak RSS", saySize(t.peak_rss_bytes), known(t.end_rss_bytes) ? `${saySize(t.end_rss_bytes)} at the end` : "", "rss"));
	const rate = t.allocations / page.duration_ns * 1e9;
	cards.push(card("Allocations", said("allocations", sayCount), [`of ${said("allocated_bytes", saySize)}`, !page.estimated && page.duration_ns > 1e6 && known(rate) ?
		`${sayBrief(rate)}/s` : ""].filter(Boolean).join(", "), ""));
	if (known(t.temporary_allocations))
		cards.push(card("Temporary", sayShare(t.temporary_allocations, t.allocations), "of allocations, freed before the thread's next", ""));
	if (known(t.unreachable_bytes))
		cards.push(card("Unreachable", saySize(t.unreachable_bytes), t.unreachable_blocks ? `${blocks(t.unreachable_blocks)}: leaks` : "a scan found no leaks",
			t.unreachable_blocks ? "leak" : ""));
	const growing = page.lists.find((l) => l.id === "growing");
	if (growing)
		cards.push(card(growing.title.startsWith("GROWING") ? "Growing" : "Kept all along", growing.title.replace(/.*: /, "").replace(/,.*/, ""),
			growing.title.replace(/.*; ([^:]*): [^,]*/, "$1"), "leak"));
	return el("dl", { class: "cards" }, cards);
}

/* Of what was only looked at: the last and the largest of each line. */
function watchedCards(series) {
	return el("dl", { class: "cards" }, series.series.map((s) => card(s.label, saySize(s.values.findLast(known)),
		series.time.length > 1 ? `at the end; peak ${saySize(s.values.reduce((a, v) => v > a ? v : a, 0))}` : "", s.id)));
}

/* Sentences about the run that fit nowhere else. */
function notes(page) {
	const all = [
		page.verdicts ? `Of what is live at ${page.at_said}: ${page.verdicts.replace(" of it", "")}` : null, page.unscanned ? `No verdict on leaks: ${page.unscanned}` : null, page.scan_terms.length ? `Scan for leaks: ${page.scan_terms.join(", ")}` : null, page.beside_peak ? `At the peak: ${page.beside_peak}` : null,
		page.beside_end ? `At the end: ${page.beside_end}` : null, page.gone ? `Exec: ${page.gone}` : null, page.chosen ? `Blocks: ${page.chosen}` : null,
		page.beside_heap ? `Beside the heap: ${page.beside_heap}` : null, page.next.length ? `Next commands: ${page.next.join(", ")}` : null, page.hidden === "nothing (no filters)" ? null : `Hidden: ${page.hidden}`, page.one_time ? `Not hidden: ${page.one_time}` : null,
		page.omitted_sites ? `${plural(page.omitted_sites, "small site is", "small sites are")} shown as one sum, to keep the page small: ms-report --html --limit 0 keeps all` : null,
	].filter(Boolean);
	return all.length ? el("ul", { class: "notes" }, all.map((s) => el("li", {}, s))) : null;
}

/* The rows that changed, `found`, come first: they are what a reader came for. */
function diffSection(page, found) {
	const d = page.diff, head = ["figure", "before", "after", "change"];
	const change = (l) => el("span", { class: !l.significant || l.sign === 1 ? "dim" : l.sign ? "grown" : "shrunk" }, `${l.delta.replaceAll(" ", "\u00a0")} ${l.percent.replaceAll(" ", "\u00a0")}`, l.noise ? " (noise)" : "");
	return [
		el("p", {}, "From ", el("code", {}, d.old ?? "nothing"), ` (${d.old_point ?? "end"}) to `, el("code", {}, d.new), ` (${d.new_point ?? "end"})`),
		found,
		simpleTable("Totals of both runs", head, d.lines.map((l) => [l.title, l.old, l.new, l.sign === null ? l.delta : change(l)])),
		el("ul", { class: "notes" }, [d.worth, d.rest ? `Rest: ${d.rest}` : null, d.unmatched].filter(Boolean).map((s) => el("li", {}, s))),
	];
}

/* ---- histograms ---- */

function sizesSection(page) {
	const t = page.tables.find((x) => x.id === "sizes");
	if (!t?.rows.some((r) => r[0] === ""))
		return null;
	const at = Object.fromEntries(t.columns.map(([, name], i) => [name, i + 1]));
	const rows = t.rows.filter((r) => r[0] === "").map((r) => ["low", "high", "allocations", "allocated_bytes", "peak_blocks", "live_blocks"].map((n) => r[at[n]]));
	const figures = [[2, "allocations", sayCount], [3, "bytes allocated", saySize], [4, "blocks at the peak", sayCount], [5, "blocks at the end", sayCount]].filter(([k]) => rows.some((r) => r[k] > 0));
	const plot = el("div", {});
	const draw = (k) => {
		const [column, words, say] = figures.find((f) => f[0] === +k);
		clear(plot).append(barChart(`Blocks by size: ${words}`, sizeBars(rows, column), say));
	};
	draw(figures[0]?.[0] ?? 2);
	return [el("div", { class: "controls" }, choice("Show", figures.map(([k, words]) => [String(k), words]), "2", draw)), plot,
		behind("The same as a table", () => dataTable(t, { caption: t.title, bars: false }))];
}

function lifetimesSection(page) {
	const of = (unit) => page.lifetimes.filter((r) => r[0] === unit).map((r) => r.slice(1));
	const units = [["ns", "time", sayTime], ["allocations", "allocations of the program", (v) => sayCount(v)]].filter(([u]) => of(u).length);
	if (!units.length)
		return null;
	const plot = el("div", {});
	const draw = (unit) => {
		const [, words, say] = units.find((u) => u[0] === unit);
		clear(plot).append(barChart(`Frees by lifetime in ${words}`, ageBars(of(unit), say), sayCount));
	};
	draw(units[0][0]);
	return [el("div", { class: "controls" }, choice("Lifetime in", units.map(([u, words]) => [u, words]), units[0][0], draw)), plot,
		behind("The same as a table", () => el("div", {}, units.map(([u, words, say]) => simpleTable(`Blocks freed, by lifetime in ${words}`, ["lifetime", "freed"],
			of(u).map(([low, high, frees]) => [sayRange(low, high, say), sayCount(frees)])))))];
}

/* ---- what the whole page follows ---- */

/* A box for "only my code", which `refresh` follows. */
class Mine {
	constructor(model, refresh) {
		Object.assign(this, { model, refresh, changed: () => {} });
		this.input = el("input", { type: "checkbox", checked: model.mine, on: { change: () => {
			this.setState(this.input.checked ? "1" : "0");
			this.changed();
		} } });
		this.box = el("label", { class: "choice check", title: "Fold frames of the C and C++ runtime away: in the flame graph, in tables and in call stacks" }, this.input,
			el("span", {}, "Only my code"));
	}
	getState() {
		return this.model.mine === this.model.mineFirst ? null : this.model.mine ? "1" : "0";
	}
	setState(text) {
		this.input.checked = this.model.mine = text === "1" || (text !== "0" && this.model.mineFirst);
		this.refresh();
	}
}

/* Search and "only my code", for the bar on top; all of it and the rest in the address of the page. */
function controls(model, { flame, sites, groups, timeline, lists, first }) {
	const state = new State(), search = new Search(model, (result) => {
		flame.show(result);
		sites.search(result?.found ?? null);
		groups?.search(result?.found ?? null);
	}, () => flame.found());
	const mine = new Mine(model, () => {
		flame.refresh();
		sites.draw();
		lists?.draw();
		groups?.draw();
	});
	search.go = () => flame.goToHit() || sites.goToFirst();
	flame.onChange(() => search.say());
	flame.find = (text) => search.add(text);
	for (const [key, widget, step] of [["t", timeline, "timeline"], ["l", sites.list], ["f", groups], ["d", lists, first], ["o", sites, "sites"]])
		if (widget?.getState)
			state.add(key, widget, step);
	state.add("q", search);
	state.add("mine", mine);
	addFlame(state, flame);
	document.addEventListener("keydown", (e) => { /* wherever the focus is, but where Escape has a meaning of its own */
		if (e.key === "Escape" && !e.defaultPrevented && !/^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName) && (state.undo(["z", "s", "t"]) || flame.out()))
			e.preventDefault();
	});
	return { state, search, mine };
}

/* ---- the whole ---- */

function section(id, title, ...children) {
	const parts = children.flat().filter(Boolean);
	return parts.length ? el("section", { id, "aria-labelledby": `${id}-title` }, el("h2", { id: `${id}-title` }, title), ...parts) : null;
}

function tableSection(page, id, title, options) {
	const t = page.tables.find((x) => x.id === id);
	return t?.rows.some((r) => r[0] === "") ? section(id, title, dataTable(t, { caption: t.title, ...options })) : null;
}

/* What resident memory is for, and who pins it. */
function residentSection(page) {
	const r = page.resident;
	return r ? section("resident", "Resident memory", el("p", {}, r.answer), r.tables.map((t) => el("div", { class: "part" }, dataTable(t, { caption: t.title })))) : null;
}

/* What keeps blocks alive: the largest, and all of it as an icicle; of a comparison what keeps more. */
function keptSection(page) {
	const k = page.kept;
	if (!k)
		return null;
	const t = k.tables[0], rows = t.rows.map((r) => r.slice(1)), icicle = k.lines.length ? new Icicle(k.lines) : null;
	return section("kept", page.diff ? "Kept more by" : "Kept by", rows.length ? simpleTable(t.title, page.diff ? ["keeper", "change", "before", "after"] : ["keeper", "bytes", "share", "blocks"],
			rows.map(([a, b, c, name]) => page.diff ? [name, a ?? "", b ?? "", c ?? ""] : [name, saySize(a ?? NaN), b, c === null ? "" : sayCount(c)])) : el("p", {}, `${t.title}: ${t.empty}`),
		icicle?.box, icicle ? behind("The same as a table", () => icicle.table()) : null);
}

function start(data) {
	const model = new Model(data), page = model.page, main = document.getElementById("main");
	unknownWord = page.unknown;
	model.fns.forEach((f) => f.known && briefNames.set(f.name, f.brief));
	const flame = new Flame(model), stacks = model.sites > 0, sites = stacks ? new Sites(model, flame) : null;
	const series = page.watched ? watchedSeries(model) : liveSeries(model), timeline = series?.series.length && series.time.length > 1 ? new Timeline(model, series) : null;
	const several = page.processes.length > 1;
	const lists = page.lists.length ? new Lists(model, sites) : null, groups = stacks && !page.diff && flame.tree ? new Groups(model, flame) : null;
	const moments = timeline && sites && Moments.of(model), range = moments ? new Range(model, moments, timeline, { flame, sites, groups }) : null;
	const findings = lists && !page.diff ? section("findings", lists.wrong ? "Findings" : "Largest sites", lists.box) : null;
	const run = [
		section("figures", page.diff ? "The new run" : "At a glance", page.growth_verdict.length ? el("p", {}, el("strong", {}, "Growth: "), page.growth_verdict.join("; ")) : null, page.watched ? series && watchedCards(series) : runCards(page), notes(page)),
		findings,
		page.diff ? null : keptSection(page),
		timeline ? section("timeline", page.diff ? "Timeline of the new run" : "Timeline", timeline.box, range?.box, behind("The same as a table", series.table)) : null,
	];
	const stacked = [
		stacks && flame.tree ? section("flame", page.diff ? "Where it changed" : "Flame graph", flame.box) : null,
		stacks ? section("sites", "Call stacks", sites.box) : null,
	];
	const sections = [
		page.diff ? keptSection(page) : null,
		page.diff ? section("changes", "What changed", diffSection(page, lists?.box)) : null,
		...(page.diff ? [...stacked, ...run] : [...run, tableSection(page, "kinds", "Kinds of memory"), ...stacked]),
		residentSection(page),
		tableSection(page, "heaps", "Heaps"),
		groups ? section("functions", "Functions", groups.box) : null,
		tableSection(page, "growth", "Growth"),
		section("sizes", "Sizes", sizesSection(page)),
		section("lifetimes", "Lifetimes", lifetimesSection(page)),
		page.cohorts.length ? section("cohorts", "Cohorts", el("p", {}, "What was allocated in each part of the run, and how much of that was still live later. What leaks slowly is a row that does not fade."), new Cohorts(page).box) : null,
		tableSection(page, "threads", "Threads"),
		several || page.watched ? tableSection(page, "processes", "Processes") : null,
		tableSection(page, "regions", "Regions"),
		tableSection(page, "skipped", "Not read"),
		tableSection(page, "modules", "Modules", { bars: false }),
		page.watched ? null : tableSection(page, "summary", "All figures"), /* of what was only looked at nearly all are not known */
	].filter(Boolean);
	clear(main).append(...sections);
	const nav = document.getElementById("nav"), all = stacks && flame.tree ? controls(model, { flame, sites, groups, timeline, lists, first: page.diff ? "changes" : "findings" }) : null;
	nav.append(el("ul", {}, sections.map((s) => el("li", {}, el("a", { href: `#${s.id}` }, s.querySelector("h2").textContent)))),
		el("div", { class: "tools" }, all?.search.input, all && model.flags.some((f) => f & 2) ? all.mine.box : null, themeButton()), ...(all ? [all.search.said] : []));
	document.body.append(tip);
	(all?.state ?? new State()).start();
	document.documentElement.dataset.ready = "yes";
	/* for who looks into the page with the browser's own tools, and for tests */
	Object.defineProperty(globalThis, "memscope", { value: { model, flame, sites, timeline, lists, groups, ...all } });
}

readData().then(start).catch((e) => {
	clear(document.getElementById("main")).append(el("p", { class: "banner", role: "alert" }, `This page cannot be shown: ${e.message}`));
	document.documentElement.dataset.ready = "failed";
	throw e;
});
