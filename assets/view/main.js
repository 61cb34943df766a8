
/* What buttons, keys and drags do, and the loop over messages. */

let asked = Promise.resolve(); // the last order

async function ask(what) {
  asked = order(what);
  const { error, said } = await asked;
  panel.say(error ?? said ?? "", Boolean(error));
  return error ? null : { said };
}

function select(id) {
  if (id !== null && !store.targets.has(id)) return panel.say(`there is no target ${id}`, true);
  if (id !== stage.selected) edited = false;
  stage.selected = id;
  showMap();
  redraw();
}

function redraw() {
  if (!store.status) return;
  if (stage.selected !== null && !store.targets.has(stage.selected)) stage.selected = null;
  if (store.size) byId("stage-box").style.setProperty("--shape", `${store.size[0]} / ${store.size[1]}`);
  stage.stopped();
  stage.draw();
  curve.draw();
  followNumbers();
  panel.draw();
  // The keyboard goes on from a button that can do no more.
  const stays = [acted, document.body].includes(document.activeElement);
  if (acted?.disabled && stays) byId("undo").focus();
  if (acted?.disabled) acted = null;
}

let acted = null; // the button with the keyboard's focus by which a target was changed

/* The target whose response is shown: the selected one, or the first. */
function mapTarget() {
  if (!byId("heat").checked) return null;
  return stage.selected ?? [...store.targets.keys()][0] ?? null;
}

/* Asks for the news again, with or without the map; what plays or is caught up with goes on. */
function showMap() {
  if (!store.status || !byId("heat").checked && !stage.heat) return;
  asking.anew = true;
  asking.end?.abort();
}

const position = () => store.status.position;
const toggle = () => ask({ do: store.status.playing ? "pause" : "play" });
const step = (by) => ask({ do: "step", by });

/* The reason why a drag no longer fits the selected target or the shown frame. */
function strayed({ target, position: at }) {
  if (target !== null && !store.targets.has(target)) return `target ${target} was removed while the box was drawn`;
  if (target !== stage.selected) return "another target was selected while the box was drawn";
  if (at !== null && at !== position()) return `the box was begun in frame ${at}, which is not shown any more`;
  return null;
}

async function give(bbox, drag = null) {
  if (store.status.pick) {
    stage.draft = bbox;
    redraw();
    return true;
  }
  const wrong = drag && strayed(drag);
  if (wrong) return panel.say(`${wrong}: draw it again`, true);
  const target = stage.selected;
  const at = position();
  stage.draft = bbox;
  const what = target === null ? { do: "add", position: at, bbox } : { do: "give", target, position: at, bbox };
  const taken = await ask(what);
  const words = target === null ? "A new target is there" : `${store.called(target)} has a new box`;
  if (taken) panel.say(taken.said ? `${words}; ${taken.said}` : words, Boolean(taken.said));
  stage.draft = null;
  redraw();
  return Boolean(taken);
}

async function pick() {
  if (done) return;
  if (!stage.draft) return panel.say("drag a box around the target first", true);
  if (!(await ask({ do: "pick", bbox: stage.draft }))) return;
  done = true;
  byId("hint").textContent = "The box is taken; this page can be closed";
  panel.say("The box is taken; this page can be closed.");
  byId("pick").disabled = true;
}

/* Names the targets that are not followed to the last frame; empty if all are. */
function unfinished(ids) {
  const words = ids.map((id) => [id, store.followedTo(id)]).filter(([, at]) => at !== null);
  return words.map(([id, at]) => `${store.called(id, "target")} is followed to frame ${at} only`).join(", ");
}

/* Saves what was found of some targets. */
async function save(path, name, of = [...store.targets.keys()]) {
  // What was typed a moment ago is saved, too.
  await asked;
  try {
    const answer = await fetch(path);
    if (!answer.ok) return panel.say((await answer.json()).error, true);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await answer.blob());
    // Letters of every script, with the marks on them.
    link.download = `${store.status.source.replace(/[^\p{L}\p{M}\p{N}_.-]+/gu, "_")}${name}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    const partly = unfinished(of);
    panel.say(`Saved as ${link.download}${partly && `; ${partly}: play on first`}`, Boolean(partly));
  } catch {
    panel.say("the program does not answer", true);
  }
}

const chosen = () => stage.selected ?? [...store.targets.keys()][0];
const SPEEDS = ["0.25", "0.5", "1", "2", "4", "8", ""];
function faster(by) {
  const now = SPEEDS.indexOf(byId("speed").value);
  const next = SPEEDS[Math.min(Math.max(now + by, 0), SPEEDS.length - 1)];
  byId("speed").value = next;
  setSpeed(next);
}
const setSpeed = (text) => ask({ do: "speed", times: text === "" ? null : Number(text) });
/* Says what is missing where something is done to the selected target. */
const nothing = () =>
  panel.say(store.targets.size ? "select a target first" : "there is no target yet: draw a box", true);
async function ofSelected(what, words) {
  if (stage.selected === null) return nothing();
  const called = store.called(stage.selected);
  const button = reached ? document.activeElement : null;
  acted = ["end", "take-back", "remove"].includes(button?.id) ? button : null;
  const taken = await ask({ ...what, target: stage.selected });
  if (taken && !taken.said) panel.say(`${called} ${words}`);
}
const end = () => ofSelected({ do: "end", position: position() }, `ends at frame ${position()}`);
const takeBack = () => ofSelected({ do: "take-back", position: position() }, "has what was given here no more");
const remove = () => ofSelected({ do: "remove" }, "is removed");
const flip = (id) => byId(id).click();

/* Saves the labels in the format that is chosen, or in another one. */
const FORMATS = {
  json: ["/result.json", ".json"], mot: ["/result-mot.txt", "-mot.txt"], coco: ["/result-coco.json", "-coco.json"],
  cvat: ["/result-cvat.xml", "-cvat.xml"], "label-studio": ["/result-label-studio.json", "-label-studio.json"],
  yolo: ["/result-yolo.zip", "-yolo.zip"],
};
function saveAs(format = byId("format").value) {
  if (!store.targets.size) return nothing();
  if (format !== "otb") return save(...FORMATS[format]);
  if (stage.selected === null && store.targets.size > 1) return nothing();
  return save(`/result-otb.txt?target=${chosen()}`, `-${chosen()}-otb.txt`, [chosen()]);
}

/* Goes to the first frame of the next span in which a target is not sure. */
async function nextDoubtful() {
  // Spans that follow each other are one to look at.
  const all = store.doubtful(stage.selected);
  const goesOn = ({ id, from }) => all.some((other) => other.id === id && other.until === from - 1);
  const next = all.find((span) => span.from > position() && !goesOn(span));
  if (!next) {
    const partly = unfinished(stage.selected === null ? [...store.targets.keys()] : [stage.selected]);
    return panel.say(`no doubtful frame after this one${partly && `; ${partly}: play on`}`, Boolean(partly));
  }
  if (!(await ask({ do: "seek", position: next.from }))) return;
  panel.say(`${store.called(next.id)} is ${STATES[next.state].word} from frame ${next.from} to ${next.until}`);
}

/* Another clip. What would be lost is asked for first. */
function otherClip(by) {
  const { session, unsaved } = store.status;
  const why = unsaved ?? (session ? null : "without --session its boxes are not kept");
  if (why && store.targets.size && !confirm(`Leave this clip? ${why}`)) return;
  ask({ do: "clip", by });
}

const undo = () => ask({ do: "undo" });
const redo = () => ask({ do: "redo" });
/* What was typed in a field, or else the word that is known by now: another page may have changed it. */
const typed = (field, word) => byId(field).value === byId(field).dataset.shown ? word ?? "" : byId(field).value;
const rename = () => {
  const target = store.targets.get(stage.selected);
  return target === undefined ? nothing()
    : ask({ do: "name", target: stage.selected, name: typed("name", target.name), class: typed("kind", target.kind) });
};
const help = () => {
  byId("keys").replaceChildren(...keys().flatMap(listed));
  byId("help").showModal();
  byId("help").scrollTop = 0;
};

/* Keys, what the list of shortcuts says of them, and what they do. */
const KEYS = [
  [["Space"], "Play or pause", toggle],
  [["←", "→"], "One frame back or on", (key) => step(key === "ArrowLeft" ? -1 : 1), ["ArrowLeft", "ArrowRight"]],
  [["Shift ←", "Shift →"], "Ten frames back or on", null],
  [["Home"], "To the first frame", () => ask({ do: "seek", position: store.status.oldest })],
  [["−", "+"], "Slower or faster", (key) => faster(key === "-" ? -1 : 1), ["-", "+", "="]],
  [["1", "… 9"], "Select a target", (key) => select(Number(key)), [..."123456789"]],
  [["N"], "The next drag draws a new target", () => select(null), ["n"]],
  [["B"], "The box in numbers: a new target's, or the selected one's", numbers, ["b"]],
  [["E"], "End the selected target at this frame", end, ["e"]],
  [["U"], "Take back the box or end given here", takeBack, ["u"]],
  [["Delete"], "Remove the selected target", remove],
  [["R"], "Show or hide the response", () => flip("heat"), ["r"]],
  [["T"], "Show or hide trails", () => flip("trails"), ["t"]],
  [["D"], "To the next doubtful frame", nextDoubtful, ["d"]],
  [["Ctrl Z"], "Undo the last change of a target", null],
  [["Ctrl Shift Z", "Ctrl Y"], "Make an undone change again", null],
  [["0"], "Show the whole frame (the wheel zooms, Shift and a drag moves)", () => stage.whole(), ["0"]],
  [["S"], "Save in the chosen format", () => saveAs(), ["s"]],
  [["J", "M", "O"], "Save JSON, MOT, OTB", (key) => saveAs({ j: "json", m: "mot", o: "otb" }[key]), ["j", "m", "o"]],
  [["Escape"], "Give up a drag, or the selection", escape],
  [["?"], "This list", help],
];

/* The same where only a first box is asked for. */
const PICK_KEYS = [
  [["Enter"], "Take the box, and start tracking", pick],
  [["B"], "The box in numbers", numbers, ["b"]],
  [["Escape"], "Give up the box", escape],
  [["?"], "This list", help],
];
const keys = () => store.status?.pick ? PICK_KEYS : KEYS;

/* A line of the list. */
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

function escape() {
  if (stage.drag || stage.draft) [stage.drag, stage.draft] = [null, null];
  else stage.selected = null;
  redraw();
}

function numbers() {
  byId("numbers").open = true;
  fillNumbers();
  byId("box-x").focus();
}

let edited = false; // whether a person has typed numbers and not confirmed them

/* Shows the numbers of the selected target in the current frame until a person changes them. */
function followNumbers() {
  if (!byId("numbers").open) return;
  const { pick } = store.status;
  const whose = stage.selected === null ? "Add a target in this box" : `Give target ${stage.selected} this box`;
  byId("box-give").textContent = pick ? "Take this box" : whose;
  if (!edited) fillNumbers();
}

/* The current box, or one in the middle of the frame. */
function fillNumbers() {
  edited = false;
  const [w, h] = store.size ?? [0, 0];
  const known = stage.draft ?? store.record(stage.selected, position())?.bbox;
  const bbox = known ?? [w * 3 / 8, h * 3 / 8, w / 4, h / 4];
  bbox.forEach((value, i) => { byId(`box-${"xywh"[i]}`).value = Math.round(value * 100) / 100; });
}

/* Whether what has the focus got it by a key: then Space and arrows are its own. */
let reached = false;

/* Whether what has the focus does something of its own at a key. */
function isItsOwn(key, on) {
  // The button of a list that was closed a moment ago still has the focus until the page is drawn again.
  if (on.closest("dialog:not([open])")) return false;
  if (on.closest("input[type=number], input[type=text]")) return true;
  const moves = key.startsWith("Arrow") || ["Home", "End", "PageUp", "PageDown"].includes(key);
  if (on.closest("select")) return moves || key === "Enter" || (key === " " && reached);
  if (on.closest("input[type=range]")) return moves && reached;
  if (on.closest("input[type=radio]") && moves) return reached;
  return on.closest("button, summary, input") !== null && (key === "Enter" || (key === " " && reached));
}

/* The letter of a key, also on a keyboard of another script. */
function letterOf({ key, code }) {
  return key.length === 1 && key > "\x7f" && code.startsWith("Key") ? code[3].toLowerCase() : key.toLowerCase();
}

function onKey(event) {
  // What composes a word belongs to it.
  if (!store.status || byId("help").open || event.isComposing) return;
  const writes = event.target.closest("input[type=number], input[type=text]");
  const letter = (event.ctrlKey || event.metaKey) && !writes ? letterOf(event) : "";
  if (letter === "z" || letter === "y" && !event.shiftKey) {
    event.preventDefault();
    return letter === "y" || event.shiftKey ? redo() : undo();
  }
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.key === "Escape" && event.target.closest("input[type=number], input[type=text], input[type=range], select")) {
    // What was typed is given up.
    if (event.target.dataset.shown !== undefined) event.target.value = event.target.dataset.shown;
    event.target.blur();
    return;
  }
  if (isItsOwn(event.key, event.target)) return;
  // A list goes to the entry that begins with what is typed.
  if (event.key.length === 1 && event.target.closest("select")) event.preventDefault();
  // With caps lock, too, a key does what the list shows.
  const name = event.key === " " ? "Space" : event.key.length === 1 ? letterOf(event) : event.key;
  if (!store.status.pick && event.shiftKey && name.startsWith("Arrow") && /Left|Right/.test(name)) {
    event.preventDefault();
    step(name === "ArrowLeft" ? -10 : 10);
    return;
  }
  const found = keys().find(([shown, , act, keys]) => act && (keys ?? shown).includes(name));
  if (!found) return;
  event.preventDefault();
  // A key that is held steps on, but plays, removes or hides once.
  if (!event.repeat || name.startsWith("Arrow")) found[2](name);
}

function connect() {
  byId("play").addEventListener("click", toggle);
  byId("back").addEventListener("click", () => step(-1));
  byId("on").addEventListener("click", () => step(1));
  byId("speed").addEventListener("change", (event) => {
    setSpeed(event.target.value);
    if (!reached) event.target.blur();
  });
  byId("trails").addEventListener("change", (event) => {
    stage.trails = event.target.checked;
    redraw();
  });
  byId("heat").addEventListener("change", showMap);
  byId("save").addEventListener("click", () => saveAs());
  byId("format").addEventListener("change", redraw);
  byId("doubtful").addEventListener("click", nextDoubtful);
  byId("undo").addEventListener("click", undo);
  byId("redo").addEventListener("click", redo);
  byId("clip-back").addEventListener("click", () => otherClip(-1));
  byId("clip-on").addEventListener("click", () => otherClip(1));
  byId("spans-box").addEventListener("toggle", () => store.status && redraw());
  for (const field of ["name", "kind"]) {
    byId(field).addEventListener("change", rename);
    byId(field).addEventListener("keydown", (event) => event.key === "Enter" && !event.isComposing && event.target.blur());
  }
  byId("draw-new").addEventListener("change", () => select(null));
  byId("end").addEventListener("click", end);
  byId("take-back").addEventListener("click", takeBack);
  byId("remove").addEventListener("click", remove);
  byId("pick").addEventListener("click", pick);
  byId("help-open").addEventListener("click", help);
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
    give([..."xywh"].map((side) => Number(byId(`box-${side}`).value))).then((taken) => { if (taken) edited = false; });
  });
  document.addEventListener("keydown", onKey);
  document.addEventListener("focusin", (event) => { reached = event.target.matches(":focus-visible"); });
  seekSoon.listen();
  stage.onDown = () => (store.status.playing || store.status.catching_up) && ask({ do: "pause" });
  stage.onBox = give;
  stage.onClick = (id) => id !== stage.selected && select(id);
  curve.onSeek = (at) => seekSoon.to(at);
  panel.onSelect = select;
  panel.onSeek = (at) => ask({ do: "seek", position: at });
  stage.listen();
  curve.listen();
}

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
      await ask({ do: "seek", position: wish });
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

const visible = () => document.hidden
  && new Promise((shown) => document.addEventListener("visibilitychange", shown, { once: true }));
const pause = (ms) => new Promise((later) => setTimeout(later, ms));

/* The question for news that is under way. */
const asking = {
  end: null,
  anew: false, // whether it is to be answered at once, whatever this page knows
  now() {
    if (this.anew) known.serial = 0;
    this.anew = false;
    this.end = new AbortController();
    return news(mapTarget(), this.end.signal);
  },
};

let done = false; // whether the program has what it asked for and listens no more

/* Takes message after message; the next is asked for while a frame is being drawn. */
async function watch() {
  let [begun, silent] = [null, false];
  for (;;) {
    await visible();
    try {
      const { told, jpeg, levels } = await (begun ?? asking.now());
      if (done) return;
      if (silent) panel.say("The program answers again");
      silent = false;
      // A message that leaves changes out is followed by the next one at once.
      const serial = told.more ? 0 : told.serial;
      Object.assign(known, { serial, changes: told.changes_until, picture: told.picture ?? 0 });
      begun = document.hidden ? null : asking.now();
      begun?.catch(() => {});
      // A frame and its boxes are shown together.
      const image = jpeg?.size ? await createImageBitmap(jpeg) : null;
      store.take(told, levels);
      if (jpeg) {
        stage.image?.close();
        stage.image = image;
      }
      stage.colour(store.map, store.levels);
      redraw();
    } catch (error) {
      if (done) return;
      begun = null;
      if (error.name === "AbortError") continue;
      silent = true;
      // An answer to a question that names the last message would wait for the next one.
      Object.assign(known, { serial: 0, picture: 0 });
      const why = error.constructor === Error ? error.message : "The program does not answer";
      panel.say(`${why}; trying again`, true);
      await pause(700);
    }
  }
}

// The token has become a cookie: it need not stay in the address, where it would be seen and kept.
if (location.search) history.replaceState(null, "", location.pathname);
connect();
watch();
