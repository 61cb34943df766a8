
/* Confidence and states over all frames, the given boxes, and the current frame. */

const CURVE_EVERY = 250; // milliseconds between two drawings of all curves while it plays
const GUTTER = 30; // pixels of the screen for the numbers beside the curves
const STRIP = 6; // pixels of the screen of a target's line of states
const MAX_STRIPS = 4; // targets that have such a line: the selected one, and the first

const curve = {
  canvas: document.getElementById("curve"),
  base: document.createElement("canvas"),
  drawn: { at: 0, key: "" },
  onSeek: () => {},

  /* The first and last position, the same as those of the slider below. */
  span() {
    const first = store.earliest;
    return [first, Math.max(store.last, first + 1)];
  },

  x(position) {
    const [first, last] = this.span();
    const unit = window.devicePixelRatio || 1;
    const [left, right] = [GUTTER * unit, this.canvas.width - 8 * unit];
    return left + ((position - first) / (last - first)) * (right - left);
  },

  draw() {
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = ["clientWidth", "clientHeight"].map((side) => Math.round(this.canvas[side] * ratio));
    if (!width || !height) return;
    if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
    const revisions = [...store.targets].map(([id, target]) => `${id}:${target.revision}`).join();
    const key = `${width}x${height} ${this.span()} ${stage.selected} ${revisions} ${dark.matches}`;
    const now = performance.now();
    if (key !== this.drawn.key && (!store.status.playing || now - this.drawn.at > CURVE_EVERY)) {
      this.drawn = { at: now, key };
      this.drawBase(width, height, ratio);
    }
    const context = this.canvas.getContext("2d");
    context.clearRect(0, 0, width, height);
    if (this.base.width) context.drawImage(this.base, 0, 0);
    const x = this.x(store.status.position);
    context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--ink");
    context.fillRect(Math.round(x - ratio), 0, 2 * ratio, height);
  },

  drawBase(width, height, ratio) {
    Object.assign(this.base, { width, height });
    const context = this.base.getContext("2d");
    const style = getComputedStyle(document.documentElement);
    const strips = this.strips();
    const [top, bottom] = [17 * ratio, height - (6 + strips.length * (STRIP + 2)) * ratio];
    const y = (confidence) => bottom - confidence * (bottom - top);
    context.fillStyle = style.getPropertyValue("--card");
    context.fillRect(0, 0, width, height);
    context.fillStyle = style.getPropertyValue("--curve");
    for (const level of [0, 0.5, 1]) context.fillRect(GUTTER * ratio, y(level), width, ratio);
    context.fillStyle = style.getPropertyValue("--quiet");
    context.font = `${10 * ratio}px system-ui, "DejaVu Sans", sans-serif`;
    context.textBaseline = "middle";
    for (const [level, words] of [[0, "0"], [0.5, "0.5"], [1, "1"]]) context.fillText(words, 6 * ratio, y(level));
    context.textAlign = "right";
    context.fillText("confidence", width - 8 * ratio, y(0) - 8 * ratio);
    strips.forEach((id, row) => this.drawStrip(context, id, bottom + (5 + row * (STRIP + 2)) * ratio, ratio));
    const taken = [];
    const chosen = ([id]) => id === stage.selected;
    for (const [id, target] of [...store.targets].sort((a, b) => chosen(a) - chosen(b))) {
      context.strokeStyle = sign(id);
      context.lineWidth = (id === stage.selected ? 2.5 : 1.5) * ratio;
      context.stroke(this.path(target, y));
      context.fillStyle = sign(id);
      for (const [position, given] of target.marks) {
        this.drawMark(context, this.free(taken, this.x(position), ratio), given, ratio);
      }
    }
  },

  /* The targets that have a line of states. */
  strips() {
    const ids = [...store.targets.keys()];
    const chosen = ids.filter((id) => id === stage.selected);
    return [...chosen, ...ids.filter((id) => id !== stage.selected)].slice(0, MAX_STRIPS).sort((a, b) => a - b);
  },

  /* The states of a target: doubtful ones stand out by colour and, on the ground of the sure ones, by height. */
  drawStrip(context, id, y, ratio) {
    context.fillStyle = sign(id);
    context.fillRect(GUTTER * ratio - 8 * ratio, y, 5 * ratio, STRIP * ratio);
    for (const { from, until, state } of store.spans(id)) {
      const [x, end] = [this.x(from), this.x(Math.min(until + 1, this.span()[1]))];
      const sure = state === "tracking";
      context.fillStyle = sure ? "#4f9d69" : STATES[state].ink;
      context.fillRect(x, y + (sure ? 2 * ratio : 0), Math.max(end - x, ratio), (sure ? STRIP - 4 : STRIP) * ratio);
    }
  },

  /* The line of a target; in every column of pixels the lowest confidence counts. */
  path(target, y) {
    const path = new Path2D();
    let [open, column, lowest, before] = [false, null, 1, null];
    const put = () => {
      path[open ? "lineTo" : "moveTo"](column, y(lowest));
      open = true;
    };
    const positions = [...target.records.keys()].sort((a, b) => a - b);
    for (const position of positions) {
      if (position < this.span()[0]) continue;
      const { confidence, state } = target.records.get(position);
      if (confidence === null || state === "initial") continue;
      const x = Math.round(this.x(position));
      if (column !== null && x !== column) {
        put();
        if (position !== before + 1 && position - before > 2) open = false;
        lowest = 1;
      }
      [column, lowest, before] = [x, Math.min(lowest, confidence), position];
    }
    if (column !== null) put();
    return path;
  },

  /* Where a mark covers another one, it moves a little, but not to the place of another frame. */
  free(taken, x, ratio) {
    const covers = (at) => taken.some((other) => Math.abs(other - at) < 5 * ratio);
    const at = covers(x) && !covers(x + 5 * ratio) ? x + 5 * ratio : x;
    taken.push(at);
    return at;
  },

  /* A triangle for a given box, a bar for an end. */
  drawMark(context, x, given, ratio) {
    if (!given) return context.fillRect(x - 1.5 * ratio, ratio, 3 * ratio, 11 * ratio);
    context.beginPath();
    context.moveTo(x - 5 * ratio, ratio);
    context.lineTo(x + 5 * ratio, ratio);
    context.lineTo(x, 11 * ratio);
    context.fill();
  },

  listen() {
    const seek = (event) => {
      const rect = this.canvas.getBoundingClientRect();
      const share = (event.clientX - rect.left - GUTTER) / (rect.width - GUTTER - 8);
      const [first, last] = this.span();
      this.onSeek(Math.round(first + Math.min(Math.max(share, 0), 1) * (last - first)));
    };
    this.canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !store.status) return;
      this.canvas.setPointerCapture(event.pointerId);
      seek(event);
    });
    this.canvas.addEventListener("pointermove", (event) => event.buttons & 1 && store.status && seek(event));
    new ResizeObserver(() => store.status && this.draw()).observe(this.canvas);
  },
};

const dark = matchMedia("(prefers-color-scheme: dark)");
dark.addEventListener("change", () => store.status && curve.draw());
