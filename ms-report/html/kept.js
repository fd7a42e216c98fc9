/* SPDX-License-Identifier: MIT
 * What keeps blocks alive as an icicle: keepers at the left, what they keep right of them, as high as it is
 * large. A click makes one as high as the whole; the path above takes that back. */

class Icicle {
	constructor(lines) {
		this.nodes = lines.map(([parent, text, bytes, blocks, own, ownBlocks], i) => ({ i, parent, text, bytes, blocks, own, ownBlocks, below: [] }));
		this.all = { parent: null, text: "all that is kept", bytes: 0, blocks: 0, own: 0, ownBlocks: 0, below: [] };
		for (const n of this.nodes) {
			n.up = n.parent === null ? this.all : this.nodes[n.parent];
			n.depth = n.parent === null ? 0 : n.up.depth + 1;
			n.up.below.push(n);
			if (n.up === this.all) {
				this.all.bytes += n.bytes;
				this.all.blocks += n.blocks;
				n.hue = (this.all.below.length - 1) % 12;
			} else {
				n.hue = n.up.hue;
			}
		}
		this.crumbs = el("nav", { class: "crumbs", "aria-label": "Zoomed to" });
		this.view = el("div", { class: "icicle", role: "group", "aria-label": "What keeps blocks alive; the higher a box, the more would be free without it; the table has the figures" });
		this.box = el("div", {}, this.crumbs, this.view);
		this.zoom(this.all);
	}
	zoom(node, focus) {
		this.at = node;
		const path = [];
		for (let n = node; n; n = n.up)
			path.unshift(n);
		clear(this.crumbs).append(...(path.length > 1 ? path.slice(0, -1) : []).map((n) => el("button", { type: "button", on: { click: () => this.zoom(n, true) } }, n.text)));
		const deepest = (n, depth) => n.below.length && depth < 7 ? Math.max(...n.below.map((b) => deepest(b, depth + 1))) : depth;
		this.width = 100 / (deepest(node, 0) + 1);
		clear(this.view);
		this.put(node, 0, 0, 100);
		if (focus)
			this.view.firstChild.focus();
	}
	put(node, depth, top, height) {
		if (height < 0.2 || depth * this.width > 99.9)
			return;
		const share = sayShare(node.bytes, this.all.bytes), lines = () => [el("strong", {}, node.text),
			tipLines([["would be free", saySize(node.bytes)], ["share of what is kept", share], ["blocks", sayCount(node.blocks)],
				node.own && node.own !== node.bytes ? ["its own", `${saySize(node.own)} in ${plural(node.ownBlocks, "block", "blocks")}`] : null])];
		this.view.append(el("button", {
			type: "button", class: node === this.all ? "all" : `m${node.hue} v${(node.depth % 3) + 1}`,
			style: { left: `${depth * this.width}%`, width: `${this.width}%`, top: `${top}%`, height: `${height}%` },
			"aria-label": `${node.text}: ${saySize(node.bytes)}, ${share}`,
			on: {
				click: () => { hideTip(); this.zoom(node === this.at && node.up ? node.up : node, true); },
				mousemove: (e) => showTip(e.clientX, e.clientY, lines()), mouseleave: hideTip,
			},
		}, height >= 3 ? `${node.text}  ${saySize(node.bytes)}` : ""));
		for (const n of node.below) {
			const part = node.bytes ? height * n.bytes / node.bytes : 0;
			this.put(n, depth + 1, top, part);
			top += part;
		}
	}
	table() {
		return simpleTable("What would be free without the keeper", ["keeper, and below it the blocks that it keeps", "bytes", "blocks", "its own"],
			this.nodes.map((n) => ["\u2003".repeat(Math.min(n.depth, 12)) + n.text, saySize(n.bytes), sayCount(n.blocks), saySize(n.own)]));
	}
}
