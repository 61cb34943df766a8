
/* Mouse and fingers on the frame: draw, change, select, zoom, move. */

const CLICK = 4; // pixels of the screen that a pointer may move within a click

const hands = {
  fingers: new Map(), // the pointers that are down, for two that zoom
  pan: null,
  redraws: false, // whether the next drag draws the selected target anew
  onBox: () => {},
  onClick: () => {},
  onDown: () => {},

  /* Where a pointer is on the image: within it, unless a drag began beside it. */
  point(event, within = true) {
    const rect = stage.canvas.getBoundingClientRect();
    const { scale, left, top } = stage.place();
    const ratio = stage.canvas.width / rect.width;
    const at = [((event.clientX - rect.left) * ratio - left) / scale, ((event.clientY - rect.top) * ratio - top) / scale];
    return within ? at.map((value, side) => Math.min(Math.max(value, 0), store.size[side])) : at;
  },

  /* What of the selected box is under a pointer: {turned, at} with the shares of a handle, "turn", or "all" inside. */
  grasp(event) {
    const turned = stage.editable();
    if (!turned) return null;
    const rect = stage.canvas.getBoundingClientRect();
    const reach = (event.pointerType === "touch" ? FINGER : REACH) * (stage.canvas.width / rect.width) / stage.place().scale;
    const point = this.point(event, false);
    const far = ([x, y]) => Math.hypot(x - point[0], y - point[1]);
    const places = stage.handles(turned).map((at) => ({ at, far: far(placeOf(turned, at)) }));
    const [near] = [{ at: "turn", far: far(stage.turnPlace(turned)) }, ...places].sort((a, b) => a.far - b.far);
    if (near.far <= reach) return { turned, at: near.at };
    return isWithin(turned, point) ? { turned, at: "all" } : null;
  },

  /* Draws nothing of a drag. */
  giveUp() {
    stage.drag = null;
    stage.draw();
  },

  /* A drag that began while frames went by is of the frame that they have stopped at. */
  stopped() {
    const { playing, catching_up: late, position } = store.status;
    if (stage.drag && !playing && !late) stage.drag.position ??= position;
  },

  down(event) {
    if (event.pointerType === "touch") this.fingers.set(event.pointerId, [event.clientX, event.clientY]);
    // Two fingers zoom: neither draws.
    if (!event.isPrimary || (stage.drag && event.pointerId !== stage.drag.id)) return this.giveUp();
    if (!store.size || stage.drag) return;
    const pans = event.button === 1 || event.button === 2 || (event.button === 0 && event.shiftKey);
    if (!pans && event.button !== 0) return;
    event.preventDefault();
    stage.canvas.setPointerCapture(event.pointerId);
    if (pans) {
      this.pan = { id: event.pointerId, at: [event.clientX, event.clientY] };
      return;
    }
    const anew = stage.selected !== null && (this.redraws || event.ctrlKey || event.metaKey);
    const handle = anew ? null : this.grasp(event);
    const free = this.point(event, false);
    const beside = handle && free.some((value, side) => value < 0 || value > store.size[side]);
    const from = beside ? free : this.point(event);
    stage.draft = null;
    // The prevented default also moves the focus, and so the keys; this does it instead.
    document.activeElement?.blur();
    const { playing, catching_up: late, position } = store.status;
    stage.drag = {
      id: event.pointerId, pointerType: event.pointerType, from, to: from, start: [event.clientX, event.clientY], moved: false, handle, beside,
      // The target of the box, null for a new one, and its frame; during playback, the frame at which it stops.
      target: anew || handle ? stage.selected : null, position: playing || late ? null : position,
    };
    this.onDown();
  },

  move(event) {
    if (this.pan?.id === event.pointerId) {
      const { at } = this.pan;
      this.pan.at = [event.clientX, event.clientY];
      return stage.zoomBy(1, at, [event.clientX - at[0], event.clientY - at[1]]);
    }
    if (this.fingers.has(event.pointerId)) {
      const before = [...this.fingers.values()];
      this.fingers.set(event.pointerId, [event.clientX, event.clientY]);
      if (before.length === 2) {
        const apart = ([[ax, ay], [bx, by]]) => Math.hypot(ax - bx, ay - by);
        const middle = ([[ax, ay], [bx, by]]) => [(ax + bx) / 2, (ay + by) / 2];
        const now = [...this.fingers.values()];
        const [from, to] = [middle(before), middle(now)];
        return stage.zoomBy(apart(now) / Math.max(apart(before), 1), from, [to[0] - from[0], to[1] - from[1]]);
      }
    }
    const { drag } = stage;
    if (!drag) stage.canvas.style.cursor = this.redraws ? "" : cursorOf(store.size && this.grasp(event));
    if (drag?.id !== event.pointerId) return;
    drag.to = this.point(event, !drag.beside);
    drag.moved ||= Math.hypot(event.clientX - drag.start[0], event.clientY - drag.start[1]) > CLICK;
    stage.draw();
  },

  up(event) {
    this.fingers.delete(event.pointerId);
    if (this.pan?.id === event.pointerId) this.pan = null;
    const { drag } = stage;
    if (drag?.id !== event.pointerId) return;
    stage.drag = null;
    const turned = drawnBy(drag);
    if (event.type === "pointerup" && drag.moved && turned.w > 0 && turned.h > 0) this.onBox(givenOf(turned), drag);
    else if (event.type === "pointerup") this.onClick(stage.at(drag.from));
    stage.draw();
  },

  listen() {
    const { canvas } = stage;
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      if (store.size) stage.zoomBy(Math.exp(-event.deltaY / 300), [event.clientX, event.clientY]);
    }, { passive: false });
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.up(event));
    canvas.addEventListener("pointercancel", (event) => this.up(event));
    // A drag that ends in motion must not fling: while a browser flings, it takes the next tap for a stop, not a click.
    canvas.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
    new ResizeObserver(() => store.status && stage.draw()).observe(canvas);
  },
};

/* The pointer over a handle says in which directions it moves: of a turned box, the nearest of four. */
function cursorOf(grasped) {
  if (!grasped) return "";
  const { turned, at } = grasped;
  if (at === "all") return "move";
  if (at === "turn") return "grab";
  const way = at[0] === 0.5 ? 2 : at[1] === 0.5 ? 0 : at[0] === at[1] ? 1 : 3; // eighths of a turn
  return ["ew-resize", "nwse-resize", "ns-resize", "nesw-resize"][(way + Math.round(turned.angle * 4 / Math.PI) + 8) % 4];
}
