
/* Confidence over all frames, the given boxes, a strip of states for each target, and the current frame. */

const CURVE_EVERY = 250; // milliseconds between two drawings of all curves while it plays
const GUTTER = 30; // pixels of the screen for the numbers beside the curves
const STRIP = 10; // pixels of the screen from one strip to the next

const curve = {
  canvas: document.getElementById("curve"),
  base: document.createElement("canvas"),
  strips: document.getElementById("strips"),
  rows: document.createElement("canvas"),
  drawn: { at: 0, key: "" },
  inView: null, // the target whose strip was brought into view last
  onSeek: () => {},
  onSelect: () => {},

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
    byId("strips-box").hidden = !store.targets.size;
    const high = Math.max(store.targets.size, 1) * STRIP + 2;
    this.strips.style.height = `${high}px`;
    const [width, height] = ["clientWidth", "clientHeight"].map((side) => Math.round(this.canvas[side] * ratio));
    if (!width || !height) return;
    for (const [canvas, tall] of [[this.canvas, height], [this.strips, Math.round(high * ratio)]]) {
      if (canvas.width !== width || canvas.height !== tall) Object.assign(canvas, { width, height: tall });
    }
    const revisions = [...store.targets].map(([id, target]) => `${id}:${target.revision}`).join();
    const key = `${width}x${height} ${this.span()} ${stage.selected} ${revisions} ${dark.matches} ${stage.shown()}`;
    const now = performance.now();
    if (key !== this.drawn.key && (!store.status.playing || now - this.drawn.at > CURVE_EVERY)) {
      this.drawn = { at: now, key };
      this.drawBase(width, height, ratio);
      this.drawStrips(width, Math.round(high * ratio), ratio);
    }
    const x = Math.round(this.x(store.status.position) - ratio);
    for (const [canvas, base] of [[this.canvas, this.base], [this.strips, this.rows]]) {
      const context = canvas.getContext("2d");
      context.clearRect(0, 0, canvas.width, canvas.height);
      if (base.width) context.drawImage(base, 0, 0);
      context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--ink");
      context.fillRect(x, 0, 2 * ratio, canvas.height);
    }
    if (this.inView !== stage.selected) this.reveal();
  },

  /* Scrolls the strips to that of the selected target. */
  reveal() {
    this.inView = stage.selected;
    const row = [...store.targets.keys()].indexOf(stage.selected);
    const box = byId("strips-box");
    const top = row * STRIP;
    if (row >= 0 && (top < box.scrollTop || top + STRIP > box.scrollTop + box.clientHeight)) box.scrollTop = top - STRIP;
  },

  drawBase(width, height, ratio) {
    Object.assign(this.base, { width, height });
    const context = this.base.getContext("2d");
    const style = getComputedStyle(document.documentElement);
    const [top, bottom] = [17 * ratio, height - 6 * ratio];
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
    const taken = [];
    const chosen = ([id]) => id === stage.selected;
    const shown = stage.shown();
    const drawn = [...store.targets].filter(([id]) => shown.includes(id));
    for (const [id, target] of drawn.sort((a, b) => chosen(a) - chosen(b))) {
      context.strokeStyle = sign(id);
      context.lineWidth = (id === stage.selected ? 2.5 : 1.5) * ratio;
      context.stroke(this.path(target, y));
      context.fillStyle = sign(id);
      for (const [position, mark] of target.marks) {
        this.drawMark(context, this.free(taken, this.x(position), ratio), mark, ratio);
      }
    }
  },

  /* The states of each target: doubtful ones stand out by colour and, on the ground of the sure ones, by height. */
  drawStrips(width, height, ratio) {
    Object.assign(this.rows, { width, height });
    const context = this.rows.getContext("2d");
    const style = getComputedStyle(document.documentElement);
    context.fillStyle = style.getPropertyValue("--card");
    context.fillRect(0, 0, width, height);
    [...store.targets.keys()].forEach((id, row) => {
      const y = (row * STRIP + 2) * ratio;
      if (id === stage.selected) {
        context.fillStyle = style.getPropertyValue("--curve");
        context.fillRect(0, y - ratio, width, STRIP * ratio);
      }
      context.fillStyle = sign(id);
      context.fillRect(GUTTER * ratio - 12 * ratio, y, 9 * ratio, (STRIP - 2) * ratio);
      for (const { from, until, state, doubt } of store.spans(id)) {
        const [x, end] = [this.x(from), this.x(Math.min(until + 1, this.span()[1]))];
        context.fillStyle = STATES[state].ink;
        const [down, high] = doubt ? [0, STRIP - 2] : [3, STRIP - 7];
        context.fillRect(x, y + down * ratio, Math.max(end - x, ratio), high * ratio);
      }
    });
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

  /* A triangle for a given box, empty if it holds in its frame only; a bar for an end. */
  drawMark(context, x, { given, reach }, ratio) {
    if (!given) return context.fillRect(x - 1.5 * ratio, ratio, 3 * ratio, 11 * ratio);
    context.beginPath();
    context.moveTo(x - 5 * ratio, ratio);
    context.lineTo(x + 5 * ratio, ratio);
    context.lineTo(x, 11 * ratio);
    context.closePath();
    context.lineWidth = 1.5 * ratio;
    context[reach === "this-frame" ? "stroke" : "fill"]();
  },

  listen() {
    const seek = (event) => {
      const rect = this.canvas.getBoundingClientRect();
      const share = (event.clientX - rect.left - GUTTER) / (rect.width - GUTTER - 8);
      const [first, last] = this.span();
      this.onSeek(Math.round(first + Math.min(Math.max(share, 0), 1) * (last - first)));
    };
    for (const canvas of [this.canvas, this.strips]) {
      canvas.addEventListener("pointerdown", (event) => {
        if (event.button !== 0 || !store.status) return;
        const row = Math.floor(event.offsetY / STRIP);
        if (canvas === this.strips && event.pointerType === "mouse") this.onSelect([...store.targets.keys()][row]);
        canvas.setPointerCapture(event.pointerId);
        seek(event);
      });
      canvas.addEventListener("pointermove", (event) => event.buttons & 1 && store.status && seek(event));
    }
    new ResizeObserver(() => store.status && this.draw()).observe(this.canvas);
  },
};

const dark = matchMedia("(prefers-color-scheme: dark)");
dark.addEventListener("change", () => store.status && curve.draw());
