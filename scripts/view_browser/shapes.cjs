// Windows and frames of odd shapes: a phone on its side, a frame that is far wider than it is high.
"use strict";

const assert = require("node:assert/strict");
const { execFileSync } = require("node:child_process");
const path = require("node:path");
const { open, picture, standsAt, targets, until, violations } = require("./page.cjs");
const { folder, program, scene, serve } = require("./program.cjs");

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
  // The panel beside the frame scrolls; the frame stays.
  await page.evaluate(() => byId("box-x").closest("details").scrollIntoView());
  assert.equal((await rects(page, ["stage-box"]))["stage-box"].top, stage.top);
}

/* Nothing of the label of target 1 lies within its box, and all of it is on the canvas. */
async function aLabelDoesNotHideWhatItNames(page) {
  const { box, label, canvas } = await page.evaluate(() => {
    const { scale, left, top } = stage.place();
    const [x, y, w, h] = store.record(1, store.status.position).bbox.map((value) => value * scale);
    const unit = devicePixelRatio;
    const [px, py] = stage.labelPlace(store.record(1, store.status.position).bbox, 100 * unit, 18 * unit);
    const { width, height } = stage.canvas;
    return {
      box: [left + x, top + y, w, h], label: [left + px, top + py, 100 * unit, 18 * unit], canvas: [width, height],
    };
  });
  assert.ok(label[1] + label[3] <= box[1], `the label ends at ${label[1] + label[3]}, the box begins at ${box[1]}`);
  assert.ok(label[0] >= 0 && label[1] >= 0 && label[0] + label[2] <= canvas[0], `${label} on ${canvas}`);
  // It is drawn there, on the ground beside the frame.
  const dark = await page.evaluate(([x, y]) => {
    const [r, g, b, a] = stage.canvas.getContext("2d").getImageData(x + 2, y + 2, 1, 1).data;
    return a > 150 && r + g + b < 150;
  }, label.map(Math.round));
  assert.ok(dark, "the label is drawn in the margin");
}

async function aLowFrameHasAStageThatIsHighEnough(page) {
  const { "stage-box": stage } = await rects(page, ["stage-box"]);
  assert.ok(stage.height >= 120, JSON.stringify(stage));
  const middle = await page.evaluate(() => {
    const { scale, top } = stage.place();
    return (top + store.size[1] * scale / 2) / stage.canvas.height;
  });
  assert.ok(Math.abs(middle - 0.5) < 0.01, `the frame is in the middle: ${middle}`);
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

  const wide = path.join(folder, "wide");
  execFileSync(program, ["synth", "--out", wide, "--size", "2000x50", "--frames", "12", "--target", "60x30", "--seed",
    "5"]);
  const { child, url } = await serve(wide, "--init", "569,6.5,60,30");
  for (const [name, options] of [
    ["desktop", { viewport: { width: 1280, height: 720 } }],
    ["phone", { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 }],
    ["side", { viewport: { width: 844, height: 390 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 }],
  ]) {
    const page = await open(browser, url, options);
    await targets(page, 1);
    await page.evaluate(() => order({ do: "seek", position: 2 }));
    await standsAt(page, 2);
    await page.evaluate(() => order({ do: "seek", position: 1 }));
    await standsAt(page, 1);
    await until(page, () => store.record(1, 1)?.bbox);
    await aLowFrameHasAStageThatIsHighEnough(page);
    await aLabelDoesNotHideWhatItNames(page);
    await picture(page, `view-wide-${name}`);
    await violations(page, `a wide frame, ${name}`);
    assert.deepEqual(page.errors, []);
    await page.context().close();
  }
  console.log("odd shapes: a phone on its side has the frame beside the buttons, labels hide no box of a low frame");
  child.kill("SIGINT");
};
