#!/usr/bin/env python3
"""Fits the confidence of a tracker to sequences with truth, and says how far it can be believed.

    scripts/calibration.py FOLDER [FOLDER ...] [--tracker FLAGS] [--starts N] [--svg FILE] [--program FILE]

Each folder is a group of sequences in OTB's form. Every sequence is tracked, with the flags of --tracker (`--preset
robust`), from the box given and, with --starts 5, from that box moved by a tenth of its size in each direction. Logistic
models are fitted to whether the overlap is above one half: of what the slow filter answers (0 without one) and of the
logarithm of the peak-to-sidelobe ratio (the filter), of the appearance score where there is one, and of the
log-odds of the product of both. The weights stand in src/tracker/calibration.rs. They are fitted to all, and to all groups but one (all sequences but one of a
single group), and the errors are those on what was left out. --svg draws the predicted probability against the true one.

It prints the weights, the area under the ROC curve, the expected calibration error (15 bins) and Brier's score of the
left-out frames and of the confidence that the program itself has, and which states the program gives frames that
overlap by less than a tenth and by more than a half.
"""

import argparse
import math
import subprocess
from collections import Counter
from pathlib import Path

from labelled import SHIFTS, area_under_roc, frames, program, targets

BINS = 15


def probability(weights, signals):
    """The logistic model."""
    return 1.0 / (1.0 + math.exp(-max(-500.0, min(500.0, sum(w * s for w, s in zip(weights, signals))))))


def solved(matrix, right):
    """The solution of a small system of linear equations, by elimination."""
    rows = [row[:] + [value] for row, value in zip(matrix, right)]
    for i in range(len(rows)):
        best = max(range(i, len(rows)), key=lambda r: abs(rows[r][i]))
        rows[i], rows[best] = rows[best], rows[i]
        for r in range(len(rows)):
            if r != i:
                share = rows[r][i] / rows[i][i]
                rows[r] = [a - share * b for a, b in zip(rows[r], rows[i])]
    return [row[-1] / row[i] for i, row in enumerate(rows)]


def fitted(samples, start=None):
    """The weights that make the outcomes of `samples` (signals, outcome) most likely, by Newton's method."""
    count = len(samples[0][0])
    weights = list(start or [0.0] * count)
    for _ in range(30):
        gradient, curvature = [0.0] * count, [[1e-9 * (i == j) for j in range(count)] for i in range(count)]
        for signals, outcome in samples:
            p = probability(weights, signals)
            for i in range(count):
                gradient[i] += (p - outcome) * signals[i]
                for j in range(count):
                    curvature[i][j] += p * (1 - p) * signals[i] * signals[j]
        step = solved(curvature, gradient)
        weights = [w - s for w, s in zip(weights, step)]
        if max(map(abs, step)) < 1e-8:
            break
    return weights


def experts(samples):
    """The weights of the filter and, where frames are compared, of the appearance score and of the product of both."""
    by_filter = fitted([(signals, good) for signals, _, good in samples])
    if any(identity is None for _, identity, _ in samples):
        return [by_filter]
    by_identity = fitted([((identity, 1.0), good) for _, identity, good in samples])
    odds = [((log_odds(by_filter, by_identity, s, i), 1.0), good) for s, i, good in samples]
    return [by_filter, by_identity, fitted(odds)]


def log_odds(by_filter, by_identity, signals, identity):
    """The log-odds of the product of both probabilities."""
    both = probability(by_filter, signals) * probability(by_identity, (identity, 1.0))
    both = min(max(both, 1e-9), 1 - 1e-9)
    return math.log(both / (1 - both))


def judged(weights, signals, identity):
    """The probability of a frame by the weights of `experts`."""
    if len(weights) == 1:
        return probability(weights[0], signals)
    return probability(weights[2], (log_odds(*weights[:2], signals, identity), 1.0))


def reliability(pairs):
    """Frames, mean prediction and share of good frames of each bin."""
    bins = [[] for _ in range(BINS)]
    for pair in pairs:
        bins[min(int(pair[0] * BINS), BINS - 1)].append(pair)
    return [(len(b), sum(p for p, _ in b) / len(b), sum(y for _, y in b) / len(b)) for b in bins if b]


def said(name, pairs):
    error = sum(count * abs(p - y) for count, p, y in reliability(pairs)) / len(pairs)
    brier = sum((p - y) ** 2 for p, y in pairs) / len(pairs)
    area = area_under_roc(pairs)
    print(f"{name}: AUROC {area:.3f}, calibration error {error:.3f}, Brier {brier:.3f} over {len(pairs)} frames")


def drawing(pairs):
    """A reliability diagram."""
    place = lambda p, y: (60 + 340 * p, 380 - 340 * y)
    most = max(count for count, _, _ in reliability(pairs))
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" width="430" height="440" font-family="sans-serif" font-size="13">',
        '<rect width="430" height="440" fill="white"/>',
    ]
    for k in range(6):
        x, y = place(k / 5, k / 5)
        parts.append(f'<path d="M{x} 40V380M60 {y}H400" stroke="#ddd"/>')
        parts.append(f'<text x="{x}" y="398" text-anchor="middle">{k / 5:g}</text>')
        parts.append(f'<text x="52" y="{y + 4}" text-anchor="end">{k / 5:g}</text>')
    parts.append('<path d="M60 380L400 40" stroke="#888" stroke-dasharray="4"/>')
    points = [(*place(p, y), count) for count, p, y in reliability(pairs)]
    parts.append('<path d="M' + "L".join(f"{x:.1f} {y:.1f}" for x, y, _ in points) + '" fill="none" stroke="#1f77b4"/>')
    for x, y, count in points:
        radius = 3 + 9 * math.sqrt(count / most)
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="#1f77b4" fill-opacity=".6"/>')
    parts.append('<text x="230" y="425" text-anchor="middle">confidence (circles: how many frames)</text>')
    turned = 'transform="translate(18 210) rotate(-90)" text-anchor="middle"'
    parts.append(f"<text {turned}>share of frames with overlap above 0.5</text></svg>")
    return "\n".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--tracker", default="--preset robust", metavar="FLAGS")
    parser.add_argument("--starts", type=int, default=1, choices=range(1, len(SHIFTS) + 1))
    parser.add_argument("--svg", type=Path)
    parser.add_argument("--program", type=Path)
    args = parser.parse_args()
    executable = args.program or program()
    samples, own, states = {}, [], {"bad": Counter(), "good": Counter()}
    for folder in args.folders:
        for sequence, path in targets(folder):
            for shift in SHIFTS[: args.starts]:
                try:
                    run = list(frames(executable, sequence, path, args.tracker.split(), shift))
                except subprocess.CalledProcessError as error:
                    raise SystemExit(f"{sequence}: {error.stderr}") from error
                for frame, overlap in run:
                    good = overlap > 0.5
                    signals = (frame["long_term"] or 0.0, math.log(max(frame["psr"], 1.0)), 1.0)
                    group = folder if len(args.folders) > 1 else sequence
                    samples.setdefault(group, []).append((signals, frame["identity"], good))
                    own += [(frame["confidence"], good)] if frame["confidence"] is not None else []
                    if good or overlap < 0.1:
                        states["good" if good else "bad"][frame["state"]] += 1
    for name, weights in zip(("filter", "identity", "product"), experts([s for all in samples.values() for s in all])):
        print(f"{name}:", " ".join(f"{w:.3f}" for w in weights))
    left_out = []
    for group, held in samples.items():
        weights = experts([sample for other, all in samples.items() if other != group for sample in all])
        left_out += [(judged(weights, signals, identity), good) for signals, identity, good in held]
    said("left out", left_out)
    if own:
        said("program", own)
    for name, counts in states.items():
        shares = ", ".join(f"{state} {count / counts.total():.4f}" for state, count in counts.most_common())
        print(f"{name} frames ({counts.total()}): {shares}")
    if args.svg:
        args.svg.write_text(drawing(left_out))


main()
