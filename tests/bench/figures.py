# SPDX-License-Identifier: MIT
"""The arithmetic of the benchmark: medians over rounds, ratios paired by round, means over programs, and targets met or missed.

No measuring and no printing here, so that tests/cli/bench.sh can check it with numbers known beforehand.
"""
import math
import statistics


def known(values):
    return [v for v in values if v is not None]


def median(values):
    """None when there is no value."""
    values = known(values)
    return statistics.median(values) if values else None


def spread(values):
    """First and last quartile: between them lies the middle half of the rounds. Of up to four values the smallest and the largest."""
    values = sorted(known(values))
    if not values:
        return None
    if len(values) < 5:
        return values[0], values[-1]
    quarters = statistics.quantiles(values, n=4, method="inclusive")
    return quarters[0], quarters[2]


def interval(values):
    """Where the median of all possible rounds lies, with 95 % confidence at least: from order and sign alone. None for fewer than six."""
    values = sorted(known(values))
    n, below, outside = len(values), 0, 0.0
    while outside + math.comb(n, below) / 2 ** n <= 0.025:
        outside += math.comb(n, below) / 2 ** n
        below += 1
    return (values[below - 1], values[n - below]) if below else None


def told(values, limit):
    """The median, if the middle half is narrower than the limit it is to be held against; else None: the rounds do not tell."""
    between = spread(values)
    return median(values) if between and between[1] - between[0] < limit else None


def geomean(values):
    """None when there is no value, or one that has no logarithm."""
    values = known(values)
    if not values or min(values) <= 0:
        return None
    return math.exp(sum(math.log(v) for v in values) / len(values))


def pairs(a, b):
    """The values of the rounds that both have."""
    return [(x, y) for x, y in zip(a, b) if x is not None and y is not None]


def ratios(a, b):
    """a / b, round by round; b > 0."""
    return [x / y for x, y in pairs(a, b) if y > 0]


def differences(a, b):
    return [x - y for x, y in pairs(a, b)]


def added_fraction(ours, theirs, base):
    """What ours adds to base as a fraction of what theirs adds: the ratio of the two medians of differences by round. None when theirs
    adds nothing that could be told from the spread of base itself."""
    mine, other = median(differences(ours, base)), median(differences(theirs, base))
    if mine is None or other is None:
        return None
    low, high = spread(base)
    return mine / other if other > 0 and other > (high - low) / 2 else None


def slope(points):
    """Least squares through [(x, y)]: how much y grows per x; None for fewer than two different x."""
    n = len(points)
    if n < 2 or len({x for x, _ in points}) < 2:
        return None
    mx, my = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    return sum((x - mx) * (y - my) for x, y in points) / sum((x - mx) ** 2 for x, _ in points)


MET, MISSED, UNKNOWN = "met", "missed", "not measured"


def judge(figure, limit, at_least=False):
    """A target is met up to its limit and at it, or from its limit on; a figure that is None was not measured."""
    if figure is None or limit is None:
        return UNKNOWN
    return MET if (figure >= limit if at_least else figure <= limit) else MISSED


def worst(named, at_least=False):
    """(name, value) of the largest value, or of the smallest; None when there is none. `named`: pairs."""
    values = [(n, v) for n, v in named if v is not None]
    return (min if at_least else max)(values, key=lambda p: p[1]) if values else None


def target(what, figure, limit, at_least=False, unit="", aim=None, note="", digits=2):
    """One line of the list of targets."""
    return {"what": what, "figure": figure, "limit": limit, "at_least": at_least, "aim": aim, "unit": unit, "note": note,
            "digits": digits, "verdict": judge(figure, limit, at_least)}


def worst_target(what, named, limit, at_least=False, **more):
    """A target for every program: the figure is that of the worst one, whose name is said, and how many miss it."""
    named = list(named)
    found = worst(named, at_least)
    if not found:
        return target(what, None, limit, at_least, **more)
    values = [v for _, v in named if v is not None]
    missing = [n for n, v in named if v is not None and judge(v, limit, at_least) == MISSED]
    note = "worst: %s" % found[0] + ("; %d of %d miss: %s" % (len(missing), len(values), ", ".join(missing)) if missing else "")
    if len(values) < len(named):
        note += "; %d not told: %s" % (len(named) - len(values), ", ".join(n for n, v in named if v is None))
    return target(what, found[1], limit, at_least, note=note, **more)
