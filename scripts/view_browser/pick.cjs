// The page that only asks for a first box.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { drag, open, says, until, violations } = require("./page.cjs");
const { PRESET, folder, scene, started } = require("./program.cjs");

module.exports = async function byPick(browser) {
  const out = path.join(folder, "picked.json");
  const { child, url } = await started("pick", ["--pick", scene, "--end", "3", "-q", "--preset", PRESET, "--json", out]);
  const page = await open(browser, url, { viewport: { width: 1280, height: 720 } });
  await page.keyboard.press("?");
  await page.waitForSelector("dialog[open]");
  assert.deepEqual(await page.$$eval("#keys kbd", (keys) => keys.map((key) => key.textContent)),
    ["Enter", "B", "Escape", "?", "F1"]);
  await violations(page, "shortcuts of the first box");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Enter");
  await says(page, "drag a box around the target first");
  await drag(page, [170, 120, 60, 80]);
  await until(page, () => stage.draft);
  const [hint, frame] = await page.evaluate(() => ["hint", "stage"].map((id) => byId(id).getBoundingClientRect().toJSON()));
  assert.ok(hint.width > 0 && hint.left >= frame.right, "the hint stands beside the frame");
  const ended = new Promise((resolve) => child.on("exit", resolve));
  await page.keyboard.press("Enter");
  assert.equal(await ended, 0);
  assert.equal(JSON.parse(fs.readFileSync(out)).frames.length, 3);
  // The page asks on while the program ends: no answer, or that the view has ended.
  assert.deepEqual(page.errors.filter((error) => !/ERR_CONNECTION|status of 503/.test(error)), []);
  console.log("a first box: the keys that are listed work");
  await page.context().close();
};
