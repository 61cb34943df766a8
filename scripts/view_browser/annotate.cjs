// The day of an annotator: handles, zoom, names, undo, the next doubtful frame, and a session that is opened again.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { boxes, draw, goTo, onScreen, open, picture, pull, save, standsAt, targets, until, violations } = require("./page.cjs");
const { FRAMES, folder, render, serve } = require("./program.cjs");

const near = (a, b, most = 1.5) => a.length === b.length && a.every((value, i) => Math.abs(value - b[i]) <= most);

module.exports = async function annotating(browser) {
  // A target that is hidden for a while.
  const scene = path.join(folder, "hidden");
  render(scene, "--set", "occlusion=1", "--set", `hold=${Math.round(FRAMES / 8)}`);
  const truth = fs.readFileSync(path.join(scene, "groundtruth_rect.txt"), "utf8").split("\n")[0].split(",").map(Number);
  const session = path.join(folder, "work.json");
  const begun = await serve(scene, "--session", session);
  const page = await open(browser, begun.url, { viewport: { width: 1280, height: 760 }, colorScheme: "light" });
  const given = (id = 1) => page.evaluate((id) => store.record(id, store.status.position).bbox, id);
  await draw(page, [truth[0] - 1, truth[1] - 1, truth[2], truth[3]]);

  // A corner and an edge; each makes a box, and undo takes it back.
  const [x, y, w, h] = await given();
  await pull(page, [x + w, y + h], [x + w + 20, y + h + 30]);
  await until(page, ([w, h]) => store.record(1, 1).bbox[2] > w + 10 && store.record(1, 1).bbox[3] > h + 20, [w, h]);
  assert.ok(near(await given(), [x, y, w + 20, h + 30]), `${await given()} after the corner`);
  await pull(page, [x, y + (h + 30) / 2], [x - 15, y + 10]);
  await until(page, (x) => store.record(1, 1).bbox[0] < x - 10, x);
  assert.ok(near(await given(), [x - 15, y, w + 35, h + 30]), `${await given()} after the edge`);
  await page.keyboard.press("Control+z");
  await until(page, (x) => store.record(1, 1).bbox[0] > x - 2, x);
  assert.ok(near(await given(), [x, y, w + 20, h + 30]));
  await page.click("#undo");
  await until(page, (w) => store.record(1, 1).bbox[2] < w + 2, w);
  assert.ok(near(await given(), [x, y, w, h]));
  await page.keyboard.press("Control+Shift+z");
  await until(page, (w) => store.record(1, 1).bbox[2] > w + 10, w);
  await page.keyboard.press("Control+y");
  await until(page, (x) => store.record(1, 1).bbox[0] < x - 10, x);
  assert.ok(near(await given(), [x - 15, y, w + 35, h + 30]), `${await given()} after redo`);
  assert.ok(await page.isDisabled("#redo"));
  for (const left of [2, 1]) {
    await page.keyboard.press("Control+z");
    await until(page, (left) => store.status.undo === left, left);
  }
  // A drag inside moves it, and an edge that lies beyond the frame is grasped in the margin.
  await pull(page, [x + w / 2, y + h / 2], [x + w / 2 + 12, y + h / 2 + 9]);
  await until(page, (x) => store.record(1, 1).bbox[0] > x + 10, x);
  assert.ok(near(await given(), [x + 12, y + 9, w, h]), `${await given()} after a move`);
  await page.evaluate(([w, h]) => order({ do: "give", target: 1, bbox: [-20, 60, w, h] }), [w, h]);
  await until(page, () => store.record(1, 1).bbox[0] < -10);
  await pull(page, [-20, 60], [10, 70]);
  await until(page, () => store.record(1, 1).bbox[0] > 0);
  assert.ok(near(await given(), [10, 70, w - 30, h - 10]), `${await given()} after an edge in the margin`);
  for (const left of [3, 2, 1]) {
    await page.keyboard.press("Control+z");
    await until(page, (left) => store.status.undo === left, left);
  }
  assert.ok(near(await given(), [x, y, w, h]), `${await given()} after undo`);
  console.log("annotate: handles change the box, a drag inside moves it, undo takes it back");

  // The wheel zooms about the pointer; Shift and a drag move; a box is drawn where it is seen.
  const [point] = await onScreen(page, [[200, 150]]);
  await page.mouse.move(...point);
  // A wheel is at whole pixels, which are seven times as large then.
  await page.mouse.wheel(0, -600);
  await until(page, () => stage.zoom > 5);
  const [still] = await onScreen(page, [[200, 150]]);
  assert.ok(near(still, point, 7), `${still} stays at ${point}`);
  await pull(page, [200, 150], [190, 145], "Shift");
  const [moved] = await onScreen(page, [[200, 150]]);
  assert.ok(moved[0] < still[0] - 20, `${moved} is left of ${still}`);
  await picture(page, "view-zoom");
  await page.keyboard.press("n");
  await draw(page, [215, 150, 18.5, 14.5]);
  assert.ok(near(await given(2), [215, 150, 18.5, 14.5], 0.5), `${await given(2)} while zoomed`);
  await page.keyboard.press("0");
  assert.equal(await page.evaluate(() => stage.zoom), 1);
  await page.keyboard.press("Delete");
  await targets(page, 1);
  await page.keyboard.press("Control+z");
  await targets(page, 2);
  await page.keyboard.press("Control+z");
  await targets(page, 1);
  console.log("annotate: a zoomed frame is drawn on; a removed target comes back");

  // Names and classes.
  await page.evaluate(() => select(1));
  await page.fill("#name", "Anna & co");
  await page.fill("#kind", "car");
  await page.press("#kind", "Enter");
  await until(page, () => store.targets.get(1).kind === "car" && store.targets.get(1).name === "Anna & co");
  assert.match(await page.textContent("#targets li"), /Anna & co, car/);
  // Another page names the target while the field is looked at.
  await page.focus("#name");
  await page.evaluate(() => order({ do: "name", target: 1, name: "Bea", class: "car" }));
  await until(page, () => store.targets.get(1).name === "Bea");
  await page.fill("#kind", "bus");
  await page.press("#kind", "Enter");
  await until(page, () => store.targets.get(1).kind === "bus");
  assert.equal(await page.evaluate(() => store.targets.get(1).name), "Bea");
  await page.fill("#name", "Anna & co");
  await page.press("#name", "Enter");

  // Where the target is hidden, it is doubtful.
  await page.selectOption("#speed", "");
  await page.click("#play");
  await standsAt(page, FRAMES);
  const doubtful = await page.evaluate(() => store.doubtful([1]));
  assert.ok(doubtful.length > 0 && doubtful.every(({ from, worst, until }) => from <= worst && worst <= until));
  await goTo(page, 1);
  for (const [key, all] of [[".", doubtful], [",", doubtful.slice(0, -1).reverse()]]) {
    for (const { worst } of all) {
      await page.keyboard.press(key);
      await standsAt(page, worst);
    }
  }
  await page.click("#spans-box summary");
  await until(page, (count) => document.querySelectorAll("#spans li").length === count, Math.min(doubtful.length, 100));
  console.log(`annotate: ${doubtful.length} doubtful stretches, the worst frames are ${doubtful.map(({ worst }) => worst).slice(0, 5)}`);
  await picture(page, "view-annotate");
  await violations(page, "annotating, light, 1280x760");

  // All formats are saved.
  for (const [format, begins] of [["json", "{"], ["coco", "{"], ["cvat", "<"], ["label-studio", "["], ["yolo", "PK"]]) {
    const { name, text } = await save(page, format);
    assert.ok(text.startsWith(begins), `${name}: ${text.slice(0, 20)}`);
    if (format === "coco") assert.ok(JSON.parse(text).images.every(({ file_name: file }) => file), "COCO names its files");
  }
  // Fewer keyframes with a tolerance, all frames without one; a zip with the pictures.
  const count = async (tolerance) => (await save(page, "cvat", { tolerance })).text.split("<box ").length;
  const [all, few] = [await count(0), await count(5)];
  assert.ok(few < all / 2, `${few} of ${all}`);
  const zip = await save(page, "coco", { pictures: true });
  assert.match(zip.name, /coco\.zip$/);
  assert.ok(zip.text.startsWith("PK") && zip.text.includes("labels.json") && zip.text.includes("images/"));
  const before = await boxes(page, 1);
  const left = await page.evaluate(() => store.status.position);
  assert.ok(left > 1);
  await page.context().close();
  begun.child.kill("SIGINT");
  await new Promise((resolve) => begun.child.on("exit", resolve));

  // The next start goes on where this one has ended.
  assert.equal(JSON.parse(fs.readFileSync(session, "utf8")).schema, "kcf-track/3");
  const again = await serve(scene, "--session", session);
  const other = await open(browser, again.url, { viewport: { width: 1280, height: 760 }, colorScheme: "dark" });
  await targets(other, 1);
  await standsAt(other, left);
  assert.deepEqual(await boxes(other, 1), before);
  assert.deepEqual(await other.evaluate(() => [store.targets.get(1).name, store.status.undo]), ["Anna & co", 0]);
  await other.evaluate(() => select(1));
  await picture(other, "view-resumed");
  assert.deepEqual([...page.errors, ...other.errors], []);
  again.child.kill("SIGINT");
  await other.context().close();
  console.log("annotate: a session is opened again with every box");
};
