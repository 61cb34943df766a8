// A page in the browser: opened, dragged on, waited for, looked at.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { pictures } = require("./program.cjs");

const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
// The page's files from this folder in the place of those in the program: to work on the page without a build.
const assets = process.env.VIEW_ASSETS;
const PROGRAM = ["store", "wire", "boxes", "stage", "hands", "curve", "panel", "doubts", "dialogs", "edits", "keys", "main"];

async function open(browser, url, options) {
  const context = await browser.newContext({ acceptDownloads: true, ...options });
  const page = await context.newPage();
  page.errors = [];
  page.on("pageerror", (error) => page.errors.push(String(error)));
  page.on("console", (message) => message.type() === "error" && page.errors.push(message.text()));
  if (assets) {
    const read = (name) => fs.readFileSync(path.join(assets, name), "utf8");
    const own = {
      "/": ["text/html", () => read("index.html")],
      "/view.css": ["text/css", () => read("view.css")],
      "/view.js": ["text/javascript", () => PROGRAM.map((name) => read(`${name}.js`)).join("")],
    };
    await page.route((at) => at.pathname in own, (route) => {
      const [contentType, body] = own[new URL(route.request().url()).pathname];
      route.fulfill({ contentType, body: body() });
    });
  }
  await page.goto(url);
  await until(page, () => store.status?.position >= 1 && stage.image);
  return page;
}

/* Where a point of the frame is on the screen. */
const onScreen = (page, points) => page.evaluate((points) => {
  const rect = stage.canvas.getBoundingClientRect();
  const { scale, left, top } = stage.place();
  const ratio = stage.canvas.width / rect.width;
  return points.map(([x, y]) => [rect.left + (left + x * scale) / ratio, rect.top + (top + y * scale) / ratio]);
}, points);

async function drag(page, [x, y, w, h]) {
  const [from, to] = await onScreen(page, [[x, y], [x + w, y + h]]);
  await page.mouse.move(...from);
  await page.mouse.down();
  await page.mouse.move((from[0] + to[0]) / 2, to[1], { steps: 3 });
  await page.mouse.move(...to, { steps: 3 });
  await page.mouse.up();
}

async function touchDrag(page, [x, y, w, h]) {
  const [from, to] = await onScreen(page, [[x, y], [x + w, y + h]]);
  const session = await page.context().newCDPSession(page);
  const touch = (type, point) => session.send("Input.dispatchTouchEvent", {
    type, touchPoints: point ? [{ x: point[0], y: point[1] }] : [],
  });
  await touch("touchStart", from);
  for (const share of [0.3, 0.7, 1]) await touch("touchMove", from.map((v, i) => v + (to[i] - v) * share));
  await touch("touchEnd");
}

/* Two fingers that move apart, and what the page makes of that. */
async function pinch(page, points) {
  const [from, to] = await onScreen(page, points);
  const session = await page.context().newCDPSession(page);
  const touch = (type, points) => session.send("Input.dispatchTouchEvent", {
    type, touchPoints: points.map(([x, y], id) => ({ x, y, id })),
  });
  await touch("touchStart", [from]);
  await touch("touchStart", [from, to]);
  for (const by of [10, 20, 40]) {
    await touch("touchMove", [from.map((value) => value - by), to.map((value) => value + by)]);
  }
  // One more comes, and moves alone.
  for (const by of [0, 10, 20, 40]) {
    await touch(by ? "touchMove" : "touchStart", [from, to, [from[0] + by, to[1] + by]]);
  }
  await touch("touchEnd", []);
  await page.waitForTimeout(200);
}

/* Waits until something holds on the page. */
const until = (page, holds, what) => page.waitForFunction(holds, what, { timeout: 120000, polling: 50 });
const targets = (page, count) => until(page, (count) => store.targets.size === count, count);
const standsAt = (page, position) =>
  until(page, (position) => store.status.position === position && !store.status.playing, position);
const boxes = (page, id) => page.evaluate((id) => {
  const records = [...(store.targets.get(id)?.records ?? [])];
  return records.sort(([a], [b]) => a - b).map(([position, record]) => [position, ...record.bbox]);
}, id);

async function download(page, button) {
  const [got] = await Promise.all([page.waitForEvent("download"), page.click(button)]);
  return { name: got.suggestedFilename(), text: fs.readFileSync(await got.path(), "utf8") };
}

/* Saves the labels in a format. */
async function save(page, format, options = {}) {
  await page.keyboard.press("Control+s");
  await page.waitForSelector("#export[open]");
  await page.selectOption("#format", format);
  for (const [id, value] of Object.entries(options)) await page[value === true ? "check" : "fill"](`#${id}`, String(value));
  const got = await download(page, "#save");
  for (const [id, value] of Object.entries(options)) await page.evaluate(([id, value]) => { byId(id).checked = value; }, [id, false]);
  return got;
}

async function violations(page, what) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  const said = found.violations.map((rule) => `${rule.id}: ${rule.nodes.map((node) => node.html).join(" | ")}`);
  assert.deepEqual(said, [], `axe: ${what}`);
  console.log(`axe: ${what}: no violation, ${found.passes.length} rules passed`);
}

async function picture(page, name) {
  if (pictures) await page.screenshot({ path: path.join(pictures, `${name}.png`) });
}

/* Draws a target, and leaves its Name, which then has the focus. */
async function draw(page, box) {
  const count = await page.evaluate(() => store.targets.size);
  await drag(page, box);
  await targets(page, count + 1);
  await until(page, () => stage.selected !== null && document.activeElement.id === "name");
  await page.keyboard.press("Escape");
}

/* Shows a frame. */
async function goTo(page, position) {
  await page.evaluate((position) => order({ do: "seek", position }), position);
  await standsAt(page, position);
}

/* Drags from one point of the frame to another one. */
async function pull(page, from, to, key = null) {
  const [a, b] = await onScreen(page, [from, to]);
  if (key) await page.keyboard.down(key);
  await page.mouse.move(...a);
  await page.mouse.down();
  await page.mouse.move(...b, { steps: 4 });
  await page.mouse.up();
  if (key) await page.keyboard.up(key);
}

/* The page's message, and whether it is an error. */
const said = (page) => page.evaluate(() => [byId("said").textContent, byId("said").classList.contains("wrong")]);
const says = (page, words) => until(page, (words) => byId("said").textContent.includes(words), words);

module.exports = {
  boxes, download, drag, draw, goTo, onScreen, open, picture, pinch, pull, said, save, says, standsAt, targets, touchDrag,
  until, violations,
};
