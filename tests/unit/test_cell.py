"""From a place in code to the words of the cell."""

from __future__ import annotations

import ast
import dis
import linecache

import pytest

from leafmagic.cell import Place, is_module_word, is_user_file, locate
from leafmagic.statements import attribute_stores, segment, statements_of


def places(text: str, opname: str) -> list[Place]:
    name = f"<ipython-input-{abs(hash(text))}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    code = compile(text, name, "exec")
    return [
        locate(code, step.offset, lambda _: "Cell In[1]")
        for step in dis.get_instructions(code)
        if step.opname == opname
    ]


@pytest.mark.parametrize(
    ("text", "opname", "source", "targets", "operands"),
    [
        ("y = a @ b", "BINARY_OP", "a @ b", ("y",), ("a", "b")),
        ("y += b", "BINARY_OP", "y += b", ("y",), ("y", "b")),
        ("q, k = x.chunk(2)", "CALL", "x.chunk(2)", ("q", "k"), ("x", "2")),
        ("a, b = f(1), g(2)", "CALL", "f(1)", ("a",), ("1",)),
        ("print(h := f(x))", "CALL", "f(x)", ("h",), ("x",)),
        ("m.h = f(x)", "CALL", "f(x)", ("m.h",), ("x",)),
        ("for t in f(x):\n    pass", "CALL", "f(x)", ("t",), ("x",)),
        ("é = f(ß, '😀')", "CALL", "f(ß, '😀')", ("é",), ("ß", "'😀'")),
    ],
)  # fmt: skip
def test_expression_targets_and_operands(
    text: str, opname: str, source: str, targets: tuple[str, ...], operands: tuple[str, ...]
) -> None:
    found = places(text, opname)[0]
    assert (found.source, found.targets, found.operands) == (source, targets, operands)
    assert (found.line, found.label) == (1, "Cell In[1]")


def test_an_attribute_and_its_owner() -> None:
    (found,) = places("net[0].weight.grad is not None", "LOAD_ATTR")[1:]
    assert (found.attribute, found.owner, found.compared_with_none) == (
        "grad",
        "net[0].weight",
        True,
    )


def test_two_statements_on_a_line_are_told_apart() -> None:
    one, two = places("y = a * 2; z = y + 1", "BINARY_OP")
    assert (one.source, one.column, one.targets) == ("a * 2", 4, ("y",))
    assert (two.source, two.column, two.targets) == ("y + 1", 15, ("z",))


def test_statements_bind_names_and_functions_hide_theirs() -> None:
    found = statements_of(
        "a = 1\nfor i in f():\n    b = i\ndef g():\n    c = 1\nd = [e for e in a]\n"
    )
    assert [(s.line, s.names) for s in found] == [
        (1, ("a",)), (2, ("i",)), (3, ("b",)), (4, ("g",)), (6, ("d",)),
    ]  # fmt: skip
    assert statements_of("%timeit x") == ()


def test_a_segment_is_what_python_cuts_out() -> None:
    text = "é = f(\n  'ß',\n  (a +\n   b),\n)\nc = 1"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.expr):
            assert segment(text, node) == ast.get_source_segment(text, node)


def test_attribute_stores_have_owner_and_line() -> None:
    stores = attribute_stores("x = 1\nnet[1].requires_grad = not x\n")
    assert stores == (("net[1]", "requires_grad", 2, "not x", False, False),)


def test_attribute_stores_of_methods_are_their_own() -> None:
    text = "class A:\n    def f(this, p):\n        this.a = this.b.c = p\n        p.d, e = 1, 2\n"
    assert attribute_stores(text) == (
        ("this", "a", 3, "p", True, True),
        ("this.b", "c", 3, "p", False, True),
        ("p", "d", 4, "", False, True),
    )


def test_whose_file_it_is() -> None:
    assert is_user_file("<ipython-input-1-abc>")
    assert is_user_file("/home/someone/train.py")
    assert not is_user_file(ast.__file__)
    assert not is_user_file(pytest.__file__)
    assert not is_user_file("<frozen importlib._bootstrap>")


@pytest.mark.parametrize("word", ["torch", "F", "torch.nn.functional", "nn"])
def test_modules_are_no_operands(word: str) -> None:
    assert is_module_word(word)


@pytest.mark.parametrize("word", ["torch.ones(3)", "Fx", "x", "self.nn"])
def test_operands_are_no_modules(word: str) -> None:
    assert not is_module_word(word)
