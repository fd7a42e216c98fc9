// SPDX-License-Identifier: MIT
// Work of one kind, named by the argument. Each round takes a block of 70001 bytes, in inner() called by middle() called by outer().
'use strict';
const ROUNDS = 200;
let total = 0;

function inner(n) { return new ArrayBuffer(n); }
function middle(n) { return inner(n).byteLength; }
function outer() { total += middle(70001); }

const kinds = {
	json() {
		const rows = Array.from({ length: 50 }, (_, i) => ({ id: i, name: 'n' + i, tags: ['a', i, { b: [i] }] }));
		for (let i = 0; i < ROUNDS; i++) {
			total += JSON.parse(JSON.stringify(rows)).length;
			outer();
		}
	},
	sets() {
		for (let i = 0; i < ROUNDS; i++) {
			const map = new Map(), set = new Set();
			for (let k = 0; k < 500; k++) {
				map.set('k' + k, { k });
				set.add(k * i);
				if (k % 3 === 0)
					map.delete('k' + k / 3);
			}
			total += map.size + set.size;
			outer();
		}
	},
	buffers() {
		for (let i = 0; i < ROUNDS; i++) {
			const all = [];
			for (let k = 1; k < 40; k++)
				all.push(Buffer.allocUnsafeSlow(k * 100).fill(k), Buffer.from('text ' + k));
			total += Buffer.concat(all).toString('base64').length;
			outer();
		}
	},
	async waits() {
		const { setTimeout } = require('timers/promises');
		for (let i = 0; i < ROUNDS; i++) {
			await Promise.all([setTimeout(0), (async () => { await null; total++; })()]);
			outer();
		}
	},
	keeps() {
		globalThis.kept = [];
		for (let i = 0; i < ROUNDS; i++)
			kept.push(inner(70001));
		process.reallyExit(0); // without giving anything back
	},
	serves() {
		let left = ROUNDS;
		console.log('begins');
		const timer = setInterval(() => {
			outer();
			if (!--left)
				clearInterval(timer);
		}, 20);
	},
	workers() {
		const { Worker } = require('worker_threads');
		for (let i = 0; i < 3; i++)
			new Worker(__filename, { argv: ['json'] });
		kinds.json();
	},
	regexps() {
		for (let i = 0; i < ROUNDS; i++) {
			const text = 'key' + i + '=value;'.repeat(100);
			total += text.replace(/(\w+)=(\w+);/g, (all, a, b) => b + a).split(/[;=]+/).length;
			try {
				JSON.parse('{' + text);
			} catch (e) {
				total += e.stack.split('\n').length > 2;
			}
			outer();
		}
	},
};

process.on('exit', () => console.log(process.argv[2], total));
kinds[process.argv[2]]();
