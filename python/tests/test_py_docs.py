"""Documents that run: docstrings, doc/PYTHON.md, and stubs that say what is there."""
import ast
import doctest
import importlib
import inspect
import os
import re

import pytest

import sextant

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


@pytest.mark.parametrize("name", ["", "._index", "._devices", "._inputs", "._types", "._dropins", "._prefixes",
                                  "._collector"])
def test_docstrings(name):
    module = importlib.import_module("sextant" + name)
    failed, tried = doctest.testmod(module)
    assert failed == 0 and (tried > 0 or name in ("._index", "._devices", "._dropins", "._collector"))


def test_every_verb_has_an_example():
    found = {t.name for t in doctest.DocTestFinder().find(sextant, module=False)
             if t.examples}
    for verb in ("get", "rank", "floor", "ceil", "key_at", "range", "count", "aggregate", "note",
                 "prefix", "climb"):
        assert f"sextant.Index.{verb}" in found
    for name in ("searchsorted", "isin", "asof", "devices", "estimate", "Collector"):
        assert f"sextant.{name}" in found


@pytest.mark.parametrize("path", ["doc/PYTHON.md", "README.md"])
def test_documents(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        blocks = re.findall(r"^```python\n(.*?)^```", file.read(), re.S | re.M)
    assert blocks
    names = {}
    for block in blocks:
        exec(compile(block, path, "exec"), names)


def arguments(node):
    a = node.args
    return [x.arg for x in a.posonlyargs + a.args], [x.arg for x in a.kwonlyargs]


def test_stubs_are_true():
    with open(os.path.join(os.path.dirname(sextant.__file__), "__init__.pyi"),
              encoding="utf-8") as file:
        tree = ast.parse(file.read())
    said = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            said.add(node.name)
            compare(node, getattr(sextant, node.name))
        elif isinstance(node, ast.ClassDef):
            said.add(node.name)
            for item in node.body:
                thing = getattr(sextant, node.name)
                if isinstance(item, ast.FunctionDef) and not item.name.startswith("__"):
                    assert hasattr(thing, item.name), item.name
                    if inspect.isfunction(getattr(thing, item.name)):
                        compare(item, getattr(thing, item.name))
    assert said == set(sextant.__all__)
    public = {n for n in vars(sextant.Index) if not n.startswith("_")} | {"close", "closed"}
    listed = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Index")
    assert public == {i.name for i in listed.body
                      if isinstance(i, ast.FunctionDef) and not i.name.startswith("__")} | {"dtype"}


def compare(node, function):
    signature = inspect.signature(function)
    kinds = inspect.Parameter
    plain = [p.name for p in signature.parameters.values() if p.kind != kinds.KEYWORD_ONLY]
    only = [p.name for p in signature.parameters.values() if p.kind == kinds.KEYWORD_ONLY]
    assert arguments(node) == (plain, only), node.name
