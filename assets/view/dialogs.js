
/* Saving labels in a format, the clips of a folder, and the list of keys. */

/* The endings of the files by their formats, and whether interpolated frames are left out of them. */
const FORMATS = {
  json: [".json"], mot: ["-mot.txt"], otb: ["-otb.txt"], coco: ["-coco.json"], cvat: ["-cvat.xml", true],
  "label-studio": ["-label-studio.json", true], yolo: ["-yolo.zip"],
};

/* Names the targets that are not followed to the last frame; empty if all are. */
function unfinished(ids) {
  const words = ids.map((id) => [id, store.followedTo(id)]).filter(([, at]) => at !== null);
  return words.map(([id, at]) => `${store.called(id, "target")} is followed to frame ${at} only`).join(", ");
}

const exporting = {
  /* The target of a format of one target. */
  target: () => stage.selected ?? (store.targets.size === 1 ? [...store.targets.keys()][0] : null),

  open() {
    if (!store.targets.size) return nothing();
    this.draw();
    byId("export").showModal();
  },

  /* What the format asks for. */
  draw() {
    const form = byId("format").value;
    const [, thins] = FORMATS[form];
    byId("tolerance").disabled = byId("turned").disabled = !thins;
    const alone = form === "otb";
    byId("save").disabled = alone && this.target() === null;
    const of = alone ? [this.target()].filter((id) => id !== null) : [...store.targets.keys()];
    const one = this.target() === null ? "OTB is of one target: select it first" : `Of ${store.called(this.target(), "target")}.`;
    byId("export-note").textContent = [alone ? one : "", unfinished(of)].filter(Boolean).join(" ");
  },

  async save() {
    const form = byId("format").value;
    const [ending, thins] = FORMATS[form];
    const query = new URLSearchParams({ form });
    if (thins) query.set("tolerance", byId("tolerance").value || "1");
    if (thins && byId("turned").checked) query.set("turned", "1");
    const pictures = byId("pictures").checked;
    if (pictures) query.set("pictures", "1");
    if (form === "otb") query.set("target", this.target());
    const of = form === "otb" ? [this.target()] : [...store.targets.keys()];
    // What was typed a moment ago is saved, too.
    await asked;
    panel.say("Making the file");
    try {
      const answer = await fetch(`/export?${query}`);
      if (!answer.ok) return panel.say((await answer.json()).error, true);
      const link = document.createElement("a");
      link.href = URL.createObjectURL(await answer.blob());
      const zip = pictures && form !== "yolo" ? `${ending.replace(/\.\w+$/, "")}.zip` : ending;
      // Letters of every script, with the marks on them.
      const name = store.status.source.replace(/[^\p{L}\p{M}\p{N}_.-]+/gu, "_");
      link.download = `${name}${form === "otb" ? `-${this.target()}` : ""}${zip}`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
      const partly = unfinished(of);
      panel.say(`Saved as ${link.download}${partly && `; ${partly}: play on first`}`, Boolean(partly));
    } catch {
      panel.say("the program does not answer", true);
    }
  },

  listen() {
    byId("export-open").addEventListener("click", () => this.open());
    byId("format").addEventListener("change", () => this.draw());
    byId("export-form").addEventListener("submit", () => this.save());
    byId("export-close").addEventListener("click", () => byId("export").close());
  },
};

/* The clips of a folder: what is done, and a way to each. */
const clips = {
  async open() {
    const answer = await fetch("/clips");
    const all = answer.ok ? await answer.json() : [];
    const [here] = store.status.clip;
    const ids = [...store.targets.keys()];
    const now = {
      targets: ids.length, boxes: ids.reduce((sum, id) => sum + store.targets.get(id).records.size, 0),
      length: store.status.last ?? store.status.expected_last, completed: ids.length > 0 && !unfinished(ids),
    };
    byId("clip-rows").replaceChildren(...all.map((clip, i) => this.row({ ...clip, ...i + 1 === here && now }, i + 1 - here)));
    byId("clip-list").showModal();
  },

  row({ name, targets, boxes, length, completed }, by) {
    const row = document.createElement("tr");
    const of = targets && length ? `${boxes} of ${targets * length}` : boxes;
    const done = completed ? "done" : targets ? "begun" : "–";
    for (const words of [null, targets, of, done]) {
      const cell = row.insertCell();
      if (words !== null) cell.textContent = words;
    }
    const button = document.createElement("button");
    Object.assign(button, { type: "button", textContent: name, disabled: by === 0 });
    button.addEventListener("click", () => this.go(by));
    row.cells[0].append(button);
    row.className = completed ? "done" : "";
    return row;
  },

  /* Another clip. Without a session its boxes last as long as the program. */
  go(by) {
    const { unsaved } = store.status;
    if (unsaved && store.targets.size && !confirm(`Leave this clip? ${unsaved}`)) return;
    ask({ do: "clip", by });
  },

  listen() {
    byId("clip-back").addEventListener("click", () => this.go(-1));
    byId("clip-on").addEventListener("click", () => this.go(1));
    byId("clips-open").addEventListener("click", () => this.open());
  },
};

/* The list of keys. */
function help() {
  byId("keys").replaceChildren(...keys().flatMap(listed));
  byId("help").showModal();
  byId("help").scrollTop = 0;
}

function listed([shown, words]) {
  const [term, text] = [document.createElement("dt"), document.createElement("dd")];
  term.append(...shown.flatMap((key, i) => {
    const kbd = document.createElement("kbd");
    kbd.textContent = key;
    return i ? [" ", kbd] : [kbd];
  }));
  text.textContent = words;
  return [term, text];
}
