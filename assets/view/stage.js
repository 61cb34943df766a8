
/* The frame, and the boxes on it. */

const TRAIL = 90; // frames
const MAX_ZOOM = 40;
const REACH = 8; // pixels of the screen from which a pointer grasps a handle
const FINGER = 24; // the same for a finger
const TURN = 26; // pixels of the screen from a box to the handle that turns it

const stage = {
  canvas: document.getElementById("stage"),
  image: null,
  drag: null, // {from, to: points of the image, handle, target, position}: see hands.js
  draft: null, // the box that was drawn last and is not taken yet, as the program is given it
  selected: null,
  hidden: new Set(), // targets that are not drawn
  locked: new Set(), // targets that cannot be changed
  solo: null, // the only target that is drawn and gone through
  trails: true,
  heat: null, // a canvas with the response
  zoom: 1,
  middle: [0.5, 0.5], // the point of the image in the middle of the canvas, as shares of its size

  /* The targets that are drawn, the selected one last. */
  shown() {
    const all = [...store.targets.keys()].filter((id) => this.solo === null ? !this.hidden.has(id) : id === this.solo);
    return all.sort((a, b) => Number(a === this.selected) - Number(b === this.selected) || a - b);
  },

  /* Scale and corner of the image on the canvas, in pixels of the canvas. */
  place() {
    const { width, height } = this.canvas;
    const [w, h] = store.size ?? [4, 3];
    const scale = Math.min(width / w, height / h) * this.zoom;
    return { scale, left: width / 2 - w * scale * this.middle[0], top: height / 2 - h * scale * this.middle[1] };
  },

  /* Zooms by a factor about a point of the screen, and moves the image by some pixels of the screen. */
  zoomBy(factor, [clientX, clientY], [dx, dy] = [0, 0]) {
    if (!store.size) return;
    const rect = this.canvas.getBoundingClientRect();
    const ratio = this.canvas.width / rect.width;
    const [px, py] = [(clientX - rect.left) * ratio, (clientY - rect.top) * ratio];
    const before = this.place();
    this.zoom = Math.min(Math.max(this.zoom * factor, 1), MAX_ZOOM);
    const grown = this.place().scale / before.scale;
    const [left, top] = [px - (px - before.left) * grown + dx * ratio, py - (py - before.top) * grown + dy * ratio];
    const size = store.size.map((side) => side * this.place().scale);
    const middle = [(this.canvas.width / 2 - left) / size[0], (this.canvas.height / 2 - top) / size[1]];
    // The image does not leave the canvas; one that fits is in the middle.
    this.middle = middle.map((at, side) => {
      const half = [this.canvas.width, this.canvas.height][side] / 2 / size[side];
      return half >= 0.5 ? 0.5 : Math.min(Math.max(at, half), 1 - half);
    });
    this.draw();
  },

  /* Shows the whole frame. */
  whole() {
    [this.zoom, this.middle] = [1, [0.5, 0.5]];
    this.draw();
  },

  /* Fits the canvas to its place on the screen. */
  fit() {
    const ratio = window.devicePixelRatio || 1;
    const { clientWidth, clientHeight } = this.canvas;
    const [width, height] = [Math.round(clientWidth * ratio), Math.round(clientHeight * ratio)];
    if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
  },

  draw() {
    this.fit();
    const context = this.canvas.getContext("2d");
    const { scale, left, top } = this.place();
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    if (!store.size) return;
    const [w, h] = store.size;
    if (this.image) context.drawImage(this.image, left, top, w * scale, h * scale);
    context.translate(left, top);
    context.save();
    context.beginPath();
    context.rect(0, 0, w * scale, h * scale);
    context.clip();
    this.drawHeat(context, scale);
    const position = store.status.position;
    const shown = this.shown();
    for (const id of shown) {
      if (this.trails) this.drawTrail(context, scale, id, position);
      const record = store.record(id, position);
      if (record?.bbox) this.drawBox(context, scale, id, record);
    }
    const drawn = this.drag ? givenOf(drawnBy(this.drag)) : this.draft;
    if (drawn) this.drawDraft(context, scale, drawn);
    context.restore();
    // Those of a box that reaches beyond the frame stand in the margin.
    if (!drawn) this.drawHandles(context, scale);
    this.drawLabels(context, shown, position);
  },

  /* The outline of a box in pixels of the canvas. */
  outline(box, scale) {
    const path = new Path2D();
    cornersOf(turnedOf(box)).forEach(([x, y], i) => path[i ? "lineTo" : "moveTo"](x * scale, y * scale));
    path.closePath();
    return path;
  },

  /* The colour is that of the target, the line that of its state; a given box is thick, one of a former path thin. */
  drawBox(context, scale, id, record) {
    const unit = window.devicePixelRatio || 1;
    const path = this.outline(record, scale);
    const former = store.isFormer(id, store.status.position);
    const thick = (former ? 1 : record.state === "initial" ? 3 : 2) * unit + (id === this.selected ? unit : 0);
    context.setLineDash([]);
    context.strokeStyle = "rgb(0 0 0 / .75)";
    context.lineWidth = thick + 2 * unit;
    context.stroke(path);
    context.setLineDash(STATES[record.state].dash.map((length) => length * unit));
    context.strokeStyle = sign(id);
    context.lineWidth = thick;
    context.stroke(path);
    context.setLineDash([]);
  },

  /* The place of a box's label on the image: above the box, in the margin above the frame if necessary, or in the box
     if there is no room. The label leaves the frame sideways only if the frame is narrower. */
  labelPlace(bbox, width, high) {
    const unit = window.devicePixelRatio || 1;
    const { scale, left, top } = this.place();
    const [x, y] = [bbox[0] * scale - unit, bbox[1] * scale];
    const shown = store.size[0] * scale;
    const [from, to] = width <= shown ? [0, shown] : [-left, this.canvas.width - left];
    const lowest = this.canvas.height - top - high;
    return [Math.max(from, Math.min(x, to - width)), Math.max(-top, Math.min(y - high - 2 * unit, lowest))];
  },

  /* The same for a label that must not cover those in `taken`: the nearest free place above or below the first one. */
  freePlace(bbox, width, high, taken) {
    const { scale, top } = this.place();
    const [x, y] = this.labelPlace(bbox, width, high);
    const below = (bbox[1] + bbox[3]) * scale + 2;
    const levels = [y, below];
    for (let i = 1; i < 24; i += 1) levels.push(y - i * (high + 1), below + i * (high + 1));
    const covers = ([ax, ay, aw], at) => ax < x + width && x < ax + aw && ay < at + high && at < ay + high;
    const fits = (at) => at >= -top && at + high <= this.canvas.height - top;
    return [x, levels.find((at) => fits(at) && !taken.some((other) => covers(other, at))) ?? y];
  },

  drawLabels(context, shown, position) {
    const unit = window.devicePixelRatio || 1;
    const high = 18 * unit;
    const taken = [];
    context.font = `600 ${12 * unit}px system-ui, "DejaVu Sans", sans-serif`;
    context.textBaseline = "middle";
    for (const id of [...shown].reverse()) {
      const record = store.record(id, position);
      if (!record?.bbox) continue;
      const words = this.words(id, record);
      const width = context.measureText(words).width + 20 * unit;
      const [px, py] = this.freePlace(record.bbox, width, high, taken);
      taken.push([px, py, width]);
      context.fillStyle = "rgb(10 15 20 / .8)";
      context.fillRect(px, py, width, high);
      context.fillStyle = sign(id);
      context.fillRect(px + 4 * unit, py + 5 * unit, 8 * unit, 8 * unit);
      context.fillStyle = "#fff";
      context.fillText(words, px + 16 * unit, py + high / 2 + unit / 2);
    }
    this.labels = taken;
  },

  /* Name and class of a target, and its state where it is not sure. */
  words(id, { state, confidence }) {
    const { name, kind } = store.targets.get(id);
    const who = name ? [name, kind].filter(Boolean).join(", ") : kind ? `${kind} ${id}` : String(id);
    if (!isDoubt(state)) return who;
    return `${who}: ${STATES[state].word}${confidence === null ? "" : ` ${confidence.toFixed(2)}`}`;
  },

  /* The rectangle of the selected target, if it can be changed here. */
  editable() {
    const { status } = store;
    if (status.playing || status.catching_up || status.pick || this.locked.has(this.selected)) return null;
    const record = store.record(this.selected, status.position);
    return record?.bbox && this.shown().includes(this.selected) ? turnedOf(record) : null;
  },

  /* Edges and corners as shares of the box: all eight of a box that is large on the screen, the corners of others. */
  handles(turned) {
    const unit = window.devicePixelRatio || 1;
    const large = (side) => side * this.place().scale / unit > 5 * REACH;
    const all = [...CORNERS];
    if (large(turned.w)) all.push([0.5, 0], [0.5, 1]);
    if (large(turned.h)) all.push([0, 0.5], [1, 0.5]);
    return all;
  },

  /* The place of the handle that turns a box, on the image. */
  turnPlace(turned) {
    const away = TURN * (window.devicePixelRatio || 1) / this.place().scale;
    return placeOf({ ...turned, h: turned.h + 2 * away }, [0.5, 0]);
  },

  drawHandles(context, scale) {
    const turned = this.editable();
    if (!turned) return;
    const unit = window.devicePixelRatio || 1;
    const [px, py] = this.turnPlace(turned).map((at) => at * scale);
    const top = placeOf(turned, [0.5, 0]).map((at) => at * scale);
    context.lineWidth = 1.5 * unit;
    context.fillStyle = "#fff";
    context.strokeStyle = "rgb(0 0 0 / .8)";
    context.beginPath();
    context.moveTo(...top);
    context.lineTo(px, py);
    context.stroke();
    context.beginPath();
    context.arc(px, py, 5 * unit, 0, 2 * Math.PI);
    context.fill();
    context.stroke();
    for (const at of this.handles(turned)) {
      const [x, y] = placeOf(turned, at).map((value) => value * scale);
      context.fillRect(x - 4 * unit, y - 4 * unit, 8 * unit, 8 * unit);
      context.strokeRect(x - 4 * unit, y - 4 * unit, 8 * unit, 8 * unit);
    }
  },

  drawTrail(context, scale, id, position) {
    const unit = window.devicePixelRatio || 1;
    const target = store.targets.get(id);
    context.strokeStyle = sign(id);
    context.lineWidth = 2 * unit;
    context.beginPath();
    let open = false;
    for (let at = Math.max(store.status.first, position - TRAIL); at <= position; at += 1) {
      const bbox = target.records.get(at)?.bbox;
      if (bbox) {
        const [x, y] = [(bbox[0] + bbox[2] / 2) * scale, (bbox[1] + bbox[3] / 2) * scale];
        context[open && target.marks.get(at) === undefined ? "lineTo" : "moveTo"](x, y);
      }
      open = Boolean(bbox);
    }
    context.stroke();
  },

  drawDraft(context, scale, box) {
    const unit = window.devicePixelRatio || 1;
    const path = this.outline(box, scale);
    context.setLineDash([]);
    for (const [width, ink] of [[4, "rgb(0 0 0 / .7)"], [2, "#fff"]]) {
      Object.assign(context, { lineWidth: width * unit, strokeStyle: ink });
      context.stroke(path);
    }
  },

  /* The levels of a response as colours: made once a message. */
  colour(map, levels) {
    if (!map) {
      this.heat = null;
      return;
    }
    const [rows, columns] = map.size;
    const canvas = document.createElement("canvas");
    Object.assign(canvas, { width: columns, height: rows });
    const pixels = new ImageData(columns, rows);
    levels.forEach((level, i) => {
      pixels.data.set(viridis(level / 255), 4 * i);
      pixels.data[4 * i + 3] = 60 + level * 0.6;
    });
    canvas.getContext("2d").putImageData(pixels, 0, 0);
    this.heat = { canvas, map };
  },

  drawHeat(context, scale) {
    if (!this.heat) return;
    const { canvas, map } = this.heat;
    const [rows, columns] = map.size;
    const [wide, high] = map.step.map((step) => step * scale);
    context.save();
    context.imageSmoothingEnabled = false;
    context.translate(map.origin[0] * scale, map.origin[1] * scale);
    context.rotate(map.angle);
    // An element stands for the centre of the target at its own centre.
    context.drawImage(canvas, -wide / 2, -high / 2, columns * wide, rows * high);
    context.restore();
  },

  /* The smallest box around a point. */
  at(point) {
    const hit = (id) => {
      const record = store.record(id, store.status.position);
      const inside = record?.bbox && isWithin(turnedOf(record), point);
      return inside ? [{ id, area: record.bbox[2] * record.bbox[3] }] : [];
    };
    return this.shown().flatMap(hit).sort((a, b) => a.area - b.area)[0]?.id ?? null;
  },
};
