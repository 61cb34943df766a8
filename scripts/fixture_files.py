"""How the files of tests/data/kernels are written, and how two ways to a number are compared."""

import json
from pathlib import Path

import numpy as np

OUT = Path(__file__).resolve().parent.parent / "tests" / "data" / "kernels"
TIGHT = dict(solver="CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)


def numbers(value):
    """Arrays as nested lists of 15 significant digits."""
    if isinstance(value, dict):
        return {k: numbers(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [numbers(v) for v in value]
    if isinstance(value, np.ndarray):
        return numbers(value.tolist())
    return float(f"{value:.15g}") if isinstance(value, (float, np.floating)) else value


def save(name, **fields):
    (OUT / f"{name}.json").write_text(json.dumps(numbers(fields)) + "\n")


def same(a, b, tolerance):
    error = np.abs(np.asarray(a) - np.asarray(b)).max()
    assert error < tolerance, error
