"use strict";

/* The state that the server sent: targets, their records and the playback. */

const STATES = {
  initial: { word: "given", light: "#4a5560", ink: "#ffffff", dash: [] },
  tracking: { word: "tracking", ink: "#3cdc5a", dash: [] },
  recovered: { word: "recovered", ink: "#50befa", dash: [] },
  uncertain: { word: "uncertain", ink: "#fadc32", dash: [7, 4] },
  occluded: { word: "occluded", ink: "#c878dc", dash: [2, 3] },
  lost: { word: "lost", ink: "#ff5a46", dash: [3, 5] },
  missing: { word: "unreadable frame", ink: "#b4b4b4", dash: [3, 5] },
};

/* Okabe and Ito's colours, which the colour-blind tell apart: one a target, used again from the eighth on. */
const SIGNS = ["#e69f00", "#56b4e9", "#009e73", "#cc79a7", "#d55e00", "#0072b2", "#b8a800"];
const sign = (id) => SIGNS[(id + SIGNS.length - 1) % SIGNS.length];

const store = {
  targets: new Map(), // id: {marks: Map(position: given), records: Map(position: record), revision}
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
    for (const { id, marks, name, class: kind } of news.targets) {
      Object.assign(this.target(id), { marks: new Map(marks), name, kind });
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

  /* The frame that a target is followed to without a gap; null where nothing is missing up to the last frame. */
  followedTo(id) {
    const { marks, records } = this.target(id);
    const { last, newest, live } = this.status;
    // A live source ends at its newest frame so far; a video has no known end.
    const end = last ?? (live ? newest : Infinity);
    const pieces = [...marks].sort(([a], [b]) => a - b);
    for (const [i, [from, given]] of pieces.entries()) {
      const until = Math.min(pieces[i + 1]?.[0] ?? Infinity, end + 1);
      for (let at = from; given && at < until; at += 1) if (!records.has(at)) return at - 1;
    }
    return null;
  },

  /* What a person calls a target. */
  nameOf(id) {
    return this.targets.get(id)?.name ?? String(id);
  },

  /* The same in a sentence. */
  called(id, word = "Target") {
    return this.targets.get(id)?.name ?? `${word} ${id}`;
  },

  /* The runs of frames in which a target has one state, in order: [{from, until, state}], both ends included. Given
     frames belong to the run around them. */
  spans(id) {
    const target = this.target(id);
    if (target.spans?.revision === target.revision) return target.spans.all;
    const all = [];
    for (const at of [...target.records.keys()].sort((a, b) => a - b)) {
      const state = target.records.get(at).state;
      const kind = state === "initial" || state === "recovered" ? "tracking" : state;
      const last = all.at(-1);
      if (last && last.until === at - 1 && last.state === kind) last.until = at;
      else all.push({ from: at, until: at, state: kind });
    }
    target.spans = { revision: target.revision, all };
    return all;
  },

  /* The spans that a person should look at, of one target or of all, in order. */
  doubtful(id = null) {
    const ids = id === null ? [...this.targets.keys()] : [id];
    const all = ids.flatMap((id) => this.spans(id).filter(({ state }) => state !== "tracking").map((span) => ({ id, ...span })));
    return all.sort((a, b) => a.from - b.from || a.id - b.id);
  },

  /* Whether a box or an end was given at a position. */
  mark(id, position) {
    return this.targets.get(id)?.marks.get(position);
  },
};

/* Asks the server to do something. Gives `error`, a sentence, where that is not done, and `said` where it is done but
   something is odd about it. */
async function order(what) {
  try {
    const body = JSON.stringify(what);
    const headers = { "Content-Type": "application/json" };
    // A command for this clip is not for the next one.
    const answer = await fetch(`/command?run=${store.status.run}`, { method: "POST", headers, body });
    return await answer.json();
  } catch {
    return { error: "the program does not answer" };
  }
}

/* The parts of the state that are already known. */
const known = { serial: 0, changes: 0, picture: 0 };

/* The next message: its JSON, its JPEG and the levels of its map. */
async function news(map, signal) {
  const query = new URLSearchParams({ after: known.serial, changes: known.changes, picture: known.picture });
  if (map !== null) query.set("map", map);
  const answer = await fetch(`/news?${query}`, { signal });
  if (!answer.ok) throw new Error((await answer.json()).error);
  const bytes = await answer.arrayBuffer();
  const length = new DataView(bytes).getUint32(0);
  const told = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, length)));
  // Null of a picture that is shown already; empty of a frame that could not be read.
  const picture = () => new Blob([new Uint8Array(bytes, 4 + length, told.jpeg)], { type: "image/jpeg" });
  const jpeg = told.jpeg === null ? null : picture();
  return { told, jpeg, levels: new Uint8Array(bytes, 4 + length + (told.jpeg ?? 0), told.levels) };
}
