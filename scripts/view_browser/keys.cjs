// Keys do what the list says wherever the focus is, but for the fields that are written in.
"use strict";

const assert = require("node:assert/strict");
const { drag, open, says, standsAt, targets, until } = require("./page.cjs");
const { scene, serve } = require("./program.cjs");

module.exports = async function byKeys(browser) {
  const { child, url } = await serve(scene);
  const page = await open(browser, url, { viewport: { width: 1280, height: 720 } });
  const selected = () => page.evaluate(() => stage.selected);
  const focus = () => page.evaluate(() => document.activeElement.id);
  await drag(page, [170, 120, 60, 80]);
  await targets(page, 1);

  // The slider and Speed give the keys back once a pointer has changed them.
  await page.click("#seek");
  await until(page, () => store.status.position > 50 && !panel.seeking);
  assert.equal(await focus(), "");
  await page.evaluate(() => order({ do: "seek", position: 2 }));
  await standsAt(page, 2);
  await page.focus("#speed");
  for (const key of ["4", "1", "0"]) await page.keyboard.press(key);
  assert.equal(await page.inputValue("#speed"), "1");
  assert.equal(await selected(), 1);
  await page.keyboard.press("Escape");
  assert.equal(await focus(), "");
  assert.equal(await selected(), 1, "Escape has left the field, and nothing else");

  // Space plays after a click on a button, and presses one that was reached by a key.
  await page.click("#trails");
  await page.keyboard.press("Space");
  await until(page, () => store.status.playing);
  assert.equal(await page.isChecked("#trails"), false);
  await page.keyboard.press("Space");
  await until(page, () => !store.status.playing);
  await page.focus("#speed");
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  assert.equal(await focus(), "trails");
  await page.keyboard.press("Space");
  assert.equal(await page.isChecked("#trails"), true);
  assert.equal(await page.evaluate(() => store.status.playing), false);

  // With caps lock.
  const [got] = await Promise.all([page.waitForEvent("download"), page.keyboard.press("J")]);
  assert.match(got.suggestedFilename(), /json$/);

  // The numbers follow what is selected and shown, until they are changed.
  await page.evaluate(() => order({ do: "seek", position: 1 }));
  await standsAt(page, 1);
  const numbers = () => page.$$eval("#box-form input", (fields) => fields.map((field) => Number(field.value)));
  const shown = () => page.evaluate(() => store.record(1, store.status.position).bbox);
  const near = (a, b) => a.every((value, i) => Math.abs(value - b[i]) < 0.01);
  await page.keyboard.press("Escape");
  await until(page, () => stage.selected === null);
  await page.keyboard.press("b");
  assert.deepEqual(await numbers(), [240, 180, 160, 120]);
  await page.keyboard.press("Escape");
  await page.keyboard.press("1");
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
  assert.equal(await focus(), "", "a drag on the frame takes the keys out of a field");

  // Without a selection, a key that needs one says so.
  for (const key of ["e", "u", "o", "Delete"]) {
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
  await page.keyboard.press("3");
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
