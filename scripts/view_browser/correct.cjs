// Each gesture that changes a box: what it changes, and that undo takes it back.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { boxes, draw, goTo, onScreen, open, picture, pull, save, says, standsAt, targets, until } = require("./page.cjs");
const { FRAMES, scene, serve } = require("./program.cjs");

const MIDDLE = Math.round(FRAMES / 2);
const near = (a, b, most = 1.5) => a.length === b.length && a.every((value, i) => Math.abs(value - b[i]) <= most);

/* Everything that is known of a target. */
const known = (page, id = 1) => page.evaluate((id) => {
  const { marks, records } = store.targets.get(id) ?? { marks: new Map(), records: new Map() };
  return JSON.stringify([[...marks].sort(), [...records].sort(([a], [b]) => a - b)]);
}, id);

/* Undoes the last change, and waits until all is as it was. */
async function takenBack(page, before, what) {
  await page.keyboard.press("Control+z");
  const same = (before) => {
    const { marks, records } = store.targets.get(1) ?? { marks: new Map(), records: new Map() };
    return JSON.stringify([[...marks].sort(), [...records].sort(([a], [b]) => a - b)]) === before;
  };
  await until(page, same, before).catch(() => assert.fail(`undo does not restore ${what}`));
}

module.exports = async function correcting(browser) {
  const { child, url } = await serve(scene);
  const page = await open(browser, url, { viewport: { width: 1280, height: 800 }, colorScheme: "light" });
  const truth = fs.readFileSync(path.join(scene, "groundtruth_rect.txt"), "utf8").split("\n").filter(Boolean)
    .map((row) => row.split(",").map(Number)).map(([x, y, w, h]) => [x - 1, y - 1, w, h]);
  await page.selectOption("#speed", "");
  await draw(page, truth[0]);
  await page.keyboard.press("Space");
  await standsAt(page, FRAMES);
  const whole = await boxes(page, 1);
  const before = await known(page);
  const record = (id, at) => page.evaluate(([id, at]) => store.record(id, at), [id, at]);
  const change = () => until(page, (count) => store.status.undo > count, 1);
  const reach = async (name) => {
    await page.selectOption("#reach", name);
    await goTo(page, MIDDLE);
    await page.evaluate(() => select(1));
  };
  const middle = () => whole[MIDDLE - 1].slice(1);
  const center = ([x, y, w, h]) => [x + w / 2, y + h / 2];

  // Moved by a drag inside, in this frame only.
  await reach("this-frame");
  let [cx, cy] = center(middle());
  await pull(page, [cx, cy], [cx + 12, cy + 9]);
  await change();
  await until(page, (at) => store.mark(1, at)?.reach === "this-frame", MIDDLE);
  let now = await boxes(page, 1);
  assert.ok(near(now[MIDDLE - 1].slice(3), middle().slice(2)) && now[MIDDLE - 1][1] > middle()[0] + 10);
  assert.deepEqual([now.slice(0, MIDDLE - 1), now.slice(MIDDLE)], [whole.slice(0, MIDDLE - 1), whole.slice(MIDDLE)]);
  await takenBack(page, before, "a box of one frame");

  // From here on: nothing that was followed is lost, and it is replaced frame by frame.
  await reach("from-here");
  const corner = [middle()[0] + middle()[2], middle()[1] + middle()[3]];
  await pull(page, corner, [corner[0] + 10, corner[1] + 6]);
  await change();
  now = await boxes(page, 1);
  assert.equal(now.length, FRAMES);
  assert.deepEqual(now.slice(MIDDLE), whole.slice(MIDDLE));
  await page.keyboard.press("f");
  await standsAt(page, MIDDLE + 1);
  await until(page, ([at, former]) => store.record(1, at).bbox.join() !== former, [MIDDLE + 1, whole[MIDDLE].slice(1).join()]);
  assert.deepEqual((await boxes(page, 1)).slice(MIDDLE + 1), whole.slice(MIDDLE + 1));
  assert.match(await page.textContent("#targets li"), /tracking|uncertain/);
  await goTo(page, MIDDLE + 5);
  assert.match(await page.textContent("#targets li"), /former/);
  await save(page, "json");
  await says(page, `is followed to frame ${MIDDLE + 1} only`);
  // A seek tracks on when it is asked to.
  await page.check("#seek-tracks");
  await page.fill("#frame", String(MIDDLE + 8));
  await page.press("#frame", "Enter");
  await standsAt(page, MIDDLE + 8);
  await until(page, (at) => store.followedTo(1) === at, MIDDLE + 8);
  await page.uncheck("#seek-tracks");
  await takenBack(page, before, "a box from here on");

  // Between given boxes: interpolated, and from both sides.
  await reach("this-frame");
  await goTo(page, FRAMES);
  await page.keyboard.press("k");
  await until(page, (at) => store.mark(1, at)?.given, FRAMES);
  const framed = await known(page);
  for (const kind of ["interpolated", "both-sides"]) {
    await reach(kind);
    [cx, cy] = center(middle());
    await pull(page, [cx, cy], [cx + 8, cy + 4]);
    await until(page, ([at, kind]) => store.mark(1, at)?.reach === kind && !store.status.filling, [MIDDLE, kind]);
    await until(page, () => store.followedTo(1) === null);
    now = await boxes(page, 1);
    const quarter = Math.round(MIDDLE / 2);
    const share = (quarter - 1) / (MIDDLE - 1);
    const straight = now[0].slice(1).map((value, i) => value + share * (now[MIDDLE - 1][i + 1] - value));
    assert.equal(near(now[quarter - 1].slice(1), straight, 0.01), kind === "interpolated", `${kind}: ${now[quarter - 1]}`);
    assert.equal(now.length, FRAMES);
    await takenBack(page, framed, kind);
  }
  await takenBack(page, before, "a given box");
  console.log("correct: a box changes its frame, what follows, or what lies between; undo restores every box");

  // A drag beside the selected target draws a new one, and takes nothing from it.
  await reach("from-here");
  await draw(page, [middle()[0] > 300 ? 40 : 480, 340, 60, 60]);
  assert.equal(await page.evaluate(() => stage.selected), 2);
  assert.equal(await known(page), before);
  await page.keyboard.press("Control+z");
  await targets(page, 1);
  // The mode draws the selected one, once.
  await page.evaluate(() => select(1));
  await page.keyboard.press("Shift+N");
  await until(page, () => byId("hint").textContent.startsWith("Drag a new box"));
  await pull(page, [60, 60], [120, 140]);
  await until(page, (at) => store.mark(1, at)?.given, MIDDLE);
  assert.ok(near((await record(1, MIDDLE)).bbox, [60, 60, 60, 80]));
  assert.equal(await page.evaluate(() => hands.redraws || store.targets.size !== 1), false);
  await takenBack(page, before, "a box that was drawn anew");

  // The handle above turns a box; its corner moves along its sides, and the angle stays.
  await reach("this-frame");
  const handle = () => page.evaluate(() => stage.turnPlace(stage.editable()));
  [cx, cy] = center(middle());
  const [hx, hy] = await handle();
  await pull(page, [hx, hy], [cx + (cy - hy) * Math.sin(0.5), cy - (cy - hy) * Math.cos(0.5)]);
  await until(page, (at) => store.record(1, at).polygon, MIDDLE);
  const turned = () => page.evaluate((at) => turnedOf(store.record(1, at)), MIDDLE);
  const first = await turned();
  assert.ok(Math.abs(first.angle - 0.5) < 0.05 && near([first.w, first.h], middle().slice(2)), JSON.stringify(first));
  const [[px, py]] = await page.evaluate(() => [cornersOf(stage.editable())[2]]);
  await pull(page, [px, py], [px + 10 * Math.cos(first.angle), py + 10 * Math.sin(first.angle)]);
  await until(page, ([at, w]) => turnedOf(store.record(1, at)).w > w + 5, [MIDDLE, first.w]);
  const wider = await turned();
  assert.ok(Math.abs(wider.angle - first.angle) < 0.02 && near([wider.w, wider.h], [first.w + 10, first.h]));
  await picture(page, "view-turned");
  await page.keyboard.press("Control+z");
  await until(page, ([at, w]) => turnedOf(store.record(1, at)).w < w + 2, [MIDDLE, first.w]);
  await takenBack(page, before, "a turned box");
  console.log("correct: a drag draws, a modifier and a mode draw anew, a handle turns");

  // Outside, occluded, keyframe, copy, class, attributes, lock: each is a change of its own.
  await reach("this-frame");
  await page.keyboard.press("o");
  await until(page, (count) => store.target(1).records.size === count, MIDDLE - 1);
  await takenBack(page, before, "an end");
  await page.keyboard.press("q");
  await until(page, (at) => panel.isCovered(1, at) && panel.isCovered(1, at + 3), MIDDLE);
  assert.equal(await page.getAttribute("#occluded", "aria-pressed"), "true");
  const cvat = (await save(page, "cvat", { tolerance: "0" })).text;
  assert.match(cvat, new RegExp(`<box frame="${MIDDLE - 1}" outside="0" occluded="1"`));
  assert.equal((await page.evaluate((at) => store.doubtful([1]).filter(({ from }) => from >= at), MIDDLE)).length, 0);
  await takenBack(page, before, "what is occluded");
  await page.keyboard.press("Control+b");
  await standsAt(page, MIDDLE + 1);
  assert.deepEqual((await record(1, MIDDLE + 1)).bbox.map(Math.round), middle().map(Math.round));
  await goTo(page, 1);
  for (const [key, at] of [["r", MIDDLE + 1], ["e", 1]]) {
    await page.keyboard.press(key);
    await standsAt(page, at);
  }
  await takenBack(page, before, "a copied box");
  await page.keyboard.press("l");
  await goTo(page, MIDDLE);
  await page.keyboard.press("k");
  await says(page, "is locked");
  assert.equal(await page.evaluate(() => stage.editable()), null);
  await page.keyboard.press("l");
  await page.fill("#kind", "person");
  await page.press("#kind", "Enter");
  await until(page, () => document.querySelectorAll("#classes button").length === 1);
  await page.keyboard.press("1");
  await until(page, () => store.targets.get(1).kind === undefined);
  await page.keyboard.press("1");
  await until(page, () => store.targets.get(1).kind === "person");
  await page.fill("#attributes", "colour=red, parked");
  await page.press("#attributes", "Enter");
  await until(page, () => store.targets.get(1).attributes.colour === "red");
  const saved = JSON.parse((await save(page, "json")).text);
  assert.deepEqual(saved.targets[0].attributes, { colour: "red", parked: "" });
  assert.match((await save(page, "cvat")).text, /<attribute name="colour">red<\/attribute>/);
  // Hidden, it is not seen; alone, no other one is.
  const [[x, y]] = await onScreen(page, [center(middle())]);
  await page.keyboard.press("h");
  await page.mouse.click(x, y);
  assert.equal(await page.evaluate(() => stage.selected), null);
  await page.keyboard.press("Shift+H");
  await page.mouse.click(x, y);
  await until(page, () => stage.selected === 1);
  assert.deepEqual(page.errors, []);
  console.log("correct: outside, occluded, given, copied, locked, hidden, class and attributes");
  await page.context().close();
  child.kill("SIGINT");
};
