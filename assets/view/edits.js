
/* What buttons, keys and drags do to targets. */

let asked = Promise.resolve(); // the last order

async function ask(what) {
  asked = order(what);
  const { error, said } = await asked;
  panel.say(error ?? said ?? "", Boolean(error));
  return error ? null : { said };
}

function select(id) {
  if (id !== null && !store.targets.has(id)) return;
  if (id !== stage.selected) [edited, hands.redraws] = [false, false];
  stage.selected = id;
  if (stage.solo !== null && id !== null) stage.solo = id;
  showMap();
  redraw();
}

/* The target before or after the selected one in the list. */
function selectNext(by) {
  const ids = [...store.targets.keys()];
  const at = ids.indexOf(stage.selected);
  if (ids.length) select(ids[(at + (at < 0 && by < 0 ? 0 : by) + ids.length) % ids.length]);
}

function redraw() {
  if (!store.status) return;
  if (stage.selected !== null && !store.targets.has(stage.selected)) stage.selected = null;
  if (stage.solo !== null && !store.targets.has(stage.solo)) stage.solo = null;
  if (store.size) byId("stage-box").style.setProperty("--shape", `${store.size[0]} / ${store.size[1]}`);
  hands.stopped();
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
const seekTo = (at) => ask({ do: "seek", position: at, track: byId("seek-tracks").checked });
const undo = () => ask({ do: "undo" });
const redo = () => ask({ do: "redo" });

/* The reason why a drag no longer fits its target or the shown frame. */
function strayed({ target, position: at }) {
  if (target !== null && !store.targets.has(target)) return `target ${target} was removed while the box was drawn`;
  if (target !== null && target !== stage.selected) return "another target was selected while the box was drawn";
  if (at !== null && at !== position()) return `the box was begun in frame ${at}, which is not shown any more`;
  return null;
}

/* What a changed box changes, as it is said. */
const REACHES = {
  "from-here": "is tracked on from this box", "this-frame": "has another box in this frame only",
  "both-sides": "is tracked from both sides between the given boxes", interpolated: "is interpolated between the given boxes",
};

/* A box of a drag, or of numbers: of a new target, or of the selected one. */
async function give(box, { target, ...drag }) {
  if (store.status.pick) {
    stage.draft = box;
    redraw();
    return true;
  }
  const wrong = drag.id !== undefined && strayed({ target, ...drag });
  if (wrong) return panel.say(`${wrong}: draw it again`, true);
  if (target !== null && isLocked(target)) return false;
  const at = position();
  stage.draft = box;
  const known = new Set(store.targets.keys());
  const kind = classes.next ?? undefined;
  const reach = byId("reach").value;
  const what = target === null ? { do: "add", position: at, bbox: box.bbox, class: kind }
    : { do: "give", target, position: at, ...box, reach };
  const taken = await ask(what);
  stage.draft = null;
  hands.redraws = false;
  redraw();
  if (!taken) return false;
  const words = target === null ? "A new target is there" : `${store.called(target)} ${REACHES[reach]}`;
  panel.say(taken.said ? `${words}; ${taken.said}` : words, Boolean(taken.said));
  if (target === null) selectNew(known, drag.pointerType ?? "mouse");
  return true;
}

/* Selects the target that was not known before, and lets its name be typed. */
async function selectNew(before, pointer) {
  const fresh = () => [...store.targets.keys()].filter((id) => !before.has(id)).at(-1);
  for (let tries = 0; fresh() === undefined && tries < 100; tries += 1) await pause(20);
  if (fresh() === undefined || stage.drag) return;
  select(fresh());
  // The keyboard of a phone would hide the frame.
  if (pointer === "mouse") byId("name").focus();
}

async function pick() {
  if (done) return;
  if (!stage.draft) return panel.say("drag a box around the target first", true);
  if (!(await ask({ do: "add", bbox: stage.draft.bbox }))) return;
  done = true;
  byId("hint").textContent = "The box is taken; this page can be closed";
  panel.say("The box is taken; this page can be closed.");
  byId("pick").disabled = true;
}

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
const isLocked = (id) => {
  if (stage.locked.has(id)) panel.say(`${store.called(id)} is locked (L)`, true);
  return stage.locked.has(id);
};

async function ofSelected(what, words) {
  if (stage.selected === null) return nothing();
  if (isLocked(stage.selected)) return;
  const called = store.called(stage.selected);
  const button = reached ? document.activeElement : null;
  acted = ["keyframe", "occluded", "outside", "remove"].includes(button?.id) ? button : null;
  const taken = await ask({ target: stage.selected, ...what });
  if (taken && !taken.said) panel.say(`${called} ${words}`);
}

/* The box of the selected target in this frame, as the program is given it. */
function shownBox() {
  const record = store.record(stage.selected, position());
  if (!record?.bbox) return null;
  return record.polygon ? { bbox: record.bbox, polygon: record.polygon } : { bbox: record.bbox };
}

function keyframe() {
  if (store.mark(stage.selected, position())) {
    return ofSelected({ do: "take-back", position: position() }, "has what was given here no more");
  }
  const box = shownBox();
  if (stage.selected !== null && !box) return panel.say("the target has no box in this frame", true);
  return ofSelected({ do: "give", position: position(), reach: "this-frame", ...box }, "has a given box here");
}

function occluded() {
  const on = !panel.isCovered(stage.selected, position());
  const words = `is ${on ? "occluded" : "not occluded"} from frame ${position()} on`;
  return ofSelected({ do: "occluded", position: position(), on }, words);
}

function outside() {
  const ended = store.mark(stage.selected, position())?.given === false;
  const what = { do: ended ? "take-back" : "end", position: position() };
  return ofSelected(what, ended ? "is inside again" : `is outside from frame ${position()} on`);
}

/* Gives the next frame the box of this one, and goes there. */
function copyOn() {
  const box = shownBox();
  if (stage.selected !== null && !box) return panel.say("the target has no box in this frame", true);
  const what = { do: "give", position: position() + 1, reach: byId("reach").value, ...box };
  return ofSelected(what, `has the same box in frame ${position() + 1}`);
}

let copied = null; // a box

function copy() {
  copied = shownBox();
  panel.say(copied ? "The box is copied: Ctrl V gives it in another frame" : "select a target with a box first", !copied);
}

function paste() {
  if (!copied) return panel.say("no box is copied yet: Ctrl C", true);
  return give(copied, { target: stage.selected, position: position() });
}

async function remove(even = false) {
  if (even) stage.locked.delete(stage.selected);
  await ofSelected({ do: "remove" }, "is removed");
}

/* Hides or locks the selected target, or shows or unlocks it. */
function flag(name) {
  const id = stage.selected;
  if (id === null) return nothing();
  if (!stage[name].delete(id)) stage[name].add(id);
  panel.say(`${store.called(id)} is ${stage[name].has(id) ? "" : "not "}${name}`);
  redraw();
}

const all = (name) => {
  stage[name] = new Set(stage[name].size ? [] : store.targets.keys());
  panel.say(`${stage[name].size ? "All targets are" : "No target is"} ${name}`);
  redraw();
};
const hideAll = () => all("hidden");
const lockAll = () => all("locked");

function solo() {
  if (stage.solo === null && stage.selected === null) return nothing();
  stage.solo = stage.solo === null ? stage.selected : null;
  panel.say(stage.solo === null ? "All targets are shown" : `${store.called(stage.solo)} is shown alone`);
  redraw();
}

function redrawn() {
  if (stage.selected === null) return nothing();
  if (isLocked(stage.selected)) return;
  hands.redraws = !hands.redraws;
  redraw();
}

function nextReach() {
  const field = byId("reach");
  field.selectedIndex = (field.selectedIndex + 1) % field.length;
  panel.say(`A changed box: ${field.selectedOptions[0].textContent}`);
}

/* What was typed in a field, or else the word that is known by now: another page may have changed it. */
const typed = (field, word) => byId(field).value === byId(field).dataset.shown ? word ?? "" : byId(field).value;

/* `name=value` pairs of a text; a name alone has an empty value. */
function attributesOf(text) {
  const pairs = text.split(",").map((pair) => pair.trim()).filter(Boolean).map((pair) => pair.split("="));
  return Object.fromEntries(pairs.map(([name, ...value]) => [name.trim(), value.join("=").trim()]));
}

function rename(change = {}) {
  const target = store.targets.get(stage.selected);
  if (target === undefined) return nothing();
  const isShown = byId("attributes").value === byId("attributes").dataset.shown;
  return ask({
    do: "name", target: stage.selected, name: typed("name", target.name), class: typed("kind", target.kind),
    ...isShown ? {} : { attributes: attributesOf(byId("attributes").value) }, ...change,
  });
}

function escape() {
  if (stage.drag || stage.draft || hands.redraws) [stage.drag, stage.draft, hands.redraws] = [null, null, false];
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
  const known = stage.draft?.bbox ?? store.record(stage.selected, position())?.bbox;
  const bbox = known ?? [w * 3 / 8, h * 3 / 8, w / 4, h / 4];
  bbox.forEach((value, i) => { byId(`box-${"xywh"[i]}`).value = Math.round(value * 100) / 100; });
}
