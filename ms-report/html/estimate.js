/* SPDX-License-Identifier: MIT
 * 95 % intervals of estimates that are added up, as libcommon/stats/estimate.c has them: what was seen is
 * certain, the rest is taken to be gamma distributed. */

/* Of disjoint groups of blocks. */
class Spread {
	constructor() {
		Object.assign(this, { seen: 0, variance: 0, step: 0, stepVariance: 0 });
	}
	/* From thousandths of what was seen, its deviation, the most that one unseen block adds, and of that. */
	add(seen, deviation, step, stepDeviation) {
		this.seen += seen / 1000;
		this.variance += (deviation / 1000) ** 2;
		this.step = Math.max(this.step, step / 1000);
		this.stepVariance = Math.max(this.stepVariance, (stepDeviation / 1000) ** 2);
	}
	/* [low, high] in whole numbers around the estimate `value`. */
	interval(value) {
		const rest = Math.max(0, value - this.seen);
		const low = this.seen + gammaLimit(rest, this.variance, false), high = this.seen + gammaLimit(rest + this.step, this.variance + this.stepVariance, true);
		return [Math.floor(Math.min(low, value)), Math.ceil(Math.max(high, value))];
	}
}

/* Stirling's series, after steps to where it is exact enough. */
function logGamma(x) {
	let shift = 0;
	for (; x < 12; x++)
		shift += Math.log(x);
	const y = 1 / (x * x);
	return (x - 0.5) * Math.log(x) - x + 0.9189385332046727 + (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y / 1680))) / x - shift;
}

/* The chance of at most `x`, for scale 1. */
function gammaBelow(shape, x) {
	const scale = Math.exp(shape * Math.log(x) - x - logGamma(shape));
	if (x < shape + 1) { /* the power series */
		let term = 1 / shape, sum = term;
		for (let n = shape + 1; term > sum * 1e-12; n++)
			sum += term *= x / n;
		return scale * sum;
	}
	let b = x + 1 - shape, c = 1e300, d = 1 / b, f = d; /* a continued fraction, by its convergents */
	for (let i = 1; i < 500; i++) {
		const a = i * (shape - i);
		b += 2;
		d = 1 / (a * d + b);
		c = b + a / c;
		f *= d * c;
		if (Math.abs(d * c - 1) < 1e-12)
			break;
	}
	return 1 - scale * f;
}

/* Where 2.5 % lie beyond: above, or below. */
function gammaLimit(mean, variance, above) {
	if (!(mean > 0) || !(variance > 0))
		return mean > 0 ? mean : 0;
	const scale = variance / mean, shape = mean / scale, chance = above ? 0.975 : 0.025;
	if (shape > 100) {
		const t = 1 - 1 / (9 * shape) + (above ? 1 : -1) * 1.959963984540054 / (3 * Math.sqrt(shape));
		return scale * shape * t * t * t;
	}
	let low = 0, high = shape + 1;
	while (gammaBelow(shape, high) < chance)
		high *= 2;
	for (let i = 0; i < 100 && high - low > high * 1e-9; i++) {
		const middle = (low + high) / 2;
		if (gammaBelow(shape, middle) < chance)
			low = middle;
		else
			high = middle;
	}
	return scale * (low + high) / 2;
}
