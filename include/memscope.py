# SPDX-License-Identifier: MIT
"""Marks and labels for MemScope, in Python: memscope(3).

A program that is not recorded by ms-record pays a call that does nothing.

    import memscope

    with memscope.label("tenant=42"):
        handle(request)
    memscope.mark("loaded")

A label belongs to the thread that sets it. A coroutine that is suspended inside of the block leaves it
set for what its thread runs meanwhile; a generator does, too.
"""

import contextlib
import ctypes

__all__ = ["label", "mark", "pause", "retention"]


def _find(name, *arguments):
    try:
        function = getattr(ctypes.CDLL(None), "memscope_v1_" + name)
    except AttributeError:
        return lambda *_: None  # not recorded, or attached to
    function.argtypes = arguments
    function.restype = None
    return function


_push = _find("label_push", ctypes.c_char_p)
_pop = _find("label_pop")
_mark = _find("mark", ctypes.c_char_p)
_retention = _find("retention", ctypes.c_char_p)
_pause = _find("pause")
_resume = _find("resume")


def _bytes(text):
    return text if isinstance(text, bytes) else str(text).encode("utf-8", "replace").replace(b"\0", b"")


@contextlib.contextmanager
def label(text):
    """Labels what this thread allocates inside of the block; also a decorator."""
    _push(_bytes(text))
    try:
        yield
    finally:
        _pop()


def mark(name):
    """Names this moment: ms-snap --at mark:NAME."""
    _mark(_bytes(name))


def retention(name):
    """Names this moment, and has ms-record find what keeps blocks reachable here."""
    _retention(_bytes(name))


@contextlib.contextmanager
def pause():
    """Leaves what all threads allocate inside of the block out of the recording."""
    _pause()
    try:
        yield
    finally:
        _resume()
