
/* The list of targets, the buttons and the fields, and what is said. */

const byId = (id) => document.getElementById(id);

const panel = {
  seen: new Map(), // state of each target that was said last
  saidCount: 0,
  inView: null, // the target whose row was brought into view last
  onSelect: () => {},

  draw() {
    const { status } = store;
    const { position, playing } = status;
    document.body.classList.toggle("pick", status.pick);
    const clip = status.clip && `clip ${status.clip[0]} of ${status.clip[1]}`;
    const saved = status.session && (status.unsaved ? `not saved: ${status.unsaved}` : `saved in ${status.session}`);
    byId("source").classList.toggle("wrong", Boolean(status.unsaved));
    byId("source").textContent = [status.source, clip, status.preset, saved].filter(Boolean).join(" · ");
    byId("clips").hidden = !status.clip;
    byId("clip-back").disabled = !status.clip || status.clip[0] <= 1;
    byId("clip-on").disabled = !status.clip || status.clip[0] >= status.clip[1];
    const kept = status.oldest > status.first ? `, kept from ${status.oldest}` : "";
    byId("fact-frame").textContent = status.live ? kept : this.of(status);
    byId("fact-fps").textContent = playing ? `${status.fps.toFixed(0)} fps` : "–";
    byId("fact-track").textContent = status.track_ms ? `${status.track_ms.toFixed(1)} ms` : "–";
    byId("play-word").textContent = playing ? "Pause" : "Play";
    byId("play-shape").setAttribute("d", playing ? "M3 2h4v12H3zM9 2h4v12H9z" : "M4 2l10 6-10 6z");
    byId("back").disabled = position <= status.oldest;
    byId("on").disabled = status.last !== null && position >= status.last;
    const seek = byId("seek");
    Object.assign(seek, { min: store.earliest, max: store.last });
    const at = status.going_to ?? position;
    if (!panel.seeking) seek.value = at;
    seek.setAttribute("aria-valuetext", `frame ${at}`);
    if (document.activeElement !== byId("frame")) byId("frame").value = at;
    if (document.activeElement !== byId("speed")) byId("speed").value = status.speed ?? "";
    this.drawTargets(position);
    this.drawActions(position);
    this.drawClasses();
    doubts.draw();
    this.drawHint(status);
    this.announce(status, position);
  },

  /* The number of frames, if known. */
  of({ last, expected_last: expected }) {
    if (last !== null) return `of ${last}`;
    return expected === null ? "" : `of about ${store.last}`;
  },

  drawTargets(position) {
    const list = byId("targets");
    byId("no-targets").hidden = store.targets.size > 0;
    const ids = [...store.targets.keys()];
    if (list.dataset.ids !== ids.join()) {
      list.dataset.ids = ids.join();
      list.replaceChildren(...ids.map((id) => this.row(id)));
    }
    const shown = stage.shown();
    for (const row of list.children) {
      const id = Number(row.dataset.id);
      const [button] = row.children;
      const record = store.record(id, position);
      const word = record ? STATES[record.state].word : this.absence(id, position);
      const sure = record && record.confidence !== null && record.state !== "initial";
      const { name, kind } = store.targets.get(id);
      const flags = [shown.includes(id) ? "" : "hidden", stage.locked.has(id) ? "locked" : "", stage.solo === id ? "solo" : ""];
      button.querySelector(".name").textContent = [name, kind, ...flags].filter(Boolean).join(", ");
      button.querySelector(".state").textContent = record && store.isFormer(id, position) ? `${word}, former` : word;
      button.querySelector(".sure").textContent = sure ? record.confidence.toFixed(2) : "";
      button.setAttribute("aria-pressed", String(id === stage.selected));
      if (id === stage.selected && id !== this.inView) this.reveal(list, row);
    }
    this.inView = stage.selected;
  },

  /* Scrolls a long list, and nothing else, to a row: the page stays where a person has it. */
  reveal(list, row) {
    const [outer, inner] = [list.getBoundingClientRect(), row.getBoundingClientRect()];
    if (inner.top < outer.top) list.scrollTop -= Math.ceil(outer.top - inner.top);
    else if (inner.bottom > outer.bottom) list.scrollTop += Math.ceil(inner.bottom - outer.bottom);
  },

  row(id) {
    const row = document.createElement("li");
    row.dataset.id = id;
    const button = document.createElement("button");
    button.type = "button";
    const part = (name, text) => {
      const span = document.createElement("span");
      Object.assign(span, { className: name, textContent: text });
      return span;
    };
    const square = part("sign", "");
    square.style.background = sign(id);
    button.append(square, part("id", String(id)), part("name", ""), part("state", ""), part("sure", ""));
    button.title = `Select target ${id}`;
    button.addEventListener("click", () => this.onSelect(id === stage.selected ? null : id));
    row.append(button);
    return row;
  },

  /* Why a target has no box in a frame. */
  absence(id, position) {
    const piece = store.pieces(id).findLast(([at]) => at <= position);
    return piece ? piece[1].given ? "not followed yet" : "outside" : "begins later";
  },

  drawActions(position) {
    const id = stage.selected;
    const target = id === null ? null : store.targets.get(id);
    const locked = stage.locked.has(id);
    const record = target?.records.get(position);
    const mark = target?.marks.get(position);
    const first = target ? Math.min(...target.marks.keys()) : 0;
    const outside = Boolean(target) && this.absence(id, position) === "outside";
    const toggle = (name, pressed, enabled) => {
      byId(name).setAttribute("aria-pressed", String(Boolean(pressed)));
      byId(name).disabled = !enabled;
    };
    toggle("keyframe", mark?.given, record?.bbox && position !== first && !locked);
    toggle("occluded", this.isCovered(id, position), record?.bbox && !locked);
    toggle("outside", outside, target && !locked && (outside ? mark?.given === false : position > first));
    toggle("hide", stage.hidden.has(id), target);
    toggle("lock", locked, target);
    toggle("solo", stage.solo === id && id !== null, target);
    byId("copy").disabled = !record?.bbox || locked || byId("on").disabled;
    byId("remove").disabled = !target || locked;
    byId("redraw").disabled = !target || locked;
    byId("redraw").setAttribute("aria-pressed", String(hands.redraws));
    byId("undo").disabled = !store.status.undo;
    byId("redo").disabled = !store.status.redo;
    byId("export-open").disabled = !store.targets.size;
    byId("doubtful").disabled = byId("doubtful-back").disabled = !store.targets.size;
    byId("given-back").disabled = byId("given-on").disabled = !store.targets.size;
    const words = Object.entries(target?.attributes ?? {}).map(([name, value]) => `${name}=${value}`).join(", ");
    for (const [field, word] of [["name", target?.name], ["kind", target?.kind], ["attributes", words]]) {
      byId(field).disabled = !target;
      // What a person types stays until it is taken.
      if (document.activeElement !== byId(field)) byId(field).value = byId(field).dataset.shown = word ?? "";
    }
  },

  /* Whether something covers a target in a frame: what a person says goes before what the tracker finds. */
  isCovered(id, position) {
    const state = store.record(id, position)?.state;
    return state === "occluded" || state === "initial" && store.mark(id, position)?.occluded === true;
  },

  /* The classes, each with its key. */
  drawClasses() {
    const all = store.classes();
    const now = stage.selected === null ? classes.next : store.targets.get(stage.selected)?.kind;
    const key = JSON.stringify([all, now]);
    if (byId("classes").dataset.key === key) return;
    byId("classes").dataset.key = key;
    byId("classes-box").hidden = !all.length;
    byId("classes").replaceChildren(...all.map((name, i) => {
      const [row, button] = [document.createElement("li"), document.createElement("button")];
      const digit = document.createElement("kbd");
      digit.textContent = i < 9 ? i + 1 : "";
      button.type = "button";
      button.append(...i < 9 ? [digit, " "] : [], name);
      button.setAttribute("aria-pressed", String(name === now));
      button.addEventListener("click", () => classes.take(i));
      row.append(button);
      return row;
    }));
  },

  drawHint(status) {
    const drawn = stage.draft && status.pick ? "Press Start tracking, or drag again" : "Drag a box around the target";
    let hint = "";
    if (status.pick) hint = drawn;
    else if (hands.redraws && stage.selected !== null) hint = `Drag a new box for ${store.called(stage.selected, "target")}`;
    else if (status.catching_up) hint = `Tracking frame ${status.catching_up}`;
    else if (status.filling) hint = `Tracking frames ${status.filling.join(" to ")} from both sides`;
    else if (status.going_to) hint = `Going to frame ${status.going_to}`;
    else if (!store.targets.size) hint = "Drag a box around each target, then play";
    byId("hint").textContent = hint;
    byId("hint").hidden = !hint;
    // Beside the frame, where it covers no box.
    if (status.pick) byId("pick").before(byId("hint"));
    // Most frames are there at once: nothing flickers.
    byId("hint").classList.toggle("late", !status.pick && !status.catching_up && Boolean(status.going_to));
    byId("pick").hidden = !status.pick;
    byId("pick").disabled = !stage.draft;
  },

  /* Says what a person who does not watch should know. */
  announce(status, position) {
    const isWrong = byId("said").classList.contains("wrong");
    for (const [id, target] of store.targets) {
      const state = target.records.get(position)?.state;
      const before = this.seen.get(id);
      if (state && state !== before) {
        this.seen.set(id, state);
        const loud = ["lost", "occluded", "recovered", "uncertain"];
        const isLoud = loud.includes(state) || (loud.includes(before) && state === "tracking");
        if (status.playing && !isWrong && isLoud) {
          this.say(`${store.called(id)} is ${STATES[state].word} at frame ${position}`);
        }
      }
    }
    const [count, text] = status.said;
    if (count !== this.saidCount) {
      this.saidCount = count;
      this.say(text);
    }
  },

  say(text, wrong = false) {
    byId("said").textContent = text;
    byId("said").classList.toggle("wrong", wrong);
  },
};

/* Classes by their keys: of the selected target, or else of the next new one. */
const classes = {
  next: null,

  take(place) {
    const name = store.classes()[place];
    if (name === undefined) return panel.say(`there is no class ${place + 1}: type one in Class`, true);
    if (stage.selected === null) {
      this.next = this.next === name ? null : name;
      panel.say(this.next ? `New targets are of the class ${name}` : "New targets have no class");
      return redraw();
    }
    return rename({ class: store.targets.get(stage.selected).kind === name ? "" : name });
  },
};
