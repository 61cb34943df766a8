// Keys do what the list says wherever the focus is, but for the fields that are written in.
"use strict";

const assert = require("node:assert/strict");
const { drag, draw, goTo, open, says, standsAt, targets, until } = require("./page.cjs");
const { FRAMES, scene, serve } = require("./program.cjs");

module.exports = async function byKeys(browser) {
  const { child, url } = await serve(scene);
  const page = await open(browser, url, { viewport: { width: 1280, height: 720 } });
  const selected = () => page.evaluate(() => stage.selected);
  const focus = () => page.evaluate(() => document.activeElement.id);
  await drag(page, [170, 120, 60, 80]);
  await targets(page, 1);
  // What is drawn is selected, and its name can be typed; the fields of nothing are closed and swallow no keys.
  await until(page, () => stage.selected === 1 && document.activeElement.id === "name");
  await page.keyboard.type("Jo fed");
  await page.keyboard.press("Enter");
  await until(page, () => store.targets.get(1).name === "Jo fed");
  assert.equal(await page.evaluate(() => store.status.position), 1);
  await page.keyboard.press("n");
  assert.deepEqual(await Promise.all(["#name", "#kind", "#attributes"].map((id) => page.isDisabled(id))), [true, true, true]);
  await page.keyboard.press("]");
  assert.equal(await selected(), 1);

  // The slider and Speed give the keys back once a pointer has changed them.
  await page.click("#seek");
  await until(page, () => store.status.position > 10 && !panel.seeking);
  assert.equal(await focus(), "");
  await goTo(page, 2);
  await page.focus("#speed");
  for (const key of ["4", "1", "0"]) await page.keyboard.press(key);
  assert.equal(await page.inputValue("#speed"), "1");
  assert.equal(await selected(), 1);
  await page.keyboard.press("Escape");
  assert.equal(await focus(), "");
  assert.equal(await selected(), 1, "Escape has left the field, and nothing else");

  // Space plays wherever nothing is written; Enter presses what was reached by a key.
  await page.click("#trails");
  await page.keyboard.press("Space");
  await until(page, () => store.status.playing);
  assert.equal(await page.isChecked("#trails"), false);
  await page.keyboard.press("Space");
  await until(page, () => !store.status.playing);
  await page.focus("#speed");
  await page.keyboard.press("Shift+Tab");
  for (let tabs = 0; tabs < 3; tabs += 1) await page.keyboard.press("Tab");
  assert.equal(await focus(), "trails");
  await page.keyboard.press("Enter");
  assert.equal(await page.isChecked("#trails"), true);
  await page.keyboard.press("Space");
  await until(page, () => store.status.playing);
  await page.keyboard.press("Space");
  await until(page, () => !store.status.playing);
  assert.equal(await page.isChecked("#trails"), true);

  // No key alone saves a file; Ctrl S asks how.
  const saved = [];
  page.on("download", (file) => saved.push(file));
  for (const key of "abcdefghijklmnopqrstuvwxyz") {
    await page.keyboard.press(key);
    await page.keyboard.press("Escape");
  }
  await page.keyboard.press("Control+s");
  await page.waitForSelector("#export[open]");
  await page.keyboard.press("Escape");
  assert.deepEqual(saved, []);
  while (await page.evaluate(() => store.status.undo > 2)) await page.evaluate(() => order({ do: "undo" }));
  await page.evaluate(() => { [stage.hidden, stage.locked, stage.solo] = [new Set(), new Set(), null]; select(1); });

  // The frames, as in CVAT.
  await goTo(page, 1);
  for (const [key, at] of [["f", 2], ["ArrowRight", 3], ["d", 2], ["v", 12], ["F", 13], ["c", 3], ["ArrowLeft", 2],
    ["Shift+ArrowRight", 12], ["Home", 1], ["End", FRAMES]]) {
    await page.keyboard.press(key);
    await standsAt(page, at);
  }
  await page.keyboard.press("`");
  await page.keyboard.type("7");
  await page.keyboard.press("Enter");
  await standsAt(page, 7);
  assert.equal(await focus(), "");

  // The numbers follow what is selected and shown, until they are changed.
  await goTo(page, 1);
  const numbers = () => page.$$eval("#box-form input", (fields) => fields.map((field) => Number(field.value)));
  const shown = () => page.evaluate(() => store.record(1, store.status.position).bbox);
  const near = (a, b) => a.every((value, i) => Math.abs(value - b[i]) < 0.01);
  await page.keyboard.press("Escape");
  await until(page, () => stage.selected === null);
  await page.keyboard.press("b");
  assert.deepEqual(await numbers(), [240, 180, 160, 120]);
  await page.keyboard.press("Escape");
  await page.keyboard.press("]");
  assert.ok(near(await numbers(), await shown()), "the selected target's box");
  await page.keyboard.press("ArrowRight");
  await standsAt(page, 2);
  assert.ok(near(await numbers(), await shown()), "the box of the current frame");
  assert.equal(await page.textContent("#box-give"), "Give target 1 this box");
  await page.fill("#box-x", "33");
  await page.keyboard.press("2");
  await page.keyboard.press("Escape");
  await page.keyboard.press("ArrowRight");
  await standsAt(page, 3);
  assert.equal((await numbers())[0], 332, "what was typed stays");
  assert.equal(await selected(), 1, "digits in a field select nothing");

  // Enter gives a box once.
  await page.keyboard.press("n");
  await page.keyboard.press("b");
  await page.keyboard.press("Enter");
  await targets(page, 2);
  await page.keyboard.press("Enter");
  await page.keyboard.press("ArrowRight");
  await standsAt(page, 4);
  assert.equal(await page.evaluate(() => store.targets.size), 2);
  await page.focus("#box-y");
  await drag(page, [300, 300, 3, 40]);
  await targets(page, 3);
  await says(page, "3x40 pixels: below about 6");
  await until(page, () => document.activeElement.id === "name");
  await page.keyboard.press("Escape");

  // Without a selection, a key that needs one says so.
  for (const key of ["k", "q", "o", "h", "l", "i", "Delete", "Shift+N", "Control+b"]) {
    await page.evaluate(() => { select(null); panel.say(""); });
    await page.keyboard.press(key);
    await says(page, "select a target first");
  }
  assert.equal(await page.evaluate(() => store.targets.size), 3);

  // A held key plays once. What is removed by a button is said, and the keyboard goes on to Undo.
  for (let held = 0; held < 4; held += 1) await page.keyboard.down("Space");
  await page.keyboard.up("Space");
  await until(page, () => store.status.playing);
  await page.keyboard.press("Space");
  await until(page, () => !store.status.playing);
  await page.evaluate(() => select(3));
  await page.focus("#remove");
  await page.keyboard.press("Enter");
  await says(page, "Target 3 is removed");
  await until(page, () => document.activeElement.id === "undo");
  await targets(page, 2);
  assert.deepEqual(page.errors, []);
  console.log("keys: they do what the list says, wherever the focus is");
  await page.context().close();
  child.kill("SIGINT");
};
