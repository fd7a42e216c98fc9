/* SPDX-License-Identifier: MIT
 * Search in names of functions, files and modules, of whole call stacks: words that all must be in a stack, "phrases", -words that must
 * not be in it, and /regular expressions/. */

const MOST_TERMS = 30; /* a bit each */
const SLICE_MS = 50, MOST_MS = 3000; /* of a search, after which the page does something else; of all of them */

/* Returns the browser's regular expression of a text; throws an Error that says what is wrong with it. Refuses what takes it exponential time:
 * a group that is repeated and has repeats or alternatives in it. */
function regexOf(text) {
	if (text.length > 300)
		throw new Error("it is longer than 300 characters");
	const plain = text.replace(/\\./gs, "x").replace(/\[[^\]]*\]/g, "x"), groups = [false];
	for (const [token, repeats] of plain.matchAll(/[(|]|\)?([*+{])|\)/g)) {
		const end = token[0] === ")", inner = end && groups.pop();
		if (inner && repeats)
			throw new Error("a repeated group has repeats or alternatives in it");
		if (token === "(")
			groups.push(false);
		else
			groups[groups.length - 1] ||= inner || !end || !!repeats;
	}
	try {
		const regex = new RegExp(text, "i");
		regex.test(""); /* compiles it */
		return regex;
	} catch (e) {
		throw new Error(e.message.replace(/^.*: /s, ""));
	}
}

/* {terms: [{words, not, has(text in lower case)}], errors: [sentences]} of what was typed. */
function parseSearch(text) {
	const terms = [], errors = [];
	const shapes = /(-?)(?:"([^"]*)(?:"|$)|\/((?:[^/\\]|\\.)+)\/(?=\s|$)|(\S+))/g;
	for (const [words, minus, phrase, pattern, word] of text.matchAll(shapes)) {
		const plain = (phrase ?? word ?? "").toLowerCase(), term = { words, not: !!minus, has: (s) => s.includes(plain) };
		if (pattern !== undefined) {
			try {
				const regex = regexOf(pattern);
				term.has = (s) => regex.test(s);
			} catch (e) {
				errors.push(`${words} is no regular expression: ${e.message}`);
				continue;
			}
		} else if (!plain || plain === "-") {
			continue;
		}
		terms.push(term);
	}
	if (terms.length > MOST_TERMS)
		errors.push(`only the first ${MOST_TERMS} words are searched for`);
	return { terms: terms.slice(0, MOST_TERMS), errors };
}

/* Returns by function a bit for each term that its name, its module or any of its files has; yields often. */
function* termsOf(model, terms) {
	const bits = new Int32Array(model.fns.length), seen = new Map();
	const look = (text) => {
		const low = text.toLowerCase();
		return terms.reduce((a, t, k) => t.has(low) ? a | 1 << k : a, 0);
	};
	const once = (text) => {
		if (text && !seen.has(text))
			seen.set(text, look(text));
		return text ? seen.get(text) : 0;
	};
	for (const [i, fn] of model.fns.entries()) {
		bits[i] = look(fn.name) | once(fn.module);
		yield;
	}
	for (const [frame, fn] of model.fnOf.entries()) {
		bits[fn] |= once(model.fileOf(frame));
		yield;
	}
	return bits;
}

/* Yields often, and returns what a search found, or null where nothing is searched for: {found: by site 1 = yes, 0 = no, 2 = left out by a
 * -word; fns: by function, is it one of those words; words, without: those that must be there and must not; errors}. */
function* searchSites(model, text) {
	const { terms, errors } = parseSearch(text);
	let bits;
	try {
		bits = yield* termsOf(model, terms);
	} catch (e) {
		errors.push(`a regular expression was aborted: ${e.message}`);
		terms.length = 0;
	}
	if (!terms.length)
		return errors.length ? { found: null, errors } : null;
	let want = 0, not = 0;
	terms.forEach((t, k) => t.not ? not |= 1 << k : want |= 1 << k);
	const nodes = new Int32Array(model.parent.length); /* a caller comes before what it calls */
	for (let n = 0; n < nodes.length; n++)
		nodes[n] = bits[model.fnOf[model.frame[n]]] | (model.parent[n] < 0 ? 0 : nodes[model.parent[n]]);
	const found = Uint8Array.from({ length: model.sites }, (_, site) => {
		const process = model.processFns?.[model.columns.site_process[site]], node = model.node[site];
		const has = (node < 0 ? bits[model.noStack] : nodes[node]) | bits[process];
		return has & not ? 2 : +((has & want) === want);
	});
	const said = (no) => terms.filter((t) => t.not === no).map((t) => t.words).join(" ");
	return { found, fns: bits.map((b) => +!!(b & want)), words: said(false), without: said(true), errors };
}

/* The box, and what it says of what was found. */
class Search {
	/* `show(result)` is called with what searchSites gives; `count()` then gives sums of that as Flame.found does. Enter calls go(), which
	 * is to be set. */
	constructor(model, show, count) {
		Object.assign(this, { model, show, count, waiting: 0, left: 0, result: null, changed: () => {}, go: () => {} });
		this.input = el("input", {
			type: "search", id: "search", placeholder: "Search names and files ( / )", enterkeyhint: "search", autocomplete: "off", spellcheck: "false", "aria-describedby": "found",
			"aria-label": "Search functions, files and modules", title: 'word word: both in a call stack. "exact phrase". -word: without it. /regular expression/',
		});
		this.said = el("output", { id: "found", for: "search" });
		this.input.addEventListener("input", () => {
			clearTimeout(this.waiting);
			this.waiting = setTimeout(() => this.run(), model.sites > 20000 ? 300 : 80);
		});
		this.input.addEventListener("keydown", (e) => {
			if (e.key !== "Enter")
				return;
			e.preventDefault();
			this.run(true);
		});
		document.addEventListener("keydown", (e) => {
			if (e.key === "/" && !document.activeElement.matches("input:not([type=checkbox]), select, textarea")) {
				e.preventDefault();
				this.input.focus();
			}
		});
	}
	/* Searches, and then calls go() if that is asked for; goes on later when a slice of time is over. */
	run(go) {
		this.left = MOST_MS / SLICE_MS;
		this.slice(searchSites(this.model, this.input.value), go);
	}
	slice(work, go) {
		clearTimeout(this.waiting);
		const end = performance.now() + SLICE_MS;
		let step;
		do
			step = work.next();
		while (!step.done && performance.now() < end);
		if (!step.done && --this.left > 0) {
			this.waiting = setTimeout(() => this.slice(work, go));
			return;
		}
		this.end(step.done ? step.value : work.throw(new Error("it takes too long")).value);
		if (go && this.result?.found)
			this.go();
	}
	end(result) {
		this.waiting = 0;
		this.result = result;
		this.input.setAttribute("aria-invalid", String(!!this.result?.errors.length));
		this.show(this.result?.found ? this.result : null);
		this.say();
		this.changed();
	}
	/* Searches for a text, as if it had been typed. */
	set(text) {
		this.input.value = text;
		this.run();
	}
	add(text) {
		this.set(`${this.input.value.trim()} ${text}`.trim());
	}
	say() {
		const r = this.result, sums = r?.found && this.count();
		clear(this.said);
		if (sums)
			this.said.append([r.words ? `Found in ${sums.found}` : `Shown are ${sums.found}`, r.without ? `${r.without} leaves out ${sums.left}` : null].filter(Boolean).join("; "));
		if (r?.errors.length)
			this.said.append(el("span", { class: "error" }, `${sums ? ". " : ""}${r.errors.join("; ")}`));
	}
	getState() {
		return this.input.value.trim() || null;
	}
	setState(text) {
		this.input.value = text;
		this.run();
	}
}
