/* SPDX-License-Identifier: MIT
 * Figures as words, and elements of the page. Text gets into the page by textContent alone. */

let unknownWord = "n/a";

function known(v) {
	return typeof v === "number" && !Number.isNaN(v);
}

/* The same words as in the text report. */
function saySize(v) {
	if (!known(v))
		return unknownWord;
	const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
	let x = Math.abs(v), unit = 0;
	while (unit < 6 && x >= (unit ? 1023.95 : 1024)) {
		x /= 1024;
		unit++;
	}
	return (v < 0 ? "-" : "") + (unit === 0 ? String(x) : x.toFixed(unit >= 3 ? 2 : 1)) + " " + units[unit];
}

function sayCount(v) {
	return known(v) ? v.toLocaleString("en-US", { maximumFractionDigits: 0 }) : unknownWord;
}

/* For axes: "1.2 M". */
function sayBrief(v) {
	const units = ["", " k", " M", " G", " T"];
	let x = Math.abs(v), unit = 0;
	while (x >= 999.5 && unit < units.length - 1) {
		x /= 1000;
		unit++;
	}
	return (v < 0 ? "-" : "") + +x.toPrecision(3) + units[unit];
}

function sayTime(ns) {
	if (!known(ns))
		return unknownWord;
	if (ns < 1e6)
		return (ns / 1e6).toFixed(2) + " ms";
	if (ns < 999.5e6)
		return (ns / 1e6).toFixed(ns < 9.95e6 ? 1 : 0) + " ms";
	if (ns < 59999500000)
		return (ns / 1e9).toFixed(3) + " s";
	const s = Math.floor((ns + 5e8) / 1e9), two = (x) => String(x).padStart(2, "0");
	const d = Math.floor(s / 86400), h = Math.floor(s / 3600) % 24, m = Math.floor(s / 60) % 60;
	if (d)
		return `${d}d ${h}h ${two(m)}m`;
	return h ? `${h}h ${two(m)}m ${two(s % 60)}s` : `${m}m ${two(s % 60)}s`;
}

function sayShare(part, whole) {
	if (!known(part) || !known(whole))
		return unknownWord;
	if (!whole)
		return "n/a";
	const v = part * 100 / whole, size = Math.abs(v);
	return size === 0 ? "0 %" : size < 0.05 ? "<0.1 %" : (size < 9.95 ? v.toFixed(1) : v.toFixed(0)) + " %";
}

function signed(say, v) {
	return known(v) ? (v > 0 ? "+" : "") + say(v) : unknownWord;
}

function plural(n, one, many) {
	return `${sayCount(n)} ${n === 1 ? one : many}`;
}

/* A range of sizes, both ends in it: exact for single sizes, else "64 B to 127 B". */
function sayRange(low, high, say) {
	return low === high ? say(low) : high === null || !known(high) ? `${say(low)} or more` : `${say(low)} to ${say(high)}`;
}

/* An element with attributes and children: strings become text, null is left out. `on` has event
 * handlers, `style` properties of its style. */
function el(tag, attributes, ...children) {
	const e = tag.startsWith("svg:") ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4)) : document.createElement(tag);
	for (const [name, v] of Object.entries(attributes ?? {})) {
		if (v === null || v === undefined || v === false)
			continue;
		if (name === "on")
			Object.entries(v).forEach(([event, handler]) => e.addEventListener(event, handler));
		else if (name === "style")
			Object.entries(v).forEach(([property, value]) => e.style.setProperty(property, value));
		else
			e.setAttribute(name, v === true ? "" : v);
	}
	e.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
	return e;
}

function clear(e) {
	e.replaceChildren();
	return e;
}

/* A labelled choice; `options` are [value, words]. */
function choice(label, options, value, change) {
	const select = el("select", { on: { change: () => change(select.value) } },
		options.map(([v, words]) => el("option", { value: v, selected: v === value }, words)));
	return el("label", { class: "choice" }, el("span", {}, label), select);
}

/* ---- what floats beside the pointer ---- */

const tip = el("div", { id: "tip", role: "tooltip", hidden: true });

function showTip(x, y, children) {
	clear(tip).append(...children);
	tip.hidden = false;
	const w = tip.offsetWidth, h = tip.offsetHeight, right = document.documentElement.clientWidth;
	tip.style.left = Math.max(4, Math.min(x + 14, right - w - 6)) + "px";
	tip.style.top = (y + 18 + h > innerHeight ? Math.max(4, y - h - 12) : y + 18) + "px";
}

function hideTip() {
	tip.hidden = true;
}

/* A menu of [words, act] beside the pointer; the focus goes back to `from` when nothing was chosen. */
function showMenu(from, x, y, items) {
	const close = (back) => {
		removeEventListener("pointerdown", outside, true);
		menu.remove();
		if (back)
			from.focus();
	};
	const outside = (e) => menu.contains(e.target) || close(false);
	const menu = el("div", { class: "menu", role: "menu", on: {
		keydown: (e) => {
			const all = [...menu.children], i = all.indexOf(document.activeElement);
			const to = { ArrowDown: i + 1, ArrowUp: i - 1 + all.length, Home: 0, End: all.length - 1 }[e.key];
			if (to === undefined && e.key !== "Escape" && e.key !== "Tab")
				return;
			e.preventDefault();
			if (to === undefined)
				close(true);
			else
				all[to % all.length].focus();
		},
	} }, items.map(([words, act]) => el("button", { type: "button", role: "menuitem", tabindex: "-1", on: {
		click: () => {
			close(true);
			act();
		},
	} }, words)));
	document.body.append(menu);
	menu.style.left = Math.max(4, Math.min(x, document.documentElement.clientWidth - menu.offsetWidth - 6)) + "px";
	menu.style.top = Math.max(4, Math.min(y, innerHeight - menu.offsetHeight - 6)) + "px";
	menu.firstChild.focus();
	addEventListener("pointerdown", outside, true);
}

/* [words, value] as the lines of a tip. */
function tipLines(lines) {
	return el("dl", {}, lines.filter(Boolean).flatMap(([k, v]) => [el("dt", {}, k), el("dd", {}, v)]));
}
