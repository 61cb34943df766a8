// A video that does not say how long it is.
"use strict";

const assert = require("node:assert/strict");
const { execFileSync } = require("node:child_process");
const path = require("node:path");
const { draw, open, said, says, save, standsAt, until } = require("./page.cjs");
const { FRAMES, folder, scene, serve } = require("./program.cjs");

module.exports = async function byUnknownEnd(browser) {
  const video = path.join(folder, "scene.mjpeg");
  execFileSync("ffmpeg", ["-loglevel", "error", "-framerate", "30", "-i", path.join(scene, "img", "%04d.jpg"), "-c",
    "copy", video]);
  const { child, url } = await serve(video);
  const page = await open(browser, url, { viewport: { width: 1280, height: 720 } });
  const fact = () => page.textContent("#fact-frame");
  assert.deepEqual([await fact(), await page.isEnabled("#on")], ["", true]);
  await draw(page, [170, 120, 60, 80]);
  await page.click("#on");
  await standsAt(page, 2);
  const early = JSON.parse((await save(page, "json")).text);
  assert.equal(early.summary.completed, false);
  await says(page, "target 1 is followed to frame 2 only: play on first");

  // Too far is the last frame.
  await page.evaluate(() => order({ do: "seek", position: 5000 }));
  await standsAt(page, FRAMES);
  await says(page, `frame ${FRAMES} is the last one`);
  await until(page, () => byId("on").disabled);
  assert.equal(await fact(), `of ${FRAMES}`);
  // Playing on follows the missing frames, even at the last frame.
  await page.click("#play");
  await until(page, (frames) => store.target(1).records.size === frames && !store.status.playing, FRAMES);
  const whole = JSON.parse((await save(page, "json")).text);
  assert.deepEqual([whole.summary.completed, whole.frames.length], [true, FRAMES]);
  await until(page, () => byId("said").textContent.startsWith("Saved"));
  assert.doesNotMatch((await said(page))[0], /only/);

  const HALF = Math.round(FRAMES / 2);
  // The destination is shown until it is reached, as an estimate if the end is unknown.
  const shown = (change) => page.evaluate((change) => {
    const before = store.status;
    store.status = { ...before, ...change };
    panel.draw();
    const seen = [byId("hint").textContent, byId("seek").value, byId("fact-frame").textContent, byId("on").disabled];
    store.status = before;
    panel.draw();
    return seen;
  }, change);
  assert.deepEqual(await shown({ going_to: HALF }), [`Going to frame ${HALF}`, String(HALF), `of ${FRAMES}`, true]);
  const about = await shown({ last: null, expected_last: 250 });
  assert.deepEqual(about.slice(2), ["of about 250", false]);
  assert.deepEqual(page.errors, []);
  console.log("a video of unknown length: the page finds its end, and says what is not followed to it");
  await page.context().close();
  child.kill("SIGINT");
};
