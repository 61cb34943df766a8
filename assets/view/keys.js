
/* The keys: most are those of CVAT. */

/* What the list of shortcuts says of them, and what they do. */
const KEYS = [
  [["Space"], "Play or pause", toggle],
  [["F", "D"], "Next, previous frame", (key) => step(key === "f" ? 1 : -1), ["f", "d"]],
  [["→", "←"], "The same; ten frames with Shift", (key, shift) => step((key === "ArrowRight" ? 1 : -1) * (shift ? 10 : 1)),
    ["ArrowRight", "ArrowLeft"]],
  [["V", "C"], "Ten frames forward, back", (key) => step(key === "v" ? 10 : -10), ["v", "c"]],
  [["R", "E"], "Next, previous given box", (key) => doubts.given(key === "r"), ["r", "e"]],
  [[".", ","], "Next, previous doubtful frame, the worst of each stretch", (key) => doubts.go(key === "."), [".", ","]],
  [["`"], "Type a frame number", () => byId("frame").select(), ["`", "~"]],
  [["Home", "End"], "First, last frame", (key) => seekTo(key === "Home" ? store.earliest : store.last)],
  [["N"], "Select nothing, to draw a new target", () => select(null), ["n"]],
  [["Shift N"], "The next drag draws the selected target anew, as Ctrl and a drag", redrawn, ["N"]],
  [["[", "]"], "Select the previous, next target", (key) => selectNext(key === "]" ? 1 : -1)],
  [["1", "… 9"], "Class of the selected target, or of the next new one", (key) => classes.take(Number(key) - 1),
    [..."123456789"]],
  [["K"], "Make the box a given one, or take back what was given here", keyframe, ["k"]],
  [["Q"], "Occluded from here on, up to the next given box", occluded, ["q", "/"]],
  [["O"], "Outside from here on, up to the next given box", outside, ["o"]],
  [["M"], "What a changed box changes: the next kind", nextReach, ["m"]],
  [["Ctrl B"], "Copy the box to the next frame", copyOn, ["Ctrl b"]],
  [["Ctrl C", "Ctrl V"], "Copy the box, give the copied box here", (key) => (key === "Ctrl c" ? copy() : paste()),
    ["Ctrl c", "Ctrl v"]],
  [["H", "Shift H"], "Hide or show the selected target, all targets", (_, shift) => (shift ? hideAll() : flag("hidden")),
    ["h", "H"]],
  [["L", "Shift L"], "Lock or unlock the selected target, all targets", (_, shift) => (shift ? lockAll() : flag("locked")),
    ["l", "L"]],
  [["I"], "Solo: show the selected target alone", solo, ["i"]],
  [["Delete"], "Remove the selected target; with Shift even a locked one", (_, shift) => remove(shift)],
  [["Ctrl Z"], "Undo the last change of a target", undo, ["Ctrl z"]],
  [["Ctrl Shift Z", "Ctrl Y"], "Make an undone change again", redo, ["Ctrl Z", "Ctrl y"]],
  [["Ctrl S"], "Export the labels", () => exporting.open(), ["Ctrl s"]],
  [["B"], "The box in numbers", numbers, ["b"]],
  [["−", "+"], "Slower, faster", (key) => faster(key === "-" ? -1 : 1), ["-", "+", "="]],
  [["T", "W"], "Show or hide trails, the response", (key) => byId(key === "t" ? "trails" : "heat").click(), ["t", "w"]],
  [["0"], "Show the whole frame (the wheel zooms, Shift and a drag move)", () => stage.whole(), ["0"]],
  [["Escape"], "Leave a field, give up a drag, select nothing", escape],
  [["?", "F1"], "This list", help],
];

/* The same where only a first box is asked for. */
const PICK_KEYS = [
  [["Enter"], "Take the box, and start tracking", pick],
  [["B"], "The box in numbers", numbers, ["b"]],
  [["Escape"], "Give up the box", escape],
  [["?", "F1"], "This list", help],
];
const keys = () => store.status?.pick ? PICK_KEYS : KEYS;

const FIELDS = "input[type=number], input[type=text]";

/* Whether what has the focus got it by a key: then arrows and Enter are its own. Space plays wherever nothing is written. */
let reached = false;

function isItsOwn(key, on) {
  // The button of a list that was closed a moment ago still has the focus until the page is drawn again.
  if (on.closest("dialog:not([open])")) return false;
  if (on.closest(FIELDS)) return true;
  const moves = key.startsWith("Arrow") || ["Home", "End", "PageUp", "PageDown"].includes(key);
  if (on.closest("select")) return (moves && reached) || key === "Enter";
  if (on.closest("input[type=range]")) return moves && reached;
  return on.closest("button, summary, input") !== null && key === "Enter";
}

/* The letter of a key, also on a keyboard of another script; with Ctrl as `Ctrl z`, and with Shift a capital. */
function nameOf({ key, code, ctrlKey, metaKey, shiftKey }) {
  if (key === " ") return "Space";
  if (key.length > 1) return key;
  const letter = key > "\x7f" && code.startsWith("Key") ? code[3] : key;
  const cased = /^[a-z]$/i.test(letter) ? letter[shiftKey ? "toUpperCase" : "toLowerCase"]() : letter;
  return ctrlKey || metaKey ? `Ctrl ${cased}` : cased;
}

function onKey(event) {
  // What composes a word belongs to it.
  if (!store.status || document.querySelector("dialog[open]") || event.isComposing || event.altKey) return;
  const on = event.target;
  if (event.key === "Escape" && on.closest(`${FIELDS}, input[type=range], select`)) {
    // What was typed is given up.
    if (on.dataset.shown !== undefined) on.value = on.dataset.shown;
    on.blur();
    return;
  }
  if (event.key === "Enter" && on.closest("input[type=checkbox]")) return on.click();
  if (isItsOwn(event.key, on)) return;
  // A list goes to the entry that begins with what is typed.
  if (event.key.length === 1 && on.closest("select")) event.preventDefault();
  const name = nameOf(event);
  const found = keys().find(([shown, , , names]) => (names ?? shown).includes(name))
    // With caps lock, too, a key does what the list shows.
    ?? keys().find(([shown, , , names]) => (names ?? shown).includes(name.toLowerCase()));
  if (!found) return;
  event.preventDefault();
  // A key that is held steps on, but plays, removes or hides once.
  const steps = name.startsWith("Arrow") || "fdvc".includes(name);
  if (!event.repeat || steps) found[2](name, event.shiftKey);
}
