/* SPDX-License-Identifier: MIT
 * Bars, and what all charts share: scales with round steps, and the table behind each. */

/* Round steps from 0 to `most`, about `count` of them; `binary` ones are round in KiB, MiB... */
function ticks(most, count, binary) {
	if (!(most > 0))
		return [0];
	let unit = 1;
	while (binary && most / unit >= 1024)
		unit *= 1024;
	const rough = most / unit / count, power = 10 ** Math.floor(Math.log10(rough));
	let step = [1, 2, 5, 10].find((k) => k * power >= rough) * power * unit;
	if (step < 1)
		step = 1;
	const all = [];
	for (let v = 0; v <= most * 1.0001; v += step)
		all.push(v);
	return all;
}

/* Moments that a clock would name. */
function timeTicks(most, count) {
	const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7, 2e7, 5e7, 1e8, 2e8, 5e8,
		1e9, 2e9, 5e9, 1e10, 3e10, 6e10, 12e10, 3e11, 6e11, 12e11, 18e11, 36e11, 72e11, 216e11, 432e11, 864e11];
	const step = steps.find((s) => most / s <= count) ?? 864e11 * Math.ceil(most / 864e11 / count);
	const all = [];
	for (let v = 0; v <= most; v += step)
		all.push(v);
	return all;
}

/* Without what is the same for all: "2.5 s", "40 ms", "1h 20m". */
function sayTick(ns) {
	if (ns === 0)
		return "0";
	if (ns < 1e3)
		return +ns.toPrecision(3) + " ns";
	if (ns < 999.5e3)
		return +(ns / 1e3).toPrecision(3) + " us";
	if (ns < 999.5e6)
		return +(ns / 1e6).toPrecision(3) + " ms";
	if (ns < 60e9)
		return +(ns / 1e9).toPrecision(3) + " s";
	const m = Math.floor(ns / 60e9), s = Math.round(ns / 1e9) % 60, h = Math.floor(m / 60);
	if (h >= 24)
		return `${Math.floor(h / 24)}d ${h % 24}h`;
	return h ? `${h}h ${String(m % 60).padStart(2, "0")}m` : s ? `${m}m ${s}s` : `${m}m`;
}

/* A table that can be folded away: what a chart shows, for who cannot see it. */
function behind(words, make) {
	const box = el("details", { class: "behind" }, el("summary", {}, words));
	box.addEventListener("toggle", () => {
		if (box.open && box.children.length === 1)
			box.append(make());
	});
	return box;
}

function simpleTable(caption, heads, rows) {
	const cell = (tag, v, i) => el(tag, { class: i ? "n" : null, scope: tag === "th" ? "col" : null }, v);
	return el("div", { class: "scroll" }, el("table", {}, el("caption", {}, caption),
		el("thead", {}, el("tr", {}, heads.map((h, i) => cell("th", h, i)))),
		el("tbody", {}, rows.map((r) => el("tr", {}, r.map((v, i) => cell("td", v, i)))))));
}

/* Upright bars. `bars` are {label, value, tip: [[words, value]]}. */
function barChart(title, bars, say, small) {
	const most = Math.max(...bars.map((b) => b.value || 0), 0);
	const steps = small ? [] : ticks(most, 4, say === saySize).slice(1);
	const column = (b) => {
		const lines = () => [el("strong", {}, b.label), tipLines(b.tip)];
		const bar = el("div", { class: "bar", style: { height: most ? `${(b.value || 0) * 100 / most}%` : "0" } });
		return el("div", {
			class: "column", on: { mousemove: (e) => showTip(e.clientX, e.clientY, lines()), mouseleave: hideTip },
		}, bar);
	};
	const every = Math.ceil(bars.length / (small ? 4 : 12));
	return el("div", { class: small ? "bars small" : "bars", role: "img", "aria-label": `${title}: ${bars.length} bars; the table has the figures` },
		el("div", { class: "plot", "aria-hidden": "true" },
			steps.map((v) => el("div", { class: "grid", style: { bottom: `${v * 100 / most}%` } }, el("span", {}, say === saySize ? saySize(v) : sayBrief(v)))),
			bars.map(column)),
		el("div", { class: "labels", "aria-hidden": "true" }, bars.map((b, i) => el("span", { class: small ? null : i % (2 * every) === 0 ? "first" : i % every === 0 ? "second" : null },
			i % every === 0 ? b.short ?? b.label : ""))));
}
