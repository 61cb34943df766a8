// Windows of odd shapes: a phone on its side.
"use strict";

const assert = require("node:assert/strict");
const { open, picture, targets, violations } = require("./page.cjs");
const { scene, serve } = require("./program.cjs");

const rects = (page, ids) => page.evaluate((ids) => Object.fromEntries(ids.map((id) =>
  [id, document.getElementById(id).getBoundingClientRect().toJSON()])), ids);

/* The frame has more than half of the window, the buttons to play stand beside it, and nothing lies over it. */
async function aPhoneOnItsSideHasTheFrameBesideTheButtons(page, [width, height]) {
  const what = `${width}x${height}`;
  const { "stage-box": stage, play, said } = await rects(page, ["stage-box", "play", "said"]);
  assert.ok(stage.width > 0.5 * width && stage.height > 0.6 * height, `${what}: ${JSON.stringify(stage)}`);
  assert.ok(play.left >= stage.right && play.bottom <= height, `${what}: ${JSON.stringify(play)}`);
  assert.ok(said.top >= stage.bottom && said.bottom <= height + 1, `${what}: ${JSON.stringify(said)}`);
  const scrolled = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(scrolled[0] <= scrolled[1], "nothing is cut off");
  // What is further down beside the frame is scrolled to, and the frame stays.
  await page.evaluate(() => byId("box-x").closest("details").scrollIntoView());
  assert.equal((await rects(page, ["stage-box"]))["stage-box"].top, stage.top);
}

module.exports = async function ofOddShapes(browser) {
  const view = await serve(scene, "--init", "170,120,60,80");
  for (const size of [[844, 390], [667, 375]]) {
    const [width, height] = size;
    const page = await open(browser, view.url, {
      viewport: { width, height }, hasTouch: true, isMobile: true, deviceScaleFactor: 2,
      colorScheme: width > 700 ? "light" : "dark",
    });
    await targets(page, 1);
    await page.evaluate(() => panel.say("The program says something, and that is read"));
    await picture(page, `view-side-${width}`);
    await aPhoneOnItsSideHasTheFrameBesideTheButtons(page, size);
    await violations(page, `phone on its side, ${width}x${height}`);
    assert.deepEqual(page.errors, []);
    await page.context().close();
  }
  view.child.kill("SIGINT");
  console.log("odd shapes: a phone on its side has the frame beside the buttons");
};
