// Touch, on a phone.
"use strict";

const assert = require("node:assert/strict");
const { boxes, open, picture, pinch, targets, touchDrag, until, violations } = require("./page.cjs");
const { scene, serve, track } = require("./program.cjs");

module.exports = async function byTouch(browser) {
  const { child, url } = await serve(scene);
  const page = await open(browser, url, {
    viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2, colorScheme: "dark",
  });
  await pinch(page, [[150, 100], [220, 160]]);
  assert.equal(await page.evaluate(() => store.targets.size), 0, "two fingers draw no box");
  await touchDrag(page, [170, 120, 60, 80]);
  await targets(page, 1);
  const given = (await boxes(page, 1))[0].slice(1);
  await page.tap("#play");
  await until(page, () => store.status.position >= 10);
  await page.tap("#play");
  await until(page, () => !store.status.playing);
  const end = await page.evaluate(() => store.status.position);
  assert.deepEqual(await boxes(page, 1), track(1, given, end));
  console.log("touch: the boxes equal the command line's");
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing is cut off");
  const low = await page.evaluate(() => ["stage-box", "curve-box", "back", "play", "on", "doubtful"].map((id) =>
    byId(id).getBoundingClientRect().bottom));
  assert.ok(low.every((bottom) => bottom <= 800), `${low}: the frame, the time line and the buttons fit`);
  await violations(page, "phone, 390x844");
  await picture(page, "view-phone");
  assert.deepEqual(page.errors, []);
  await page.context().close();
  child.kill("SIGINT");
};
