// Many targets, one of them with the number 0, of a source whose name is of no Latin letters.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { open, picture, save, standsAt, targets, until, violations } = require("./page.cjs");
const { folder, scene, serve } = require("./program.cjs");

/* The buttons for the selected target are seen without scrolling the page. */
async function theButtonsForTheSelectedTargetStayInReach(page) {
  await page.evaluate(() => select(29));
  const at = await page.evaluate(() => {
    const rect = (element) => element.getBoundingClientRect().toJSON();
    const row = document.querySelector('#targets [data-id="29"]');
    return { actions: rect(byId("actions")), list: rect(byId("targets")), row: rect(row), high: innerHeight };
  });
  assert.ok(at.actions.bottom <= at.high, `${JSON.stringify(at.actions)} of ${at.high}`);
  assert.ok(at.row.top >= at.list.top && at.row.bottom <= at.list.bottom, "the list shows the selected target");
}

/* On a phone the buttons are where the list ends, which is less than half a window long. */
async function aLongListIsScrolledByItself(page) {
  const [list, all] = await page.evaluate(() => [byId("targets").clientHeight, byId("targets").scrollHeight]);
  assert.ok(list <= 844 / 2 && all > list, `${list} of ${all}`);
}

/* Labels stand side by side, twelve colours follow each other, and each target has a strip, of which the selected is seen. */
async function manyTargetsAreToldApart(page) {
  const [labels, high, signs] = await page.evaluate(() => [stage.labels, 18 * devicePixelRatio, [...store.targets.keys()].map(sign)]);
  assert.equal(labels.length, 30);
  const covers = ([ax, ay, aw], [bx, by, bw]) => ax < bx + bw && bx < ax + aw && ay < by + high && by < ay + high;
  assert.ok(labels.every((a, i) => labels.every((b, k) => i === k || !covers(a, b))), JSON.stringify(labels));
  assert.equal(new Set(signs).size, 12);
  const strips = await page.evaluate(() => {
    const [box, row] = [byId("strips-box"), [...store.targets.keys()].indexOf(29)];
    return { top: box.scrollTop, high: box.clientHeight, at: row * STRIP, all: box.scrollHeight };
  });
  assert.ok(strips.at >= strips.top && strips.at + 10 <= strips.top + strips.high && strips.all > 300, JSON.stringify(strips));
}

async function theResponseOfTargetZeroIsShown(page) {
  await page.evaluate(() => select(0));
  await page.check("#heat");
  await until(page, () => stage.heat && store.map.target === 0);
}

async function aNameKeepsItsLettersWhateverTheirScript(page) {
  const { name } = await save(page, "mot");
  assert.equal(name, "犬_été-मछली_2-mot.txt");
}

module.exports = async function ofMany(browser) {
  const row = (id) => `${id},1,${20 + (id % 6) * 100},${20 + Math.floor(id / 6) * 90},40,40`;
  const rows = Array.from({ length: 30 }, (_, id) => row(id));
  const list = path.join(folder, "many.csv");
  fs.writeFileSync(list, rows.join("\n"));
  const named = path.join(folder, "犬 & été-मछली_2");
  fs.symlinkSync(scene, named);
  const { child, url } = await serve(named, "--init-file", list, "--end", "3");
  const page = await open(browser, url, { viewport: { width: 1280, height: 720 }, colorScheme: "light" });
  await targets(page, 30);
  await page.click("#on");
  await standsAt(page, 2);
  await theButtonsForTheSelectedTargetStayInReach(page);
  await manyTargetsAreToldApart(page);
  await picture(page, "view-many");
  await violations(page, "30 targets");
  await theResponseOfTargetZeroIsShown(page);
  await aNameKeepsItsLettersWhateverTheirScript(page);
  const phone = await open(browser, url, {
    viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2, colorScheme: "dark",
  });
  await aLongListIsScrolledByItself(phone);
  await violations(phone, "30 targets, phone");
  assert.deepEqual([...page.errors, ...phone.errors], []);
  console.log("many targets: the buttons are in reach, target 0 has its response, names keep their letters");
  for (const each of [page, phone]) await each.context().close();
  child.kill("SIGINT");
};
