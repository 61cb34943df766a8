"""Every public name has a docstring with an example that runs."""

from __future__ import annotations

import doctest
import inspect
import re

import kcf_track
import numpy as np
import pytest
from conftest import ROOT
from kcf_track import machines

#: Names without an example: types and values.
PLAIN = ("Box", "Evaluation", "Frame", "Order", "Preset", "State", "Step", "__version__")


def public():
    for module in (kcf_track, machines):
        yield module.__name__, module
        for name in module.__all__:
            found = getattr(module, name)
            if name in PLAIN or (inspect.isclass(found) and issubclass(found, kcf_track.Error)):
                continue
            yield f"{module.__name__}.{name}", found


NAMES = dict(public())


@pytest.mark.parametrize("name", NAMES)
def test_examples_run(name, monkeypatch):
    monkeypatch.chdir(ROOT)
    found = NAMES[name]
    texts = {name: inspect.getdoc(found)}
    if inspect.isclass(found):
        members = {key: getattr(found, key) for key in vars(found) if not key.startswith("_")}
        texts.update({f"{name}.{key}": inspect.getdoc(value) for key, value in members.items() if value.__doc__})
        if found.__module__ == "kcf_track":
            assert all(value.__doc__ for value in members.values()), members
    assert ">>>" in (texts[name] or ""), f"{name} has no example"
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for key, text in texts.items():
        runner.run(doctest.DocTestParser().get_doctest(text or "", {"numpy": np}, key, None, 0))
    assert runner.summarize().failed == 0


@pytest.mark.parametrize("path", ["docs/python.md", "docs/use.md", "README.md"])
def test_examples_of_the_documents_run(path, monkeypatch, tmp_path):
    """The Python blocks of a document, in one namespace."""
    if path == "docs/use.md":
        pytest.importorskip("pandas")
    # The blocks of docs/use.md are about files of the reader.
    monkeypatch.chdir(tmp_path if path == "docs/use.md" else ROOT)
    (tmp_path / "clips.csv").write_text(f"clip,x,y,w,h\n{ROOT / 'assets/demo'},12.8,44.4,38,60\n")
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / path).read_text(), re.MULTILINE | re.DOTALL)
    assert blocks
    names: dict[str, object] = {"__name__": "example"}
    for block in blocks:
        exec(compile(block, path, "exec"), names)  # noqa: S102
