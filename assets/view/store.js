"use strict";

/* The state that the server sent: targets, their records and the playback. */

const STATES = {
  initial: { word: "given", ink: "#d8dee3", dash: [] },
  tracking: { word: "tracking", ink: "#4f9d69", dash: [] },
  recovered: { word: "recovered", ink: "#50befa", dash: [] },
  uncertain: { word: "uncertain", ink: "#e0b400", dash: [8, 4] },
  occluded: { word: "occluded", ink: "#b668cc", dash: [2, 3] },
  lost: { word: "lost", ink: "#ff5a46", dash: [2, 8] },
  missing: { word: "unreadable frame", ink: "#b4b4b4", dash: [2, 8] },
};

/* Whether a target is in a state that a person should look at. */
const isDoubt = (state) => ["uncertain", "occluded", "lost", "missing"].includes(state);

const store = {
  // id: {marks: Map(position: {given, reach, occluded, until}), records: Map(position: record), name, kind, attributes}
  targets: new Map(),
  status: null,
  size: null,
  map: null,
  levels: null,

  target(id) {
    if (!this.targets.has(id)) {
      this.targets.set(id, { marks: new Map(), records: new Map(), revision: 0 });
      this.targets = new Map([...this.targets].sort(([a], [b]) => a - b));
    }
    return this.targets.get(id);
  },

  record(id, position) {
    return this.targets.get(id)?.records.get(position);
  },

  /* Takes one message. */
  take(news, levels) {
    if (this.status && this.status.run !== news.status.run) location.reload();
    const left = new Set(news.targets.map((target) => target.id));
    for (const change of news.changes) {
      const target = this.target(change[0]);
      target.revision += 1;
      if (change.length === 3) {
        const [, from, until] = change;
        for (const position of target.records.keys()) {
          if (position >= from && (until === null || position < until)) target.records.delete(position);
        }
      } else {
        const [, position, bbox, state, confidence, polygon] = change;
        target.records.set(position, { bbox, state, confidence, polygon });
      }
    }
    for (const id of [...this.targets.keys()]) if (!left.has(id)) this.targets.delete(id);
    for (const { id, given, name, class: kind, attributes } of news.targets) {
      const mark = ({ frame, bbox, ...said }) => [frame, { reach: "from-here", until: null, ...said, given: bbox !== null }];
      const target = this.target(id);
      const key = JSON.stringify(given);
      if (target.key !== key) target.revision += 1;
      Object.assign(target, { key, marks: new Map(given.map(mark)), name, kind, attributes: attributes ?? {} });
    }
    this.status = news.status;
    if (news.size) this.size = news.size;
    this.map = news.map;
    this.levels = news.map ? levels : null;
  },

  /* The first position that the page can go to. */
  get earliest() {
    return this.status.live ? this.status.oldest : this.status.first;
  },

  /* The last position that a person can go to, as far as it is known. */
  get last() {
    const { last, expected_last: expected, newest, live, position } = this.status;
    return live ? Math.max(newest, position) : last ?? Math.max(expected ?? 1, newest);
  },

  /* The marks of a target that begin a piece of its path, in order; the others hold in one frame only. */
  pieces(id) {
    const marks = [...(this.targets.get(id)?.marks ?? [])].filter(([, mark]) => mark.reach !== "this-frame");
    return marks.sort(([a], [b]) => a - b);
  },

  /* The frame that a target is followed to without a gap; null where nothing is missing up to the last frame. */
  followedTo(id) {
    const { records } = this.target(id);
    const { last, newest, live } = this.status;
    // A live source ends at its newest frame so far; a video has no known end.
    const end = last ?? (live ? newest : Infinity);
    const pieces = this.pieces(id);
    for (const [i, [from, mark]] of pieces.entries()) {
      const until = Math.min(pieces[i + 1]?.[0] ?? Infinity, end + 1);
      if (mark.given && mark.until !== null && mark.until < until - 1) return mark.until;
      for (let at = from; mark.given && at < until; at += 1) if (!records.has(at)) return at - 1;
    }
    return null;
  },

  /* Whether the box of a frame is of a path that a later correction will replace. */
  isFormer(id, position) {
    const until = this.pieces(id).findLast(([at]) => at <= position)?.[1].until ?? null;
    return until !== null && position > until;
  },

  /* What a person calls a target. */
  nameOf(id) {
    return this.targets.get(id)?.name ?? String(id);
  },

  /* The same in a sentence. */
  called(id, word = "Target") {
    return this.targets.get(id)?.name ?? `${word} ${id}`;
  },

  /* The runs of frames in which a target has one state, in order: [{from, until, state, worst, doubt}], both ends
     included. Given frames belong to the run around them; `worst` is the frame of the lowest confidence. A target that a
     person calls covered is no doubt. */
  spans(id) {
    const target = this.target(id);
    if (target.spans?.revision === target.revision) return target.spans.all;
    const all = [];
    const marks = [...target.marks].sort(([a], [b]) => a - b);
    let [place, said, least] = [0, null, 1];
    for (const at of [...target.records.keys()].sort((a, b) => a - b)) {
      for (; place < marks.length && marks[place][0] <= at; place += 1) said = marks[place][1].occluded;
      const { state, confidence } = target.records.get(at);
      const kind = said && state === "initial" ? "occluded" : isDoubt(state) ? state : "tracking";
      const doubt = isDoubt(kind) && !said;
      const last = all.at(-1);
      const goesOn = last && last.until === at - 1 && last.state === kind && last.doubt === doubt;
      if (goesOn) last.until = at;
      else [least] = [Infinity, all.push({ from: at, until: at, state: kind, worst: at, doubt })];
      if ((confidence ?? 1) < least) [least, all.at(-1).worst, all.at(-1).least] = [confidence ?? 1, at, confidence ?? 1];
    }
    target.spans = { revision: target.revision, all };
    return all;
  },

  /* The stretches that a person should look at, of some targets, in the order of their worst frames. Spans of one target
     that follow each other are one. */
  doubtful(ids = [...this.targets.keys()]) {
    const all = ids.flatMap((id) => this.spans(id).filter(({ doubt }) => doubt).reduce((joined, span) => {
      const last = joined.at(-1);
      if (last?.until !== span.from - 1) return [...joined, { id, ...span }];
      const worse = (span.least ?? 1) < (last.least ?? 1) ? span : last;
      const { worst, least, state } = worse;
      return [...joined.slice(0, -1), { ...last, until: span.until, worst, least, state }];
    }, []));
    return all.sort((a, b) => a.worst - b.worst || a.id - b.id);
  },

  /* The classes of all targets, and those that were used before on this page. */
  classes() {
    const remembered = JSON.parse(sessionStorage.getItem("classes") ?? "[]");
    const all = new Set([...remembered, ...[...this.targets.values()].map(({ kind }) => kind).filter(Boolean)]);
    if (all.size > remembered.length) sessionStorage.setItem("classes", JSON.stringify([...all]));
    return [...all];
  },

  /* What was given at a position. */
  mark(id, position) {
    return this.targets.get(id)?.marks.get(position);
  },
};
