#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the events of a trace as trace-dump does; written from ms-trace(5) alone, to prove that the page suffices."""
import ctypes
import struct
import sys

KINDS = ["alloc", "free", "realloc", "failed", "free-unknown", "realloc-unknown", "free-inferred", "ext"]
SIZED, RELEASING, ALLOCATING = (0, 2, 3, 5), (1, 2, 6), (0, 2, 5)

zstd = ctypes.CDLL("libzstd.so.1")
zstd.ZSTD_decompress.restype = ctypes.c_size_t
zstd.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]


class Cursor:
    def __init__(self, data):
        self.data, self.at = data or b"", 0

    def next(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value


def unzigzag(v):
    return (v >> 1) ^ -(v & 1)


def slot(a, b):
    return ((a * 0x9E3779B1 + b * 0x85EBCA77) % 2**32) >> 20


def granules(size):
    return 2 if size < 24 else (size >> 4) + 1 + ((size & 15) > 8)


def size_class(size):
    g = granules(size)
    if g < 64:
        return g
    h = g.bit_length() - 1
    return 64 + (h - 6) * 8 + ((g >> (h - 3)) & 7)


class Chunk:
    def __init__(self, address, granules):
        self.address, self.granules, self.arena, self.list = address, granules, None, 0

    def end(self):
        return (self.address + 16 * self.granules) % 2**64


class Arena:
    def __init__(self):
        self.top = self.end = self.remainder = 0
        self.lists = {}

    def of(self, number):
        return self.lists.setdefault(number, [])

    def fast(self):
        return any(self.of(128 + g) for g in range(2, 9))

    def room(self):
        return (self.end - self.top + 16) % 2**64


def bin_of(g):
    if g < 64:
        return g
    for shift, most, base in (6, 48, 48), (9, 20, 91), (12, 10, 110), (15, 4, 119), (18, 2, 124):
        if (16 * g) >> shift <= most:
            return base + ((16 * g) >> shift)
    return 126


def arena_at(address):
    return 0 if address < 0x700000000000 else 1 + (address >> 26) % 2**32 % 63


def bucket(address, shift, count):
    return ((address >> shift) + (address >> 22) * 40503) % 2**64 % count


def mapped(address, g):
    return g >= 8192 and address % 4096 == 16 and address >= 0x700000000000


def page(n):
    return (n + 4095) % 2**64 & ~4095


class Heap:
    """The state of the section "The heap"."""

    def __init__(self):
        self.map_from = self.trim_from = 131072
        self.arena, self.cache, self.past, self.arenas, self.odd = {}, {}, {}, {}, {}
        self.begins, self.ends, self.count, self.told = {}, {}, 0, False

    def arena_number(self, n):
        return self.arenas.setdefault(n, Arena())

    def cached(self, t, g):
        return self.cache.setdefault((t, g), []) if g < 66 else []

    def cacheable(self, t, g):
        return g < 66 and len(self.cached(t, g)) < 7

    # Chunks larger than their blocks need.
    def odd_set(self, address):
        return self.odd.setdefault(bucket(address, 7, 16384), [[0, 0] for _ in range(4)])

    def chunk_of(self, address, size):
        for a, g in self.odd_set(address):
            if a == address:
                return g
        return min(granules(size), 2**31 - 1)

    def note(self, address, g, have):
        entries = self.odd_set(address)
        at = next((e for e in entries if e[0] == address), None)
        if have == g:
            if at:
                at[0] = 0
        else:
            at = at or next((e for e in entries[:3] if not e[0]), entries[3])
            at[:] = address, have

    # Lists and tables.
    def enter(self, table, address, chunk):
        entries = table.setdefault(bucket(address, 5, 2**17), [])
        if len(entries) == 16:
            return False
        entries.insert(0, chunk)
        return True

    def leave(self, table, address, chunk):
        table[bucket(address, 5, 2**17)].remove(chunk)

    def begin_at(self, address):
        return next((c for c in self.begins.get(bucket(address, 5, 2**17), ()) if c.address == address), None)

    def end_at(self, address):
        return next((c for c in self.ends.get(bucket(address, 5, 2**17), ()) if c.end() == address), None)

    def link(self, chunk, arena, number, at=0):
        chunk.arena, chunk.list = arena, number
        self.arena_number(arena).of(number).insert(at, chunk)

    def unlink(self, chunk):
        self.arena_number(chunk.arena).of(chunk.list).remove(chunk)

    def drop(self, chunk):
        self.unlink(chunk)
        if chunk.list < 128:
            self.leave(self.begins, chunk.address, chunk)
            self.leave(self.ends, chunk.end(), chunk)
        self.count -= 1

    def add(self, address, g, arena, number):
        if self.count == 2**18 - 1:
            return
        chunk = Chunk(address, g)
        if number < 128:
            if not self.enter(self.begins, address, chunk):
                return
            if not self.enter(self.ends, chunk.end(), chunk):
                self.leave(self.begins, address, chunk)
                return
        self.count += 1
        self.link(chunk, arena, number)

    def first_equal(self, chunks, at):
        for _ in range(64):
            if not at or chunks[at - 1].granules != chunks[at].granules:
                break
            at -= 1
        return at

    def sorted_in(self, chunk, arena):
        number, at = bin_of(chunk.granules), 0
        if number >= 64:
            chunks = self.arena_number(arena).of(number)
            last = len(chunks) - 1
            for _ in range(65):
                if last < 0 or chunks[last].granules >= chunk.granules:
                    break
                last -= 1
            if last >= 0 and chunks[last].granules == chunk.granules:
                last = self.first_equal(chunks, last)
            at = last + 1
        self.link(chunk, arena, number, at)

    # Release.
    def merge(self, arena, address, g):
        a = self.arena_number(arena)
        low = self.end_at(address)
        if low and low.arena == arena and g + low.granules < 2**31:
            address, g = low.address, g + low.granules
        else:
            low = None
        if (address + 16 * g) % 2**64 == a.top:
            if low:
                self.drop(low)
            a.top = address
            return a.room()
        high = self.begin_at((address + 16 * g) % 2**64)
        if high and high.arena == arena and g + high.granules < 2**31:
            g += high.granules
            self.drop(high)
        if low:
            self.drop(low)
        self.add(address, g, arena, 1)
        return 16 * g

    def empty_fast(self, arena):
        for g in range(2, 9):
            chunks = self.arena_number(arena).of(128 + g)
            while chunks:
                chunk = chunks[0]
                self.drop(chunk)
                self.merge(arena, chunk.address, g)

    def release_chunk(self, t, address, g):
        n = arena_at(address)
        a = self.arena_number(n)
        if self.cacheable(t, g):
            self.cached(t, g).append(address)
        elif g <= 8:
            self.add(address, g, n, 128 + g)
        else:
            stale = self.begin_at(address) if self.told else None
            if stale:
                self.drop(stale)
            if self.merge(n, address, g) >= 65536:
                if a.fast():
                    self.empty_fast(n)
                if a.end > a.top and a.room() >= self.trim_from and a.room() > 131072 + 33:
                    a.end = (a.end - ((a.room() - 33 - 131072) & ~4095)) % 2**64

    def release(self, t, address, size, moved):
        g = self.chunk_of(address, size)
        for e in self.odd_set(address):
            if e[0] == address:
                e[0] = 0
                break
        if not mapped(address, g):
            self.release_chunk(t, address, g)
        elif not moved:
            size = page(16 * g + 16)
            if self.map_from < size <= 32 << 20:
                self.map_from, self.trim_from = size, 2 * size

    # Allocation.
    def begin(self, thread, size, stack, realloc, old, old_size):
        self.t, self.g, self.realloc, self.old = thread % 64, min(granules(size), 2**31 - 1), realloc, old
        self.asked = self.joined = False
        self.answer = None
        self.caller = (stack * 0x9E3779B1 % 2**32) >> 16
        self.had_cached = bool(self.cached(self.t, self.g))
        if realloc:
            self.expected = 3
            if old:
                self.old_g = self.chunk_of(old, old_size)
                self.expected = 1 if self.stays() else 3
        else:
            self.expected = 2 if self.had_cached and not self.past.get(self.caller) else 3

    def stays(self):
        a = self.arena_number(arena_at(self.old))
        behind = (self.old + 16 * self.old_g) % 2**64
        if self.old_g >= self.g:
            return True
        if behind == a.top:
            if a.room() >= 16 * (self.g - self.old_g) + 32:
                return True
        else:
            chunk = self.begin_at(behind)
            if chunk and chunk.granules >= self.g - self.old_g:
                return True
        self.joined = self.ask() == behind
        return self.joined

    def ask(self):
        if not self.asked:
            self.asked, self.from_cache, self.chunk = True, False, None
            self.answer = self.find()
        return self.answer

    def give(self, chunk):
        self.chunk = chunk
        return chunk.address

    def find(self):
        n, g = self.arena.get(self.t, 0), self.g
        a = self.arena_number(n)
        if g <= 8 and a.of(128 + g):
            return self.give(a.of(128 + g)[0])
        if g < 64 and a.of(g):
            return self.give(a.of(g)[-1])
        if g >= 64 and a.fast():
            self.empty_fast(n)
        for emptied in False, True:
            found = self.sort(n, a)
            if found:
                return found
            chunk = self.fit(a.of(bin_of(g))) if g >= 64 else None
            larger = [i for i in range(bin_of(g) + 1, 127) if a.of(i)]
            if not chunk and larger:
                chunk = a.of(larger[0])[-1]
            if chunk:
                return self.give(chunk)
            if emptied or not a.fast() or a.room() >= 16 * g + 32:
                return a.top
            self.empty_fast(n)

    def sort(self, n, a):
        t, g, unsorted, cached = self.t, self.g, a.of(1), False
        while unsorted:
            chunk = unsorted[-1]
            last = g < 64 and len(unsorted) == 1 and chunk.address == a.remainder and chunk.granules > g + 2
            if last or chunk.granules == g and not self.cacheable(t, g):
                return self.give(chunk)
            if chunk.granules == g:
                self.cached(t, g).append(chunk.address)
                cached = True
                self.drop(chunk)
            else:
                self.unlink(chunk)
                self.sorted_in(chunk, n)
        self.from_cache = cached
        return self.cached(t, g)[-1] if cached else None

    def fit(self, chunks):
        at = len(chunks) - 1
        for _ in range(257):
            if at < 0 or chunks[at].granules >= self.g:
                break
            at -= 1
        if at < 0 or chunks[at].granules < self.g:
            return None
        at = self.first_equal(chunks, at)
        second = at + 1 < len(chunks) and chunks[at + 1].granules == chunks[at].granules
        return chunks[at + second]

    def take_chunk(self, chunk, fill):
        g, a = self.g, self.arena_number(chunk.arena)
        self.drop(chunk)
        if chunk.granules == g and (chunk.list >= 128 or chunk.list > 1 and g < 64):
            chunks = a.of(chunk.list)
            while fill and chunks and self.cacheable(self.t, g):
                more = chunks[0 if chunk.list >= 128 else -1]
                self.cached(self.t, g).append(more.address)
                self.drop(more)
            return g
        if chunk.granules < g + 2:
            return chunk.granules
        rest = (chunk.address + 16 * g) % 2**64
        self.add(rest, chunk.granules - g, chunk.arena, 1)
        if g < 64:
            a.remainder = rest
        return g

    def take_top(self, n):
        a, need = self.arena_number(n), 16 * self.g + 32
        if a.room() < need:
            a.end = (a.end + page(need + (0 if n else 131072) - a.room())) % 2**64
        a.top = (a.top + 16 * self.g) % 2**64
        a.end = max(a.end, a.top)

    def take_answer(self):
        if self.from_cache:
            self.cached(self.t, self.g).pop()
        elif self.chunk:
            return self.take_chunk(self.chunk, True)
        else:
            self.take_top(self.arena.get(self.t, 0))
        return self.g

    def take(self, way):
        if way == 1:
            self.stay()
        elif way == 2:
            self.cached(self.t, self.g).pop()
            if not self.realloc:
                self.past[self.caller] = False
        else:
            if self.had_cached and not self.realloc:
                self.past[self.caller] = True
            have = self.take_answer()
            if have != self.g:
                self.note(self.answer, self.g, have)

    def stay(self):
        a, g, have = self.arena_number(arena_at(self.old)), self.g, self.old_g
        behind = (self.old + 16 * have) % 2**64
        if self.joined:
            have += self.take_answer()
        elif have < g and behind == a.top:
            a.top = (self.old + 16 * g) % 2**64
            a.end = max(a.end, a.top)
            have = g
        elif have < g:
            chunk = self.begin_at(behind)
            if chunk:
                have += chunk.granules
                self.drop(chunk)
        have = max(have, g)
        if have >= g + 2:
            self.release_chunk(self.t, (self.old + 16 * g) % 2**64, have - g)
            have = g
        self.note(self.old, g, have)

    def first_list(self):
        a = self.arena_number(self.arena.get(self.t, 0))
        fast = a.of(128 + self.g) if self.g <= 8 else []
        return fast or a.of(bin_of(self.g))[::-1]

    def take_at(self, address):
        n, g, have = arena_at(address), self.g, self.g
        a, end = self.arena_number(n), (address + 16 * g) % 2**64
        fast = a.of(128 + g)[:64] if g <= 8 else []
        chunk = next((c for c in fast if c.address == address), None) or self.begin_at(address)
        wrong = self.chunk
        self.told = True
        if wrong and wrong is not chunk:
            over = wrong.address < end and address < wrong.end()
            rank = [0 if c.list >= 128 else c.list for c in (chunk or wrong, wrong)]
            if over or address == a.top or chunk and rank[0] >= rank[1]:
                self.drop(wrong)
        if address == a.top:
            self.take_top(n)
        elif chunk and chunk.granules >= g:
            have = self.take_chunk(chunk, False)
        elif chunk:
            self.drop(chunk)
        self.note(address, g, have)
        if mapped(address, g):
            return
        self.arena[self.t] = n
        if end <= a.top or n == 0 and a.top and address >= a.end + 2**20:
            return
        if not a.top:
            a.end = (address & ~(2**26 - 1)) + 0x21000 if n else (address - 16 + 0x21000) & ~4095
        elif address > a.top and 32 <= address - a.top < 2**20:
            self.add(a.top, (address - a.top) >> 4, n, 1)
        a.top = end
        if end > a.end:
            a.end = page(end)


class Addresses:
    """The state of the section "Addresses", which lives on from block to block."""

    def __init__(self):
        self.first, self.fresh, self.lists, self.known, self.past, self.last = 0, {}, {}, {}, [], {}
        self.earlier, self.anchor, self.runs = {}, {}, False
        self.heap, self.by_heap = Heap(), False

    def begin(self, columns, number):
        self.codes = None
        self.by_heap = 12 in columns
        column = columns.get(12, columns.get(8))
        if column is None:
            return
        self.far = Cursor(column)
        bits, size = self.far.next(), self.far.next()
        self.runs = bits & 2 != 0
        self.codes = Cursor(column[self.far.at : self.far.at + size])
        self.far.at += size
        if bits & 1:
            self.first, self.fresh, self.lists, self.past, self.last = number, {}, {}, [], {}
            self.earlier, self.anchor, self.heap = {}, {}, Heap()

    def list_of(self, thread, size):
        return self.lists.setdefault(((size_class(size) + thread * 211) % 2**32) % 1024, [])

    def from_past(self, thread, size):
        entries = id(self.list_of(thread, size))
        place = self.last.get(entries, 0) + unzigzag(self.far.next())
        self.last[entries] = place
        assert 0 <= len(self.past) - place < 65536
        return self.past[place - 1]

    def go_on(self, thread, code, end):
        if code != 0 and self.runs:
            earlier = self.earlier.setdefault(thread, [0] * 4)
            earlier.pop(code - 38 if code >= 38 else 3)
            earlier.insert(0, self.fresh.get(thread, 0))
        self.fresh[thread] = end
        if code in (3, 4):
            self.anchor[thread] = end

    def from_heap(self, event, thread, size, stack, freed):
        """The address; `freed` is not None for a realloc."""
        h, t, code = self.heap, thread % 64, self.codes.data[self.codes.at]
        self.codes.at += 1
        old, old_size = self.known[freed] if freed is not None and freed >= self.first else (0, 0)
        h.begin(thread, size, stack, event == 2, old, old_size)
        way = code or h.expected
        if way == 4:
            return 0
        address = old if way == 1 else h.cached(t, h.g)[-1] if way == 2 else h.ask()
        if way < 4:
            h.take(way)
        elif code >= 8:
            address = h.cached(t, h.g).pop(-1 - (code - 8))
        else:
            v = self.far.next()
            if code == 7:
                address = h.first_list()[v].address
            else:
                address = (self.anchor.get(t, 0) + unzigzag(v) * (16 if code == 5 else 1)) % 2**64
                self.anchor[t] = (address + 16 * h.g) % 2**64
            h.take_at(address)
        return address

    def allocated(self, event, thread, number, size, stack, freed):
        """The address and whether the block stayed where it was."""
        code = address = 0
        if self.codes and self.by_heap:
            address = self.from_heap(event, thread, size, stack, freed)
            self.known[number] = (address, size)
            return address, event == 2 and freed >= self.first and address == self.known[freed][0]
        if self.codes:
            code = self.codes.data[self.codes.at]
            self.codes.at += 1
            fresh = self.fresh.get(thread % 64, 0)
            if code >= 38:
                address = self.earlier.get(thread % 64, [0] * 4)[code - 38]
            elif code >= 6:
                entries = self.list_of(thread, size)
                address = entries.pop(len(entries) - 1 - (code - 6))
            elif code == 5:
                address = self.from_past(thread, size)
            elif code == 1:
                address = self.known[freed][0]
            elif code != 2:
                step = 0 if code == 0 else 16 * unzigzag(self.far.next()) if code == 3 else unzigzag(self.far.next())
                base = self.anchor.get(thread % 64, 0) if self.runs and code else fresh
                address = (base + step) % 2**64
            if code in (0, 3, 4) or self.runs and (code == 5 or code >= 38):
                self.go_on(thread % 64, code, address + 16 * granules(size))
        self.known[number] = (address, size)
        return address, code == 1

    def released(self, thread, freed, moved):
        if freed >= self.first:
            address, size = self.known[freed]
            if self.by_heap:
                if address:
                    self.heap.release(thread % 64, address, size, moved)
                return
            entries = self.list_of(thread, size)
            entries.append(address)
            del entries[:-32]
            self.past.append(address)


class Thread:
    stack = before = frees = freed = 0


class Events:
    def __init__(self, columns, addresses):
        head = Cursor(columns[1])
        self.number, self.first, self.tick, self.count = (head.next() for _ in range(4))
        self.ops = columns.get(2, b"")
        names = ("thread_column", 3), ("stack", 4), ("size", 5), ("freed", 6), ("time", 7), ("unknown", 9), ("ext", 10), ("slack", 11)
        for name, column in names:
            setattr(self, name, Cursor(columns.get(column)))
        self.has_slack = 11 in columns
        self.thread, self.threads = 0, {}
        self.stack1, self.stack2, self.size1, self.size2, self.free1 = {}, {}, {}, {}, {}
        self.addresses = addresses
        addresses.begin(columns, self.number)

    def get_stack(self, op, t):
        i, j = slot(t.stack, 0), slot(t.stack, t.before + t.frees)
        if op & 16:
            stack = self.stack2.get(j, 0)
        else:
            v = self.stack.next()
            stack = self.stack1.get(i, 0) if v == 0 else t.stack + unzigzag(v - 1)
        self.stack1[i] = self.stack2[j] = stack
        return stack

    def get_freed(self, op, t):
        i = slot(t.stack, t.frees)
        if op & 128:
            ago = self.free1.get(i, 0)
        else:
            v = self.freed.next()
            ago = v >> 1 if v & 1 else self.number - (t.freed + unzigzag(v >> 1))
        assert 1 <= ago <= self.number
        self.free1[i] = ago
        t.freed = self.number - ago
        t.frees += 1
        return t.freed

    def get_size(self, op, t, stack):
        i, j = slot(stack, 0), slot(stack, t.stack)
        if op & 32:
            size = self.size2.get(j, 0)
        else:
            v = self.size.next()
            size = self.size1.get(i, 0) if v == 0 else self.size.next() if v == 1 else v - 2
        self.size1[i] = self.size2[j] = size
        t.before, t.stack, t.frees = t.stack, stack, 0
        return size

    def event(self, op):
        kind = op & 7
        if not op & 8:
            self.thread = self.thread_column.next()
        if not op & 64:
            self.tick += self.time.next()
        t = self.threads.setdefault(self.thread % 64, Thread())
        stack = address = 0
        freed, same = None, False
        text = "  %d thread %d %s" % (self.tick, self.thread, KINDS[kind])
        if kind == 7:
            return text + self.extended()
        if kind not in SIZED and op & 32:
            stack = self.get_stack(op, t)
        if kind in RELEASING:
            freed = self.get_freed(op, t)
        if kind in SIZED:
            stack = self.get_stack(op, t)
            size = self.get_size(op, t, stack)
        if kind in ALLOCATING:
            address, same = self.addresses.allocated(kind, self.thread, self.number, size, stack, freed)
            text += " #%d" % self.number
            slack = self.slack.next() if self.has_slack else None
            self.number += 1
        if kind == 4:
            address = self.unknown.next()
        if freed is not None:
            text += " frees #%d" % freed
            if not same:
                self.addresses.released(self.thread, freed, kind == 2)
        if kind in SIZED:
            text += " size %d" % size
        if stack:
            text += " stack %d" % stack
        text += " at 0x%x" % address if address else ""
        return text + (" slack %d" % slack if kind in ALLOCATING and slack is not None else "")

    def extended(self):
        ext, size = self.ext.next(), self.ext.next()
        body = Cursor(self.ext.data[self.ext.at : self.ext.at + size])
        self.ext.at += size
        stack, address, size, value = (body.next() for _ in range(4))
        text = (" stack %d" % stack if stack else "") + (" at 0x%x" % address if address else "")
        return text + " %d size %d value %d" % (ext, size, value)


def columns_of(payload, count):
    columns, at = {}, count * 12
    for i in range(count):
        number, codec, raw, stored = struct.unpack_from("<HBxII", payload, i * 12)
        data = payload[at : at + stored]
        at += stored
        if codec == 1:
            out = ctypes.create_string_buffer(raw + 1)
            assert zstd.ZSTD_decompress(out, raw, data, stored) == raw
            data = out.raw[:raw]
        columns[number] = data
    return columns


def main():
    with open(sys.argv[1], "rb") as f:
        data = f.read()
    addresses = Addresses()
    at = struct.unpack_from("<I", data, 12)[0]
    while at < len(data):
        assert data[at : at + 8] == bytes.fromhex("b54d53626c6b0d0a")
        kind, count, payload = struct.unpack_from("<HH20xI", data, at + 8)
        if kind == 2:
            e = Events(columns_of(data[at + 48 : at + 48 + payload], count), addresses)
            print("  from allocation #%d, event %d, tick %d: %d events" % (e.number, e.first, e.tick, e.count))
            for op in e.ops:
                print(e.event(op))
        at += 48 + payload


main()
