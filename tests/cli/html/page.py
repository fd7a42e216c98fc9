# SPDX-License-Identifier: MIT
"""Reads a page of ms-report --html as ms-report/html/html_data.h describes it, without a browser."""
import base64
import hashlib
import html.parser
import json
import re
import zlib


class Structure(html.parser.HTMLParser):
    """Elements, attributes, and the text of style, scripts and title."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.texts, self.open = [], {}, []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.open.append(tag)
        self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        if self.open:
            self.texts[self.open[-1]][-1] += data


def digest(text):
    """As a policy names a script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def numbers(data, at, count):
    """`count` LEB128 values from `at` on, and where they end."""
    values = []
    for _ in range(count):
        v = shift = 0
        while True:
            b = data[at]
            at += 1
            v |= (b & 127) << shift
            shift += 7
            if b < 128:
                break
        values.append(v)
    return values, at


def unzigzag(v):
    """The signed number."""
    return -(v + 1) // 2 if v & 1 else v // 2


def meaning(kind, raw, before):
    """What the raw numbers of a column stand for; None = not known."""
    if kind == "figure":
        return [v - 1 if v else None for v in raw]
    if kind == "delta":
        out, at = [], 0
        for v in raw:
            at += unzigzag(v)
            out.append(at)
        return out
    if kind == "new":
        out, most = [], 0
        for v in raw:
            out.append(most - v if v else most)
            most += not v
        return out
    if kind == "change":
        return [(before[i] or 0) + unzigzag(v - 1) if v else None for i, v in enumerate(raw)]
    assert kind == "plain", kind
    return raw


class Page:
    """A page's structure and data."""

    def __init__(self, path):
        with open(path, "rb") as f:
            self.bytes = f.read()
        self.text = self.bytes.decode("utf-8")
        self.structure = Structure(self.text)
        scripts = [a for t, a in self.structure.elements if t == "script"]
        assert [a.get("id") for a in scripts] == ["data", None], scripts
        data = zlib.decompress(base64.b64decode(self.structure.texts["script"][0], validate=True))
        size = int.from_bytes(data[:4], "little")
        self.json = json.loads(data[4:4 + size])
        self.columns, at, before = {}, 4 + size, None
        for name, rows, kind in self.json["columns"]:
            raw, at = numbers(data, at, rows)
            before = self.columns[name] = meaning(kind, raw, before)
        assert at == len(data), (at, len(data))
        self.parent = self.parents()

    def parents(self):
        """By node, its caller's or -1."""
        out, at = [], -1
        for i, up in enumerate(self.columns["node_up"]):
            for _ in range(up):
                at = out[at] if at >= 0 else -1
            out.append(at)
            at = i
        return out

    def string(self, i):
        """The text number i - 1; 0 is none."""
        return self.json["strings"][i - 1] if i else None

    def stack(self, site):
        """[(function, file, line, module, inlined, runtime)], innermost first."""
        c, out, n = self.columns, [], self.columns["site_node"][site] - 1
        while n >= 0:
            f = c["node_frame"][n]
            fn = c["frame_function"][f]
            out.append((self.json["strings"][c["function_name"][fn]], self.string(c["frame_file"][f]), c["frame_line"][f] or None,
                        self.string(c["function_module"][fn]), bool(c["frame_flags"][f] & 1), bool(c["frame_flags"][f] & 2)))
            n = self.parent[n]
        return out

    def faults(self):
        """What a page must not have: anything that loads, runs or asks, but its own style and script."""
        bad, s = [], self.structure
        policy = next((a["content"] for t, a in s.elements if t == "meta" and a.get("http-equiv") == "Content-Security-Policy"), "")
        rules = dict((r.split() + [""])[:2] for r in policy.split(";"))
        want = {"default-src": "'none'", "script-src": f"'{digest(s.texts['script'][1])}'", "style-src": f"'{digest(s.texts['style'][0])}'",
                "img-src": "data:", "base-uri": "'none'", "form-action": "'none'", "require-trusted-types-for": "'script'", "trusted-types": "'none'"}
        if rules != want:
            bad.append(f"policy {rules}, not {want}")
        for tag, attributes in s.elements:
            if tag not in ("html", "head", "meta", "link", "title", "style", "body", "header", "p", "h1", "ul", "li", "strong", "code", "a", "nav", "main",
                           "footer", "noscript", "pre", "script"):
                bad.append(f"element {tag}")
            for name, value in attributes.items():
                if name.startswith("on") or name == "style":
                    bad.append(f"attribute {name} of {tag}")
                if name in ("src", "href", "action", "data") and value not in ("#main", "data:,"):
                    bad.append(f"{name}={value}")
        if re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|XMLHttpRequest|\bfetch\(|import\(", s.texts["script"][1]):
            bad.append("the script makes markup, code or requests out of text")
        if len(re.findall(r"</script", self.text, re.I)) != 2:
            bad.append("a text ends a script")
        if re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", self.text):
            bad.append("control characters")
        return bad
