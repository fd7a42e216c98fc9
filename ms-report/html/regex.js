/* SPDX-License-Identifier: MIT
 * Regular expressions for the search, in time that grows with the length of the text alone, whatever the expression: the browser's own can
 * hang on one. All states that could be reached are followed at once; what was found of them is kept (a DFA that is made as it is needed).
 * Has: . [a-z] [^a-z] \d \w \s \b ^ $ ( | ) * + ? {n,m}; upper case is as lower case. */

const MOST_CODE = 2000, MOST_STATES = 1500, MOST_WORK = 1e7;

const CLASSES = { d: (c) => c >= "0" && c <= "9", w: (c) => /[a-z0-9_]/.test(c), s: (c) => /\s/.test(c) };

class Pattern {
	/* Throws an Error that says what is wrong with `text`. */
	constructor(text) {
		Object.assign(this, { text, at: 0, code: [], states: new Map(), work: 0 });
		if (text.length > 300)
			throw new Error("it is longer than 300 characters");
		const tree = this.either();
		if (this.at < text.length)
			throw new Error("a ) without its (");
		this.emit(tree);
		this.code.push(["match"]);
		this.first = this.state([0], 0);
	}

	/* ---- the text as a tree ---- */

	take(c) {
		return this.text[this.at] === c && !!++this.at;
	}
	either() {
		const ways = [this.sequence()];
		while (this.take("|"))
			ways.push(this.sequence());
		return ways.length > 1 ? ["either", ways] : ways[0];
	}
	sequence() {
		const parts = [];
		while (this.at < this.text.length && !"|)".includes(this.text[this.at]))
			parts.push(this.repeated(this.one()));
		return ["all", parts];
	}
	repeated(part) {
		const c = this.text[this.at], counts = /^\{(\d{1,4})(,?)(\d{0,4})\}/.exec(this.text.slice(this.at));
		if (!counts && !(c && "*+?".includes(c)))
			return part;
		const low = counts ? +counts[1] : c === "+" ? 1 : 0;
		const high = !counts ? c === "?" ? 1 : Infinity : counts[3] ? +counts[3] : counts[2] ? Infinity : low;
		this.at += counts ? counts[0].length : 1;
		this.take("?"); /* whether it takes much or little is the same here */
		if (high < low)
			throw new Error(`{${low},${high}} is no range`);
		if (part[0] === "assert")
			throw new Error(`nothing to repeat before ${c}`);
		return this.repeated(["times", part, low, high]);
	}
	one() {
		const c = this.text[this.at++];
		if (c === "(") {
			if (this.take("?") && !this.take(":"))
				throw new Error(`(?${this.text[this.at] ?? ""} is not known here`);
			const inner = this.either();
			if (!this.take(")"))
				throw new Error("a ( without its )");
			return inner;
		}
		if ("*+?".includes(c))
			throw new Error(`nothing to repeat before ${c}`);
		if (c === "^" || c === "$")
			return ["assert", c];
		if (c === "[")
			return ["char", this.set()];
		if (c === ".")
			return ["char", () => true];
		return c === "\\" ? this.escaped() : ["char", (x) => x === c.toLowerCase()];
	}
	escaped() {
		const c = this.text[this.at++];
		if (c === undefined)
			throw new Error("a \\ at the end");
		if (c === "b" || c === "B")
			return ["assert", c];
		if (/[1-9]/.test(c))
			throw new Error(`\\${c}, what a group found, is not known here`);
		return ["char", this.charClass(c) ?? ((x) => x === c.toLowerCase())];
	}
	/* Of \d and the like, or null. */
	charClass(c) {
		const has = CLASSES[c.toLowerCase()];
		return !has ? null : CLASSES[c] ? has : (x) => !has(x);
	}
	set() {
		const not = this.take("^"), tests = [];
		for (let first = true; first || this.text[this.at] !== "]"; first = false) {
			const c = this.text[this.at++], e = c === "\\" ? this.text[this.at++] : null;
			if (c === undefined || e === undefined)
				throw new Error("a [ without its ]");
			const low = e ?? c, known = e && this.charClass(e);
			if (known) {
				tests.push(known);
				continue;
			}
			const range = this.text[this.at] === "-" && this.at + 1 < this.text.length && this.text[this.at + 1] !== "]";
			const high = range ? this.text[this.at + 1] : low;
			this.at += range ? 2 : 0;
			if (high < low)
				throw new Error(`${low}-${high} is no range`);
			tests.push((x) => (x >= low && x <= high) || (x.toUpperCase() >= low && x.toUpperCase() <= high));
		}
		this.at++;
		return (x) => tests.some((t) => t(x)) !== not;
	}

	/* ---- the tree as code ---- */

	emit([kind, a, low, high]) {
		const { code } = this, split = () => code.push(["split", code.length + 1, 0]) - 1;
		if (code.length > MOST_CODE || ++this.work > 10 * MOST_CODE)
			throw new Error("it is too large");
		if (kind === "all") {
			a.forEach((part) => this.emit(part));
		} else if (kind === "either") {
			const ends = a.slice(1).map((_, i) => {
				const at = split();
				this.emit(a[i]);
				code[at][2] = code.length + 1;
				return code.push(["jump", 0]) - 1;
			});
			this.emit(a.at(-1));
			ends.forEach((end) => code[end][1] = code.length);
		} else if (kind === "times") {
			for (let i = 0; i < low; i++)
				this.emit(a);
			if (high === Infinity) {
				const at = split();
				this.emit(a);
				code.push(["jump", at]);
				code[at][2] = code.length;
			} else {
				const from = Array.from({ length: high - low }, () => {
					const at = split();
					this.emit(a);
					return at;
				});
				from.forEach((at) => code[at][2] = code.length);
			}
		} else {
			code.push([kind, a]);
		}
	}

	/* ---- the code run ---- */

	/* A state: where the code may be before a character, and what came before it (0 nothing, 1 a word, 2 else). */
	state(places, before) {
		const key = `${before} ${places.join(" ")}`;
		let s = this.states.get(key);
		if (!s) {
			if (this.states.size > MOST_STATES)
				this.states.clear(); /* those in use go on without it */
			this.states.set(key, s = { places, before, next: new Map() });
		}
		return s;
	}
	/* What follows on `c`, "" = the end: a state, or true where it matches. */
	step(s, c) {
		const { code } = this, kind = !c ? 0 : CLASSES.w(c) ? 1 : 2, seen = new Set(), after = new Set([0]), todo = [...s.places];
		const edge = (s.before === 1) !== (kind === 1);
		const holds = { "^": s.before === 0, $: kind === 0, b: edge, B: !edge };
		while (todo.length) {
			const at = todo.pop(), [op, a, b] = code[at];
			this.work++;
			if (seen.has(at))
				continue;
			seen.add(at);
			if (op === "match")
				return true;
			if (op === "jump")
				todo.push(a);
			else if (op === "split")
				todo.push(a, b);
			else if (op === "assert" && holds[a])
				todo.push(at + 1);
			else if (op === "char" && c && a(c))
				after.add(at + 1);
		}
		if (this.work > MOST_WORK)
			throw new Error("it takes too long");
		return this.state([...after].sort((x, y) => x - y), kind);
	}
	/* Is it anywhere in a text that has no upper case? Throws where that took too much work. */
	has(text) {
		let s = this.first;
		for (let i = 0; i <= text.length; i++) {
			const c = i < text.length ? text[i] : "";
			let next = s.next.get(c);
			if (!next)
				s.next.set(c, next = this.step(s, c));
			if (next === true)
				return true;
			s = next;
		}
		return false;
	}
}
