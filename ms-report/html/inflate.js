"use strict";
/* SPDX-License-Identifier: MIT
 * Unpacks a zlib stream (RFC 1950, RFC 1951) where the browser does not. */

const LENGTH_BASE = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
const LENGTH_BITS = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const DISTANCE_BASE = [
	1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577
];
const CODE_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/* A Huffman code from the lengths of its words: how many there are of each length, and the symbols
 * in the order of their words. */
function huffman(lengths) {
	const count = new Uint16Array(16), first = new Uint16Array(16), symbols = new Uint16Array(lengths.length);
	for (const n of lengths)
		count[n]++;
	count[0] = 0;
	for (let n = 1; n < 15; n++)
		first[n + 1] = first[n] + count[n];
	lengths.forEach((n, symbol) => {
		if (n)
			symbols[first[n]++] = symbol;
	});
	return { count, symbols };
}

class Bits {
	constructor(bytes) {
		this.bytes = bytes;
		this.at = 2; /* after the header of zlib */
		this.held = 0;
		this.have = 0;
	}
	take(n) {
		while (this.have < n) {
			this.held |= this.bytes[this.at++] << this.have;
			this.have += 8;
		}
		const v = this.held & ((1 << n) - 1);
		this.held >>>= n;
		this.have -= n;
		return v;
	}
	symbol(code) {
		let word = 0, first = 0, index = 0;
		for (let n = 1; n < 16; n++) {
			word |= this.take(1);
			const count = code.count[n];
			if (word - count < first)
				return code.symbols[index + (word - first)];
			index += count;
			first = (first + count) << 1;
			word <<= 1;
		}
		throw new Error("the data of this page is damaged");
	}
}

function fixedCodes() {
	const lengths = [];
	for (let i = 0; i < 288; i++)
		lengths.push(i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8);
	return [huffman(lengths), huffman(new Array(30).fill(5))];
}

function dynamicCodes(bits) {
	const literals = bits.take(5) + 257, distances = bits.take(5) + 1, given = bits.take(4) + 4;
	const lengths = new Array(19).fill(0), all = [];
	for (let i = 0; i < given; i++)
		lengths[CODE_ORDER[i]] = bits.take(3);
	const code = huffman(lengths);
	while (all.length < literals + distances) {
		const s = bits.symbol(code);
		if (s < 16) {
			all.push(s);
			continue;
		}
		const what = s === 16 ? all[all.length - 1] : 0;
		for (let n = s === 16 ? 3 + bits.take(2) : s === 17 ? 3 + bits.take(3) : 11 + bits.take(7); n > 0; n--)
			all.push(what);
	}
	return [huffman(all.slice(0, literals)), huffman(all.slice(literals, literals + distances))];
}

function inflate(bytes) {
	const bits = new Bits(bytes);
	let out = new Uint8Array(bytes.length * 6 + 1024), n = 0, last = 0;
	const room = (more) => {
		if (n + more <= out.length)
			return;
		const wider = new Uint8Array((n + more) * 2);
		wider.set(out);
		out = wider;
	};
	while (!last) {
		last = bits.take(1);
		const type = bits.take(2);
		if (type === 0) {
			bits.held = bits.have = 0;
			const size = bytes[bits.at] | bytes[bits.at + 1] << 8;
			room(size);
			out.set(bytes.subarray(bits.at + 4, bits.at + 4 + size), n);
			bits.at += 4 + size;
			n += size;
			continue;
		}
		const [literal, distance] = type === 1 ? fixedCodes() : dynamicCodes(bits);
		for (;;) {
			const s = bits.symbol(literal);
			if (s === 256)
				break;
			room(258);
			if (s < 256) {
				out[n++] = s;
				continue;
			}
			const length = LENGTH_BASE[s - 257] + bits.take(LENGTH_BITS[s - 257]), d = bits.symbol(distance);
			let from = n - (DISTANCE_BASE[d] + bits.take(d < 4 ? 0 : (d >> 1) - 1));
			for (let i = 0; i < length; i++)
				out[n++] = out[from++];
		}
	}
	return out.subarray(0, n);
}

/* The bytes that a zlib stream holds: by the browser's own means if it has them. */
async function unpack(bytes) {
	if (typeof DecompressionStream !== "function")
		return inflate(bytes);
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}
