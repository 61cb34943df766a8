
/* Which element does what, and the start. */

/* Seeks one after the other: while one is under way only the last wish is kept. */
const seekSoon = {
  wish: null,
  busy: false,
  async to(at) {
    this.wish = at;
    if (this.busy) return;
    this.busy = true;
    while (this.wish !== null) {
      const wish = this.wish;
      this.wish = null;
      await seekTo(wish);
    }
    this.busy = false;
  },
  listen() {
    const seek = byId("seek");
    seek.addEventListener("input", () => {
      panel.seeking = true;
      this.to(Number(seek.value));
    });
    seek.addEventListener("change", () => {
      panel.seeking = false;
      if (!reached) seek.blur();
    });
  },
};

function connectForms() {
  for (const name of ["speed", "reach"]) {
    byId(name).addEventListener("change", (event) => {
      if (name === "speed") setSpeed(event.target.value);
      if (!reached) event.target.blur();
    });
  }
  for (const field of ["name", "kind", "attributes"]) {
    byId(field).addEventListener("change", () => rename());
    byId(field).addEventListener("keydown", (event) => event.key === "Enter" && !event.isComposing && event.target.blur());
  }
  byId("frame-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const at = Number(byId("frame").value);
    byId("frame").blur();
    seekTo(at);
  });
  byId("numbers").addEventListener("toggle", () => {
    edited = false;
    if (store.status) followNumbers();
  });
  byId("box-form").addEventListener("input", () => { edited = true; });
  byId("box-form").addEventListener("submit", (event) => {
    event.preventDefault();
    if (!store.status) return;
    // Another Enter would give the same box once more.
    document.activeElement?.blur();
    // Numbers that are refused stay.
    edited = true;
    const bbox = [..."xywh"].map((side) => Number(byId(`box-${side}`).value));
    give({ bbox }, { target: stage.selected, pointerType: "none" }).then((taken) => { if (taken) edited = false; });
  });
}

function connect() {
  const clicks = {
    play: toggle, back: () => step(-1), on: () => step(1), doubtful: () => doubts.go(true),
    "doubtful-back": () => doubts.go(false), "given-on": () => doubts.given(true), "given-back": () => doubts.given(false),
    undo, redo, keyframe, occluded, outside, copy: copyOn, hide: () => flag("hidden"), lock: () => flag("locked"), solo,
    redraw: redrawn, remove: () => remove(), pick, "help-open": help,
  };
  for (const [id, act] of Object.entries(clicks)) byId(id).addEventListener("click", act);
  byId("trails").addEventListener("change", (event) => {
    stage.trails = event.target.checked;
    redraw();
  });
  byId("heat").addEventListener("change", showMap);
  byId("spans-box").addEventListener("toggle", () => store.status && redraw());
  connectForms();
  document.addEventListener("keydown", onKey);
  document.addEventListener("focusin", (event) => { reached = event.target.matches(":focus-visible"); });
  seekSoon.listen();
  exporting.listen();
  clips.listen();
  hands.onDown = () => (store.status.playing || store.status.catching_up) && ask({ do: "pause" });
  hands.onBox = give;
  hands.onClick = (id) => id !== stage.selected && select(id);
  curve.onSeek = (at) => seekSoon.to(at);
  curve.onSelect = panel.onSelect = (id) => select(id ?? null);
  hands.listen();
  curve.listen();
}

// The token has become a cookie: it need not stay in the address, where it would be seen and kept.
if (location.search) history.replaceState(null, "", location.pathname);
connect();
watch();
