
/* The list of targets, the buttons, and what is said. */

const byId = (id) => document.getElementById(id);
const MAX_SPANS = 100; // in the list

const panel = {
  seen: new Map(), // state of each target that was said last
  saidCount: 0,
  inView: null, // the target whose row was brought into view last
  onSelect: () => {},
  onSeek: () => {},
  spansKey: "",

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
    byId("fact-frame").textContent = position + (status.live ? kept : this.of(status));
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
    if (document.activeElement !== byId("speed")) byId("speed").value = status.speed ?? "";
    this.drawTargets(position);
    this.drawActions(position);
    this.drawSpans();
    this.drawHint(status);
    this.announce(status, position);
  },

  /* The number of frames, if known. */
  of({ last, expected_last: expected }) {
    if (last !== null) return ` of ${last}`;
    return expected === null ? "" : ` of about ${store.last}`;
  },

  drawTargets(position) {
    const list = byId("targets");
    byId("no-targets").hidden = store.targets.size > 0;
    const ids = [...store.targets.keys()];
    if (list.dataset.ids !== ids.join()) {
      list.dataset.ids = ids.join();
      list.replaceChildren(...ids.map((id) => this.row(id)));
    }
    for (const row of list.children) {
      const id = Number(row.dataset.id);
      const [button] = row.children;
      const record = store.record(id, position);
      const word = record ? STATES[record.state].word : this.absence(id, position);
      const sure = record && record.confidence !== null && record.state !== "initial";
      const { name, kind } = store.targets.get(id);
      button.querySelector(".name").textContent = [name, kind].filter(Boolean).join(", ");
      button.querySelector(".state").textContent = word;
      button.querySelector(".sure").textContent = sure ? record.confidence.toFixed(2) : "";
      button.setAttribute("aria-pressed", String(id === stage.selected));
      if (id === stage.selected && id !== this.inView) this.reveal(list, row);
    }
    this.inView = stage.selected;
  },

  /* Scrolls a long list, and nothing else, to a row: the page stays where a person has it. */
  reveal(list, row) {
    const [outer, inner] = [list.getBoundingClientRect(), row.getBoundingClientRect()];
    if (inner.top < outer.top) list.scrollTop -= outer.top - inner.top;
    else if (inner.bottom > outer.bottom) list.scrollTop += inner.bottom - outer.bottom;
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
    const name = part("id", String(id));
    button.append(square, name, part("name", ""), part("state", ""), part("sure", ""));
    button.title = `Select target ${id}${id < 10 ? ` (${id})` : ""}`;
    button.addEventListener("click", () => this.onSelect(id === stage.selected ? null : id));
    row.append(button);
    return row;
  },

  /* Why a target has no box in a frame. */
  absence(id, position) {
    const marks = [...store.targets.get(id).marks].filter(([at]) => at <= position).sort(([a], [b]) => b - a);
    if (!marks.length) return "begins later";
    return marks[0][1] ? "not followed yet" : "ended";
  },

  drawActions(position) {
    const id = stage.selected;
    const target = id === null ? null : store.targets.get(id);
    const first = target ? Math.min(...target.marks.keys()) : 0;
    byId("end").disabled = !target || position <= first || this.absence(id, position) === "ended";
    byId("take-back").disabled = !target || position === first || target.marks.get(position) === undefined;
    byId("remove").disabled = !target;
    byId("draw-anew").disabled = !target;
    byId("draw-anew-words").textContent = target ? `a new box for target ${id}` : "a new box for the selected target";
    byId("draw-new").checked = !target;
    byId("draw-anew").checked = Boolean(target);
    byId("undo").disabled = !store.status.undo;
    byId("redo").disabled = !store.status.redo;
    const alone = byId("format").value === "otb";
    byId("save").disabled = alone ? store.targets.size !== 1 && !target : !store.targets.size;
    byId("save").title = alone && byId("save").disabled ? "OTB is of one target: select it" : "";
    byId("doubtful").disabled = !store.targets.size;
    for (const [field, word] of [["name", target?.name], ["kind", target?.kind]]) {
      byId(field).disabled = !target;
      // What a person types stays until it is taken.
      if (document.activeElement !== byId(field)) byId(field).value = byId(field).dataset.shown = word ?? "";
    }
  },

  /* The doubtful spans of the selected target, or of all. */
  drawSpans() {
    if (!byId("spans-box").open) return;
    const all = store.doubtful(stage.selected);
    const key = JSON.stringify([stage.selected, all.slice(0, MAX_SPANS)]);
    if (key === this.spansKey) return;
    this.spansKey = key;
    byId("no-spans").hidden = all.length > 0;
    byId("spans").replaceChildren(...all.slice(0, MAX_SPANS).map(({ id, from, until, state }) => {
      const [row, button] = [document.createElement("li"), document.createElement("button")];
      const frames = from === until ? from : `${from} to ${until}`;
      button.type = "button";
      button.textContent = `${store.nameOf(id)} ${STATES[state].word}: ${frames}`;
      button.addEventListener("click", () => this.onSeek(from));
      row.append(button);
      return row;
    }));
  },

  drawHint(status) {
    const drawn = stage.draft && status.pick ? "Press Start tracking, or drag again" : "Drag a box around the target";
    let hint = "";
    if (status.pick) hint = drawn;
    else if (status.catching_up) hint = `Tracking frame ${status.catching_up}`;
    else if (status.going_to) hint = `Going to frame ${status.going_to}`;
    else if (!store.targets.size) hint = "Drag a box around each target, then play";
    byId("hint").textContent = hint;
    byId("hint").hidden = !hint;
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
        if (!isWrong && (loud.includes(state) || (loud.includes(before) && state === "tracking"))) {
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
