// Two targets on one time axis, and buttons that a finger hits.
"use strict";

const assert = require("node:assert/strict");
const { open, picture, standsAt, targets, until } = require("./page.cjs");
const { FRAMES, scene, serve } = require("./program.cjs");

const SECOND = Math.round(FRAMES / 4);

/* Where the middle of the slider's thumb is on the screen; the thumb is 16 px wide. */
const thumb = (page) => page.evaluate(() => {
  const rect = byId("seek").getBoundingClientRect();
  const { min, max, value } = byId("seek");
  return rect.left + 8 + (rect.width - 16) * (value - min) / (max - min);
});

/* Where the curve has a position on the screen. */
const onCurve = (page, position) => page.evaluate((position) =>
  curve.canvas.getBoundingClientRect().left + curve.x(position) / devicePixelRatio, position);

/* The targets whose colour the curve has at the height of its marks, within 2 px of a position. */
const marksAt = (page, position) => page.evaluate((position) => {
  const ratio = devicePixelRatio;
  const left = Math.round(curve.x(position) - 2 * ratio);
  const { data } = curve.base.getContext("2d").getImageData(left, Math.round(3 * ratio), Math.round(4 * ratio), 1);
  const hex = (i) => `#${[...data.slice(i, i + 3)].map((value) => value.toString(16).padStart(2, "0")).join("")}`;
  const colours = new Set(Array.from({ length: data.length / 4 }, (_, i) => hex(4 * i)));
  return [...store.targets.keys()].filter((id) => colours.has(sign(id)));
}, position);

async function theSliderAndTheCurveHaveOneAxis(page) {
  for (const position of [1, SECOND, FRAMES]) {
    await page.evaluate((position) => order({ do: "seek", position }), position);
    await standsAt(page, position);
    const [slider, line] = [await thumb(page), await onCurve(page, position)];
    assert.ok(Math.abs(slider - line) < 1.5, `frame ${position}: the slider is at ${slider}, the curve at ${line}`);
  }
}

async function eachTargetHasAMarkWhereItBegins(page) {
  await until(page, () => curve.base.width > 0);
  assert.deepEqual(await marksAt(page, 1), [1]);
  assert.deepEqual(await marksAt(page, SECOND), [2]);
  assert.deepEqual(await marksAt(page, SECOND * 2), []);
}

async function aFingerHitsEveryButton(page) {
  const small = await page.evaluate(() => [...document.querySelectorAll("button, select")].map((button) => {
    const { width, height } = button.getBoundingClientRect();
    return [button.id, width, height];
  }).filter(([, width, height]) => width > 0 && Math.min(width, height) < 44));
  assert.deepEqual(small, []);
}

module.exports = async function ofTheAxis(browser) {
  const { child, url } = await serve(scene, "--init", "170,120,60,80", "--init", `${SECOND}:400,300,70,60`);
  for (const [width, height] of [[1280, 720], [400, 800]]) {
    const page = await open(browser, url, { viewport: { width, height }, colorScheme: "light" });
    await targets(page, 2);
    await theSliderAndTheCurveHaveOneAxis(page);
    await eachTargetHasAMarkWhereItBegins(page);
    await aFingerHitsEveryButton(page);
    await picture(page, `view-axis-${width}`);
    assert.deepEqual(page.errors, []);
    await page.context().close();
  }
  console.log("axis: slider, curve and marks agree; every button is at least 44 px wide and high");
  child.kill("SIGINT");
};
