"use strict";
/* SPDX-License-Identifier: MIT
 * The data of the page as arrays; html_data.h of ms-report says how it is written. A figure that is
 * not known is NaN, which makes every sum that it goes into unknown too. */

function fromBase64(text) {
	if (Uint8Array.fromBase64)
		return Uint8Array.fromBase64(text);
	const s = atob(text), bytes = new Uint8Array(s.length);
	for (let i = 0; i < s.length; i++)
		bytes[i] = s.charCodeAt(i);
	return bytes;
}

function unzigzag(v) {
	return v % 2 ? -(v + 1) / 2 : v / 2;
}

/* Turns raw numbers into what a column of that kind means. */
const KINDS = {
	plain: (v) => v,
	figure: (v) => v.map((x) => x ? x - 1 : NaN),
	delta: (v) => {
		let at = 0;
		return v.map((x) => at += unzigzag(x));
	},
	new: (v) => {
		let next = 0;
		return v.map((x) => x ? next - x : next++);
	},
	change: (v, base) => v.map((x, i) => x ? (base[i] || 0) + unzigzag(x - 1) : NaN),
};

function readColumns(bytes, at, columns) {
	const all = {};
	let before = null;
	for (const [name, rows, kind] of columns) {
		const v = new Float64Array(rows);
		for (let i = 0; i < rows; i++) {
			let b = bytes[at++], x = b & 127, scale = 128;
			while (b > 127) {
				b = bytes[at++];
				x += (b & 127) * scale;
				scale *= 128;
			}
			v[i] = x;
		}
		before = all[name] = KINDS[kind](v, before);
	}
	return all;
}

/* {json, columns} of the page. */
async function readData() {
	if (typeof DecompressionStream !== "function")
		throw new Error("this browser cannot unpack its data; Chrome 80, Firefox 113, Safari 16.4 and later can");
	const packed = new Blob([fromBase64(document.getElementById("data").textContent)]);
	const bytes = new Uint8Array(await new Response(packed.stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer());
	const size = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
	const json = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size)));
	return { json, columns: readColumns(bytes, 4 + size, json.columns) };
}

/* Names of what is no function, at the end of the list of functions. */
const NO_STACK = { name: "(no call stack)", kind: "pseudo" };

/* What the charts and tables of sites work on.
 *   fns      functions {name, brief, module, known, runtime, kind}; `pseudo` ones after the real
 *   sites    number of sites; node[], process[], user[], id[] and figures by name
 *   parent   by node, -1 = none; frame by node
 *   fnOf, file, line, flags   by frame */
class Model {
	constructor({ json, columns }) {
		const c = columns, strings = json.strings;
		this.page = json;
		this.columns = c;
		const text = (i) => i ? strings[i - 1] : null;
		this.fns = Array.from(c.function_name, (name, i) => ({
			name: strings[name], brief: strings[c.function_short[i]], module: text(c.function_module[i]),
			known: !(c.function_flags[i] & 1), runtime: true, kind: "",
		}));
		this.fnOf = Int32Array.from(c.frame_function);
		this.line = c.frame_line;
		this.flags = c.frame_flags;
		this.fileOf = (frame) => text(c.frame_file[frame]);
		this.frame = Int32Array.from(c.node_frame);
		this.parent = parents(c.node_up);
		this.fnOf.forEach((fn, i) => {
			if (!(this.flags[i] & 2))
				this.fns[fn].runtime = false;
			if (this.flags[i] & 4)
				this.fns[fn].kind = "pseudo";
		});
		this.sites = c.site_id.length;
		this.node = Int32Array.from(c.site_node, (v) => v - 1);
		this.verdict = (site) => text(c.site_verdict[site]);
		this.oneTime = (site) => text(c.site_one_time[site]);
		this.rowOf = new Map(Array.from(c.site_id, (id, i) => [id, i]));
		this.details = new Map(json.details.map((d) => [d.id, d]));
		/* frames of the runtime are folded away, where there are others */
		this.mine = this.mineFirst = this.flags.some((f) => f & 2) && this.fns.some((f) => !f.runtime && !f.kind);
		this.source = new Map((json.source ?? []).map((s) => [s.file, s]));
	}
	figure(name) {
		return this.columns["site_" + name];
	}
	/* By site, what the estimate of a figure rests on, as Spread.add takes it; null where figures are exact. */
	spreads(name) {
		const v = ["seen", "deviation", "step", "step_deviation"].map((s) => this.columns[`spread_${name}_${s}`]);
		return v[0] ? (site) => v.map((column) => column[site]) : null;
	}
	/* The frames of a site, innermost first. */
	stack(site) {
		const v = [];
		for (let n = this.node[site]; n >= 0; n = this.parent[n])
			v.push(this.frame[n]);
		return v;
	}
	/* Frames without those that are folded away. */
	unfolded(frames) {
		return this.mine ? frames.filter((f) => !(this.flags[f] & 2)) : frames;
	}
	/* The frame that a site is named after, the runtime's just inside it, and its caller; -1 = none. */
	named(site) {
		const stack = this.stack(site), user = this.columns.site_user[site], at = user >= 0 ? user : 0;
		const caller = at + 1 < stack.length ? stack[at + 1] : -1;
		return {
			frame: stack.length ? stack[at] : -1,
			called: user > 0 ? stack[at - 1] : -1,
			caller: caller >= 0 && !(this.flags[caller] & 6) ? caller : -1,
		};
	}
	pseudo(fn) {
		return this.fns.push({ module: null, known: true, runtime: false, kind: "pseudo", brief: fn.name, ...fn }) - 1;
	}
	/* "src/cache.cpp:77", "[libz.so.1]" or "" */
	place(frame) {
		const file = this.fileOf(frame), fn = this.fns[this.fnOf[frame]];
		if (file) {
			const short = inFolder(file, this.page.cwd) ?? (Object.hasOwn(this.page.sources, fn.module) ? inFolder(file, this.page.sources[fn.module]) : null) ?? file;
			return this.line[frame] ? `${short}:${this.line[frame]}` : short;
		}
		return fn.module && fn.kind !== "pseudo" ? fn.known ? `[${baseName(fn.module)}]` : "[no symbols]" : "";
	}
	/* Lines around a frame's: {file, line, rows: [[number, text]]}, or {file, after} where the file was changed after that; null = not known. */
	lines(frame) {
		const s = frame < 0 ? null : this.source.get(this.fileOf(frame)), line = frame < 0 ? 0 : this.line[frame], file = s && this.place(frame);
		if (!s || s.changed_after)
			return s ? { file, after: s.changed_after } : null;
		const [first, rows] = s.parts.find(([from, v]) => line >= from && line < from + v.length) ?? [0, []];
		const shown = rows.map((text, i) => [first + i, text]).filter(([n]) => n >= line - 5 && n <= line + 4);
		return shown.length ? { file, line, rows: shown } : null;
	}
	/* The page that shows a frame's source, or null. */
	link(frame) {
		const root = this.page.source_root ?? this.page.cwd, file = this.fileOf(frame);
		const path = file && (inFolder(file, root) ?? (file.startsWith("/") ? null : file));
		if (!this.page.code_url || !path)
			return null;
		const escaped = path.split("/").map(encodeURIComponent).join("/");
		return this.page.code_url.replaceAll("{file}", () => escaped).replaceAll("{line}", () => this.line[frame] || 1);
	}
}

/* By node, from how far to go up to the caller from the one before. */
function parents(ups) {
	const parent = new Int32Array(ups.length);
	let at = -1;
	for (let i = 0; i < ups.length; i++) {
		for (let n = ups[i]; n > 0; n--)
			at = at < 0 ? -1 : parent[at];
		parent[i] = at;
		at = i;
	}
	return parent;
}

function baseName(path) {
	return path.slice(path.lastIndexOf("/") + 1) || path;
}

function inFolder(path, folder) {
	const start = folder && folder.length > 1 ? folder.replace(/\/$/, "") + "/" : null;
	return start && path.startsWith(start) && path.length > start.length ? path.slice(start.length) : null;
}
