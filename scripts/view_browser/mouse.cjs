// Mouse: two targets, playing, a correction, an end, a removal, downloads.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { boxes, draw, goTo, open, picture, pull, save, standsAt, targets, until, violations } = require("./page.cjs");
const { FRAMES, folder, scene, serve, track } = require("./program.cjs");

module.exports = async function byMouse(browser) {
  const { child, url } = await serve(scene, "--session", path.join(folder, "view.json"));
  const page = await open(browser, url, { viewport: { width: 1280, height: 720 }, colorScheme: "light" });
  await picture(page, "view-begin");
  const truth = fs.readFileSync(path.join(scene, "groundtruth_rect.txt"), "utf8").split("\n")[0].split(",").map(Number);
  await draw(page, [truth[0] - 1, truth[1] - 1, truth[2], truth[3]]);
  await draw(page, [400, 300, 70, 60]);
  const first = (await boxes(page, 1))[0].slice(1);
  const second = (await boxes(page, 2))[0].slice(1);
  assert.ok(first.every((value, i) => Math.abs(value - (truth[i] - (i < 2))) < 1.5), `${first} is where was dragged`);

  // The time between two frames on the page, while it plays at the source's 30 frames a second.
  await page.evaluate(() => {
    window.times = [];
    const draw = stage.draw;
    let last = 0;
    stage.draw = function () {
      draw.call(this);
      if (store.status.position !== last) window.times.push(performance.now());
      last = store.status.position;
    };
  });
  await page.keyboard.press("Space");
  await until(page, () => store.status.playing);
  await standsAt(page, FRAMES);
  const times = await page.evaluate(() => window.times);
  const gaps = times.slice(1).map((time, i) => time - times[i]).sort((a, b) => a - b);
  const at = (share) => gaps[Math.floor(share * (gaps.length - 1))].toFixed(1);
  console.log(`frames on the page: ${times.length} of ${FRAMES}, every ${at(0.5)} ms (median), ${at(0.95)} ms (95 %)`);
  assert.deepEqual(await boxes(page, 1), track(1, first, FRAMES));
  assert.deepEqual(await boxes(page, 2), track(1, second, FRAMES));
  console.log("mouse: the boxes of two targets equal the command line's");
  await violations(page, "light, 1280x720");
  await picture(page, "view-light");

  // A correction: what was before it stays, and what comes after it stays until it is followed anew.
  const before = await boxes(page, 1);
  const MIDDLE = Math.round(FRAMES * 0.4);
  await goTo(page, MIDDLE);
  await page.evaluate(() => select(1));
  const [x, y, w, h] = before[MIDDLE - 1].slice(1);
  // Ctrl and a drag draw the selected target anew.
  await pull(page, [x + 15 + w, y + 12 + h], [x + 15, y + 12], "Control");
  await until(page, (at) => store.mark(1, at)?.given, MIDDLE);
  assert.equal((await boxes(page, 1)).length, FRAMES);
  const given = (await boxes(page, 1))[MIDDLE - 1].slice(1);
  await page.click("#play");
  await until(page, (at) => store.status.playing && store.status.position > at, MIDDLE + 4);
  await page.keyboard.press("Space");
  await until(page, () => !store.status.playing);
  await page.selectOption("#speed", "");
  await page.click("#play");
  await standsAt(page, FRAMES);
  assert.deepEqual(await boxes(page, 1), [...before.slice(0, MIDDLE - 1), ...track(MIDDLE, given, FRAMES)]);
  assert.deepEqual(await boxes(page, 2), track(1, second, FRAMES));
  console.log("mouse: a correction keeps what was before it and equals the command line after it");

  await page.keyboard.press("w");
  await until(page, () => stage.heat);
  await page.keyboard.press("ArrowLeft");
  await standsAt(page, FRAMES - 1);
  await picture(page, "view-response");
  const json = JSON.parse((await save(page, "json")).text);
  assert.equal(json.frames.length, 2 * FRAMES);
  const mot = (await save(page, "mot")).text.trim().split("\n");
  assert.equal(mot.length, 2 * FRAMES);
  const otb = await save(page, "otb");
  assert.equal(otb.text.trim().split("\n").length, FRAMES);
  console.log(`downloads: ${json.schema}, ${mot.length} MOT rows, ${otb.name}`);
  await page.evaluate(() => select(2));
  await page.keyboard.press("Delete");
  await targets(page, 1);
  await page.evaluate(() => select(1));
  const LATE = FRAMES - 10;
  await goTo(page, LATE);
  await page.keyboard.press("o");
  await until(page, (at) => store.mark(1, at)?.given === false, LATE);
  assert.equal((await boxes(page, 1)).length, LATE - 1);
  assert.equal(await page.getAttribute("#outside", "aria-pressed"), "true");
  await page.keyboard.press("o");
  await until(page, (at) => store.mark(1, at) === undefined, LATE);
  await page.keyboard.press("?");
  await page.waitForSelector("dialog[open]");
  await violations(page, "shortcuts");
  await picture(page, "view-keys");
  await page.keyboard.press("Escape");

  // Another page sees the same; one that is killed harms nobody.
  const other = await open(browser, url, { viewport: { width: 1280, height: 720 }, colorScheme: "dark" });
  assert.deepEqual(await boxes(other, 1), await boxes(page, 1));
  await page.context().close();
  await other.evaluate(() => select(1));
  await other.click("#play");
  await standsAt(other, FRAMES);
  await violations(other, "dark, 1280x720");
  await goTo(other, LATE);
  await picture(other, "view-dark");
  assert.deepEqual([...page.errors, ...other.errors], []);
  const last = await boxes(other, 1);
  child.kill("SIGINT");
  const code = await new Promise((resolve) => child.on("exit", resolve));
  assert.equal(code, 130);
  const { frames } = JSON.parse(fs.readFileSync(path.join(folder, "view.json"), "utf8"));
  assert.deepEqual(frames.map((frame) => [frame.index, ...frame.bbox]), last);
  console.log(`--session: ${frames.length} frames, in order`);
  await other.context().close();
};
