
/* The frame, the boxes on it, and drawing a box. */

const TRAIL = 90; // frames
const CLICK = 4; // pixels of the screen that a pointer may move within a click
const REACH = 8; // pixels of the screen from which a pointer grasps an edge or a corner
const FINGER = 24; // the same for a finger
const MAX_ZOOM = 40;

const stage = {
  canvas: document.getElementById("stage"),
  image: null,
  drag: null, // {x, y, x2, y2} on the image, {target, position} that it is a box of
  draft: null, // the box that was drawn last and is not taken yet: [x, y, w, h]
  selected: null,
  trails: true,
  heat: null, // a canvas with the response
  zoom: 1,
  middle: [0.5, 0.5], // the point of the image in the middle of the canvas, as shares of its size
  fingers: new Map(), // the pointers that are down, for two that zoom
  onBox: () => {},
  onClick: () => {},

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

  /* A drag that began while frames went by is of the frame that they have stopped at. */
  stopped() {
    const { playing, catching_up: late, position } = store.status;
    if (this.drag && !playing && !late) this.drag.position ??= position;
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
    for (const [id, target] of store.targets) {
      if (this.trails) this.drawTrail(context, scale, id, target, position);
      const record = target.records.get(position);
      if (record?.bbox) this.drawBox(context, scale, id, record);
    }
    const drawn = this.drag ? boxOf(this.drag) : this.draft;
    if (drawn) this.drawDraft(context, scale, drawn);
    context.restore();
    // Those of a box that reaches beyond the frame stand in the margin.
    if (!drawn) this.drawHandles(context, scale);
    // Labels may stand in the margin: in a frame that is low they would hide what they name.
    const last = ([id]) => Number(id === this.selected);
    for (const [id, target] of [...store.targets].sort((a, b) => last(a) - last(b))) {
      const record = target.records.get(position);
      if (record?.bbox) this.drawLabel(context, id, record);
    }
  },

  drawBox(context, scale, id, record) {
    const unit = window.devicePixelRatio || 1;
    const look = STATES[record.state];
    const path = new Path2D();
    if (record.polygon) {
      record.polygon.forEach((value, i) => {
        if (i % 2) path[i === 1 ? "moveTo" : "lineTo"](record.polygon[i - 1] * scale, value * scale);
      });
      path.closePath();
    } else {
      path.rect(...record.bbox.map((value) => value * scale));
    }
    const thick = (id === this.selected ? 3 : 2) * unit;
    context.setLineDash([]);
    context.strokeStyle = "rgb(0 0 0 / .75)";
    context.lineWidth = thick + 2 * unit;
    context.stroke(path);
    context.setLineDash(look.dash.map((length) => length * unit));
    context.strokeStyle = look.ink;
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

  drawLabel(context, id, record) {
    const unit = window.devicePixelRatio || 1;
    const sure = record.confidence === null || record.state === "initial" ? "" : ` ${record.confidence.toFixed(2)}`;
    const words = `${store.nameOf(id)} ${STATES[record.state].word}${sure}`;
    context.font = `600 ${12 * unit}px system-ui, "DejaVu Sans", sans-serif`;
    const width = context.measureText(words).width + 20 * unit;
    const high = 18 * unit;
    const [px, py] = this.labelPlace(record.bbox, width, high);
    context.fillStyle = "rgb(10 15 20 / .8)";
    context.fillRect(px, py, width, high);
    context.fillStyle = sign(id);
    context.fillRect(px + 4 * unit, py + 5 * unit, 8 * unit, 8 * unit);
    context.fillStyle = "#fff";
    context.textBaseline = "middle";
    context.fillText(words, px + 16 * unit, py + high / 2 + unit / 2);
  },

  /* The box of the selected target, if it can be changed here. */
  editable() {
    const { status } = store;
    if (status.playing || status.catching_up || status.pick) return null;
    return store.record(this.selected, status.position)?.bbox ?? null;
  },

  /* Edges and corners as shares of the box: all eight of a box that is large on the screen, the corners of others. */
  handles(bbox) {
    const { scale } = this.place();
    const unit = window.devicePixelRatio || 1;
    const large = (side) => bbox[side] * scale / unit > 5 * REACH;
    const all = [[0, 0], [1, 0], [1, 1], [0, 1]];
    if (large(2)) all.push([0.5, 0], [0.5, 1]);
    if (large(3)) all.push([0, 0.5], [1, 0.5]);
    return all;
  },

  drawHandles(context, scale) {
    const bbox = this.editable();
    if (!bbox) return;
    const unit = window.devicePixelRatio || 1;
    context.lineWidth = 1.5 * unit;
    for (const [x, y] of this.handles(bbox)) {
      const [px, py] = [(bbox[0] + x * bbox[2]) * scale, (bbox[1] + y * bbox[3]) * scale];
      context.fillStyle = "#fff";
      context.strokeStyle = "rgb(0 0 0 / .8)";
      context.fillRect(px - 4 * unit, py - 4 * unit, 8 * unit, 8 * unit);
      context.strokeRect(px - 4 * unit, py - 4 * unit, 8 * unit, 8 * unit);
    }
  },

  /* What of the selected box is under a pointer: {bbox, x, y} with the shares that an edge or a corner moves, {bbox} inside
     of it, where all of it moves. */
  grasp(event) {
    const bbox = this.editable();
    if (!bbox) return null;
    const { scale } = this.place();
    const rect = this.canvas.getBoundingClientRect();
    const reach = (event.pointerType === "touch" ? FINGER : REACH) * (this.canvas.width / rect.width) / scale;
    const [px, py] = this.point(event, false);
    const far = ([x, y]) => Math.hypot(bbox[0] + x * bbox[2] - px, bbox[1] + y * bbox[3] - py);
    const [near] = this.handles(bbox).sort((a, b) => far(a) - far(b));
    if (far(near) <= reach) return { bbox, x: near[0], y: near[1] };
    const inside = px >= bbox[0] && py >= bbox[1] && px <= bbox[0] + bbox[2] && py <= bbox[1] + bbox[3];
    return inside ? { bbox } : null;
  },

  drawTrail(context, scale, id, target, position) {
    const unit = window.devicePixelRatio || 1;
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

  drawDraft(context, scale, bbox) {
    const unit = window.devicePixelRatio || 1;
    const rect = bbox.map((value) => value * scale);
    context.setLineDash([]);
    context.lineWidth = 4 * unit;
    context.strokeStyle = "rgb(0 0 0 / .7)";
    context.strokeRect(...rect);
    context.lineWidth = 2 * unit;
    context.strokeStyle = "#fff";
    context.strokeRect(...rect);
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

  /* Where a pointer is on the image and, of a box that reaches beyond it, within that box; or anywhere. */
  point(event, within = true, [bx, by, bw, bh] = [0, 0, 0, 0]) {
    const rect = this.canvas.getBoundingClientRect();
    const { scale, left, top } = this.place();
    const ratio = this.canvas.width / rect.width;
    const [w, h] = store.size;
    const x = ((event.clientX - rect.left) * ratio - left) / scale;
    const y = ((event.clientY - rect.top) * ratio - top) / scale;
    const between = (at, low, high) => Math.min(Math.max(at, Math.min(low, 0)), high);
    return within ? [between(x, bx, Math.max(w, bx + bw)), between(y, by, Math.max(h, by + bh))] : [x, y];
  },

  /* The smallest box around a point. */
  at(x, y) {
    const hit = ([id, target]) => {
      const bbox = target.records.get(store.status.position)?.bbox;
      const inside = bbox && x >= bbox[0] && y >= bbox[1] && x <= bbox[0] + bbox[2] && y <= bbox[1] + bbox[3];
      return inside ? [{ id, area: bbox[2] * bbox[3] }] : [];
    };
    return [...store.targets].flatMap(hit).sort((a, b) => a.area - b.area)[0]?.id ?? null;
  },

  /* Draws nothing of a drag. */
  giveUp() {
    this.drag = null;
    this.draw();
  },

  listen() {
    const places = () => [...this.fingers.values()];
    const between = ([[ax, ay], [bx, by]]) => Math.hypot(ax - bx, ay - by);
    const middle = ([[ax, ay], [bx, by]]) => [(ax + bx) / 2, (ay + by) / 2];
    this.canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      if (store.size) this.zoomBy(Math.exp(-event.deltaY / 300), [event.clientX, event.clientY]);
    }, { passive: false });
    this.canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    this.canvas.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "touch") this.fingers.set(event.pointerId, [event.clientX, event.clientY]);
      // Two fingers zoom: neither draws.
      if (!event.isPrimary || (this.drag && event.pointerId !== this.drag.id)) return this.giveUp();
      if (!store.size || this.drag) return;
      const pans = event.button === 1 || event.button === 2 || (event.button === 0 && event.shiftKey);
      if (!pans && event.button !== 0) return;
      event.preventDefault();
      this.canvas.setPointerCapture(event.pointerId);
      if (pans) {
        this.pan = { id: event.pointerId, at: [event.clientX, event.clientY] };
        return;
      }
      const handle = this.grasp(event);
      const [x, y] = this.point(event, true, handle?.bbox);
      this.draft = null;
      // The prevented default also moves the focus, and so the keys; this does it instead.
      document.activeElement?.blur();
      const { playing, catching_up: late, position } = store.status;
      this.drag = {
        id: event.pointerId, x, y, x2: x, y2: y, from: [event.clientX, event.clientY], moved: false,
        // The target and the frame of the box; during playback, the frame at which it stops.
        target: this.selected, position: playing || late ? null : position,
        handle,
      };
      this.onDown();
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (this.pan?.id === event.pointerId) {
        const { at } = this.pan;
        this.pan.at = [event.clientX, event.clientY];
        return this.zoomBy(1, at, [event.clientX - at[0], event.clientY - at[1]]);
      }
      if (this.fingers.has(event.pointerId)) {
        const before = places();
        this.fingers.set(event.pointerId, [event.clientX, event.clientY]);
        if (before.length === 2) {
          const [from, to] = [middle(before), middle(places())];
          return this.zoomBy(between(places()) / Math.max(between(before), 1), from, [to[0] - from[0], to[1] - from[1]]);
        }
      }
      const drag = this.drag;
      if (!drag) {
        const grasped = this.grasp(event);
        this.canvas.style.cursor = CURSORS[grasped ? cursorOf(grasped) : ""];
      }
      if (drag?.id !== event.pointerId) return;
      [drag.x2, drag.y2] = this.point(event, true, drag.handle?.bbox);
      drag.moved ||= Math.hypot(event.clientX - drag.from[0], event.clientY - drag.from[1]) > CLICK;
      this.draw();
    });
    const end = (event) => {
      this.fingers.delete(event.pointerId);
      if (this.pan?.id === event.pointerId) this.pan = null;
      const drag = this.drag;
      if (drag?.id !== event.pointerId) return;
      this.drag = null;
      const bbox = boxOf(drag);
      if (event.type === "pointerup" && drag.moved && bbox[2] > 0 && bbox[3] > 0) this.onBox(bbox, drag);
      else if (event.type === "pointerup") this.onClick(this.at(drag.x, drag.y));
      this.draw();
    };
    this.canvas.addEventListener("pointerup", end);
    this.canvas.addEventListener("pointercancel", end);
    // A drag that ends in motion must not fling: while a browser flings, it takes the next tap for a stop, not a click.
    this.canvas.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
    new ResizeObserver(() => store.status && this.draw()).observe(this.canvas);
  },
};

/* The pointer over a handle says in which directions it moves. */
const CURSORS = { "": "", "+": "move", "\\": "nwse-resize", "/": "nesw-resize", "|": "ns-resize", "-": "ew-resize" };
const cursorOf = ({ x, y }) => (x === undefined ? "+" : x === 0.5 ? "|" : y === 0.5 ? "-" : x === y ? "\\" : "/");

/* The box between the corners of a drag, with the edges that a handle moves, or moved, to a tenth of a pixel. */
function boxOf({ x, y, x2, y2, handle }) {
  if (handle) {
    const [left, top, width, height] = handle.bbox;
    const [dx, dy] = [x2 - x, y2 - y];
    if (handle.x === undefined) return boxOf({ x: left + dx, y: top + dy, x2: left + dx + width, y2: top + dy + height });
    const at = (from, length, share, by) => [from + (share === 0 ? by : 0), from + length + (share === 1 ? by : 0)];
    const [[ax, bx], [ay, by]] = [at(left, width, handle.x, dx), at(top, height, handle.y, dy)];
    return boxOf({ x: ax, y: ay, x2: bx, y2: by });
  }
  const tenth = (value) => Math.round(value * 10) / 10;
  const [left, top] = [tenth(Math.min(x, x2)), tenth(Math.min(y, y2))];
  return [left, top, tenth(Math.max(x, x2) - left), tenth(Math.max(y, y2) - top)];
}

/* Matt Zucker's fit of matplotlib's viridis (public domain). */
const VIRIDIS = [
  [0.2777273, 0.0054073, 0.3340998], [0.105093, 1.4046135, 1.3845902], [-0.3308618, 0.2148476, 0.0950952],
  [-4.6342305, -5.799101, -19.332441], [6.22827, 14.179933, 56.690553], [4.776385, -13.745145, -65.353033],
  [-5.4354559, 4.6458526, 26.3124352],
];
function viridis(share) {
  return [0, 1, 2].map((c) => 255 * VIRIDIS.reduceRight((sum, powers) => sum * share + powers[c], 0));
}
