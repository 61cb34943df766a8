// Changes during a drag, and missing frames.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { draw, onScreen, open, said, save, says, standsAt, targets, until } = require("./page.cjs");
const { FRAMES, folder, scene, serve } = require("./program.cjs");

module.exports = async function byAccident(browser) {
  const broken = path.join(folder, "broken");
  fs.cpSync(scene, broken, { recursive: true });
  const files = fs.readdirSync(broken, { recursive: true });
  const third = files.filter((name) => /\.(png|jpg|pgm|bmp)$/.test(name)).sort()[2];
  fs.writeFileSync(path.join(broken, third), "no picture");
  const { child, url } = await serve(broken);
  const page = await open(browser, url, { viewport: { width: 1280, height: 720 } });
  await draw(page, [170, 120, 60, 80]);

  // An unreadable frame shows no picture of another frame.
  await page.evaluate(() => order({ do: "step", by: 2 }));
  await standsAt(page, 3);
  await until(page, () => stage.image === null);
  await page.evaluate(() => order({ do: "step", by: 1 }));
  await standsAt(page, 4);
  await until(page, () => stage.image !== null);

  // A drag is of the frame and the target that it began with.
  const begin = async () => {
    const [from, to] = await onScreen(page, [[300, 200], [360, 260]]);
    await page.mouse.move(...from);
    await page.mouse.down();
    await page.mouse.move(...to, { steps: 3 });
  };
  await begin();
  await page.keyboard.press("ArrowRight");
  await standsAt(page, 5);
  await page.mouse.up();
  const gone = "the box was begun in frame 4, which is not shown any more: draw it again";
  assert.deepEqual(await said(page), [gone, true]);
  await page.evaluate(() => select(1));
  await page.keyboard.down("Control");
  await begin();
  await page.keyboard.up("Control");
  await page.evaluate(() => order({ do: "remove", target: 1 }));
  await targets(page, 0);
  await page.mouse.up();
  assert.deepEqual(await said(page), ["target 1 was removed while the box was drawn: draw it again", true]);
  await page.evaluate(() => order({ do: "seek", position: 4 }));
  await standsAt(page, 4);
  assert.equal(await page.evaluate(() => store.targets.size), 0);
  // One that begins while frames go by is of the frame that they stop at.
  await page.evaluate(() => order({ do: "play" }));
  await until(page, () => store.status.playing && store.status.position > 8);
  await begin();
  await until(page, () => !store.status.playing);
  await page.mouse.up();
  await targets(page, 1);

  // The response and a selection leave catching up as it is; the save dialog says which targets are not followed to the end.
  await until(page, () => document.activeElement.id === "name");
  await page.keyboard.press("Escape");
  await page.evaluate((at) => order({ do: "seek", position: at }), FRAMES - 10);
  await standsAt(page, FRAMES - 10);
  await save(page, "json");
  await says(page, "is followed to frame");
  assert.match((await said(page))[0], /target 2 is followed to frame \d+ only: play on first/);
  await page.click("#heat");
  await page.keyboard.press("Space");
  await until(page, (at) => store.status.catching_up || store.status.position > at, FRAMES - 10);
  await page.evaluate(() => select(2));
  await standsAt(page, FRAMES);
  await until(page, () => stage.heat && stage.selected === 2);
  await page.click("#heat");
  await until(page, () => !stage.heat);
  await page.click("#heat");
  await until(page, () => stage.heat);

  // A program that answers again is not said to be silent.
  assert.deepEqual(page.errors, []);
  await page.route("**/news**", (route) => route.abort());
  await page.evaluate(() => asking.end.abort());
  await says(page, "does not answer");
  await page.unroute("**/news**");
  await says(page, "answers again");
  assert.equal((await said(page))[1], false);

  for (const [width, height, least] of [[320, 640, 200], [844, 390, 240]]) {
    await page.setViewportSize({ width, height });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${width} is wide enough`);
    const high = await page.evaluate(() => stage.canvas.clientHeight);
    assert.ok(high >= least, `at ${width}x${height} the frame is ${high} high`);
  }
  console.log("accidents: what changes under one's hands changes nothing else");
  await page.context().close();
  child.kill("SIGINT");
};
