// A folder of clips, one after the other, with a session each.
"use strict";

const assert = require("node:assert/strict");
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { draw, open, picture, targets, until, violations } = require("./page.cjs");
const { folder, scene, serve } = require("./program.cjs");

module.exports = async function byClips(browser) {
  const [clips, sessions] = ["clips", "sessions"].map((name) => path.join(folder, name));
  fs.mkdirSync(clips);
  for (const name of ["a.mkv", "b.mkv"]) {
    execFileSync("ffmpeg", ["-loglevel", "error", "-framerate", "30", "-i", path.join(scene, "img", "%04d.jpg"), "-c",
      "copy", path.join(clips, name)]);
  }
  const { child, url } = await serve(clips, "--session", sessions);
  const page = await open(browser, url, { viewport: { width: 1280, height: 720 } });
  const shows = (place) => until(page, (place) => store.status?.clip?.[0] === place && stage.image, place);
  const go = async (button, place) => {
    await Promise.all([page.waitForEvent("load"), page.click(button)]);
    await shows(place);
  };
  const boxes = (name) => JSON.parse(fs.readFileSync(path.join(sessions, `${name}.json`))).targets.flatMap(
    (target) => target.given.map(({ bbox }) => bbox));
  await shows(1);
  await draw(page, [170, 120, 60, 80]);
  await page.keyboard.press("+");
  const first = await page.evaluate(() => store.status.run);

  const begun = Date.now();
  await go("#clip-on", 2);
  const took = Date.now() - begun;
  assert.ok(took < 5000, `the next clip came after ${took} ms`);
  // What was meant for the first clip.
  const late = await page.evaluate(async (run) => {
    const headers = { "Content-Type": "application/json" };
    const body = JSON.stringify({ do: "add", position: 1, bbox: [9, 9, 50, 50] });
    return (await fetch(`/command?run=${run}`, { method: "POST", headers, body })).status;
  }, first);
  assert.equal(late, 409);
  await draw(page, [300, 200, 70, 90]);
  // The overview says what is done, and leads to each clip. There undo goes on, and the speed is as it was.
  await page.click("#clips-open");
  await until(page, () => byId("clip-rows").rows.length === 2);
  const rows = await page.$$eval("#clip-rows tr", (rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
  assert.deepEqual(rows.map(([name, count]) => [name, count]), [["a.mkv", "1"], ["b.mkv", "1"]]);
  await violations(page, "clips");
  await picture(page, "view-clips");
  await go("#clip-rows tr:first-child button", 1);
  await targets(page, 1);
  assert.deepEqual(await page.evaluate(() => [store.status.undo, store.status.speed]), [1, 2]);
  await page.evaluate(() => order({ do: "undo" }));
  await targets(page, 0);
  await page.evaluate(() => order({ do: "redo" }));
  await targets(page, 1);
  await until(page, () => !store.status.unsaved);
  await page.waitForTimeout(2500);
  assert.deepEqual([boxes("a.mkv").length, boxes("b.mkv").length], [1, 1]);
  assert.notDeepEqual(boxes("a.mkv"), boxes("b.mkv"));
  console.log(`clips: the next one is there after ${took} ms, and each box is in the session of its clip`);
  await page.context().close();
  child.kill("SIGINT");
};
