# SPDX-License-Identifier: MIT
"""How numbers and tables look: text for a terminal, and the same as Markdown."""
import textwrap


def number(value, digits=2, none="-"):
    """'1,234.50'; `none` for what was not measured."""
    if value is None:
        return none
    if isinstance(value, str):
        return value
    return "{:,.{}f}".format(value, digits)


def span(values, digits=2):
    """'1.10-1.14'."""
    return "-" if not values else "%s-%s" % (number(values[0], digits), number(values[1], digits))


class Table:
    """head: one string a column, its words one below the other where it has '|'. rows: lists of strings; None is a line between."""

    def __init__(self, title, head, rows=None, notes=None):
        self.title, self.head, self.rows, self.notes = title, head, rows or [], notes or []

    def add(self, *cells):
        self.rows.append(list(cells))

    def rule(self):
        self.rows.append(None)

    def text(self):
        lines = [h.split("|") for h in self.head]
        high = max(len(h) for h in lines)
        head = [[""] * (high - len(h)) + h for h in lines]
        body = [r for r in self.rows if r]
        width = [max([len(s) for s in h] + [len(r[i]) for r in body if i < len(r)]) for i, h in enumerate(head)]
        out = [self.title] if self.title else []
        for k in range(high):
            out.append(line([h[k] for h in head], width))
        out.append("-" * (sum(width) + 2 * (len(width) - 1)))
        out += [line(r, width) if r else "-" * (sum(width) + 2 * (len(width) - 1)) for r in self.rows]
        return "\n".join(out + [wrapped(note) for note in self.notes])

    def markdown(self):
        out = ["### " + self.title, ""] if self.title else []
        out.append("| " + " | ".join(h.replace("|", " ") for h in self.head) + " |")
        out.append("|---" + "|--:" * (len(self.head) - 1) + "|")
        out += ["| " + " | ".join(cell.replace("|", "\\|") for cell in r + [""] * (len(self.head) - len(r))) + " |" for r in self.rows if r]
        return "\n".join(out + ([""] + [n + "  " for n in self.notes] if self.notes else []))

    def plain(self):
        return {"title": self.title, "head": self.head, "rows": self.rows, "notes": self.notes}


def wrapped(note, first="", rest=""):
    return "\n".join(textwrap.wrap(note, 150, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False))


def line(cells, width):
    return "  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(cells, width))).rstrip()


def limit_words(t):
    words = ("at least " if t["at_least"] else "at most ") + number(t["limit"], t["digits"]) + t["unit"]
    return words + (" (aim %s)" % number(t["aim"], t["digits"]) if t["aim"] is not None else "")


def targets_table(title, targets, remarks=True):
    """Each target with its figure; missed ones stand out by their word alone."""
    table = Table(title, ["target", "limit", "figure", "verdict"] + (["remark"] if remarks else []))
    for t in targets:
        figure = number(t["figure"], t["digits"]) + (t["unit"] if t["figure"] is not None else "")
        table.add(t["what"], limit_words(t), figure, t["verdict"], *([t["note"]] if remarks else []))
    if not remarks:
        table.notes = ["%s: %s" % (t["what"], t["note"]) for t in targets if t["note"]]
    return table
