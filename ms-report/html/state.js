/* SPDX-License-Identifier: MIT
 * What is shown, in the fragment of the page's address: a copied link opens the same view, and Back takes a step back.
 *
 *   #flame&m=live&z=1x2y3.4z5w    a part of the page, then what is not as the page opens it
 *
 * Steps (a zoom, the callers and callees of a function, an opened site, a range of time) are entries of the browser's history. All else is rewritten in
 * place, and stays as it is when a step is taken back. A step that only undoes the one before goes back to it. */

/* A fragment as {section, values}; what is damaged is as if it were not there. */
function parseFragment(text) {
	const values = new Map();
	let section = "";
	text.replace(/^#/, "").split("&").forEach((part, i) => {
		const at = part.indexOf("=");
		try {
			if (at > 0)
				values.set(part.slice(0, at), decodeURIComponent(part.slice(at + 1)));
			else if (i === 0)
				section = decodeURIComponent(part);
		} catch {
			/* no UTF-8 */
		}
	});
	return { section, values };
}

/* A short name of a function in addresses, the same in every page that has it: 41 bits of its name and its module's file name. */
function functionKey(model, fn) {
	const keys = model.keys ??= [], f = model.fns[fn];
	if (keys[fn] === undefined) {
		let a = 0x811c9dc5, b = 0x1000193;
		for (const text of [f.name, baseName(f.module ?? "")])
			for (let i = 0; i <= text.length; i++) {
				const c = text.charCodeAt(i) || 0;
				a = Math.imul(a ^ c, 0x01000193);
				b = Math.imul(b ^ c, 0x5bd1e995) ^ b >>> 15;
			}
		keys[fn] = ((b >>> 23) * 2 ** 32 + (a >>> 0)).toString(36);
	}
	return keys[fn];
}

/* What the flame graph shows, as parts of the address. */
function addFlame(state, flame) {
	const { model, opened, metrics } = flame;
	const part = (name, good) => ({
		getState: () => flame.state[name] === opened[name] ? null : String(flame.state[name]),
		setState: (v) => good(v) && flame.set({ [name]: v || opened[name] }),
	});
	const flag = (name) => ({
		getState: () => flame.state[name] === opened[name] ? null : "1",
		setState: (v) => flame.set({ [name]: v === "1" ? !opened[name] : opened[name] }),
	});
	state.add("m", part("metric", (v) => !v || Object.hasOwn(metrics, v)));
	state.add("w", part("side", (v) => ["", "change", "before", "after"].includes(v)));
	state.add("up", flag("up"));
	state.add("flame", flag("hanging"));
	state.add("rec", flag("fold"));
	state.add("z", {
		getState: () => flame.path.map((fn) => functionKey(model, fn)).join("."),
		setState: (v) => flame.zoomAlong(v ? v.split(".") : []),
	}, "flame");
	state.add("s", {
		getState: () => flame.state.around < 0 ? null : functionKey(model, flame.state.around),
		setState: (v) => flame.sandwich(v ? model.fns.findIndex((f, i) => !["pseudo", "process"].includes(f.kind) && functionKey(model, i) === v) : -1),
	}, "flame");
	flame.changed = () => state.commit();
}

class State {
	constructor() {
		Object.assign(this, { parts: [], section: "", steps: "", quiet: false, going: false, waiting: 0 });
	}
	/* A widget has getState() -> text, or null when it is as the page opens it; setState(text), "" = that; and calls changed() after a change.
	 * `step`: the id of the section that it is in, where its changes are steps. */
	add(key, widget, step = "") {
		this.parts.push({ key, widget, step });
		widget.changed = () => this.commit();
	}
	/* The parts that are steps, or those that are not, as "key=value&...". */
	text(steps) {
		return this.parts.filter((p) => !!p.step === steps).map((p) => [p.key, p.widget.getState()]).filter(([, v]) => v)
			.map(([key, v]) => `${key}=${encodeURIComponent(v)}`).join("&");
	}
	write(how, before, key) {
		clearTimeout(this.waiting);
		const fragment = [this.section, this.text(false), this.steps].filter(Boolean).join("&");
		try {
			history[how]({ steps: this.steps, before, key }, "", location.href.split("#")[0] + (fragment ? "#" + fragment : ""));
		} catch {
			/* not allowed where the page is, or too often: the page works without */
		}
	}
	rewrite() {
		this.write("replaceState", history.state?.before, history.state?.key);
	}
	apply(values, steps) {
		this.quiet = true;
		for (const p of this.parts) {
			const v = values.get(p.key) ?? "";
			try {
				if ((!steps || p.step) && (p.widget.getState() ?? "") !== v)
					p.widget.setState(v);
			} catch (e) {
				console.error(e); /* whatever an address says, the page is shown */
			}
		}
		this.quiet = false;
	}
	/* After a change. */
	commit() {
		if (this.quiet || this.going)
			return;
		const steps = this.text(true), old = parseFragment(this.steps).values;
		if (steps === this.steps) { /* browsers allow this only so often */
			clearTimeout(this.waiting);
			this.waiting = setTimeout(() => this.rewrite(), 150);
		} else if (steps === history.state?.before) {
			this.going = true;
			history.back();
		} else {
			const what = this.parts.find((p) => p.step && (old.get(p.key) ?? "") !== (p.widget.getState() ?? "")), before = this.steps;
			Object.assign(this, { steps, section: what.step });
			this.write("pushState", before, what.key);
		}
	}
	/* Takes the last step back if it was one of those; else false. */
	undo(keys) {
		const last = keys.includes(history.state?.key);
		if (last)
			history.back();
		return last;
	}
	popped(e) {
		const { section, values } = parseFragment(location.hash), steps = e.state?.steps;
		const inPage = section && !values.size; /* a link to a section: what is shown stays */
		if (!this.going && !inPage)
			this.apply(steps === undefined ? values : parseFragment(steps).values, steps !== undefined);
		const going = this.going;
		this.going = false;
		this.section = document.getElementById(section) ? section : "";
		this.steps = going ? steps ?? "" : this.text(true);
		if (going)
			this.commit();
		this.rewrite();
	}
	/* Shows what the address says, when all parts have been added. */
	start() {
		const { section, values } = parseFragment(location.hash), anew = !history.state;
		this.section = document.getElementById(section) ? section : "";
		this.apply(values, false);
		this.steps = this.text(true);
		this.rewrite();
		if (anew && this.section) /* it was not there when the browser looked for it */
			document.getElementById(this.section).scrollIntoView({ behavior: "instant" });
		addEventListener("popstate", (e) => this.popped(e));
	}
}
