// The live view in a real browser; see view_browser.sh, which runs it.
"use strict";

const assert = require("node:assert/strict");
const { execFileSync, spawn } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { chromium } = require("playwright-core");
const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const [program, pictures] = process.argv.slice(2);
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "kcf-track-view-"));
const scene = path.join(folder, "scene");
const FRAMES = 240;
const PRESET = process.env.VIEW_PRESET ?? "robust";
// The page's files from this folder in the place of those in the program: to work on the page without a build.
const assets = process.env.VIEW_ASSETS;
const PROGRAM = ["store", "stage", "curve", "panel", "main"];
const running = [];

function serve(frames, ...more) {
  const child = spawn(program, ["view", frames, "--port", "0", "--preset", PRESET, ...more]);
  running.push(child);
  return new Promise((resolve, reject) => {
    let said = "";
    child.stderr.on("data", (data) => {
      said += data;
      const url = said.match(/^view: (\S+)$/m);
      if (url) resolve({ child, url: url[1] });
    });
    child.on("exit", () => reject(new Error(said)));
  });
}

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

/* Waits until something holds on the page. */
const until = (page, holds, what) => page.waitForFunction(holds, what, { timeout: 120000, polling: 50 });
const targets = (page, count) => until(page, (count) => store.targets.size === count, count);
const standsAt = (page, position) =>
  until(page, (position) => store.status.position === position && !store.status.playing, position);
const boxes = (page, id) => page.evaluate((id) => {
  const records = [...(store.targets.get(id)?.records ?? [])];
  return records.sort(([a], [b]) => a - b).map(([position, record]) => [position, ...record.bbox]);
}, id);

/* What the command line finds. */
function track(start, box, end) {
  const out = path.join(folder, "plain.json");
  execFileSync(program, ["--seq", scene, "--preset", PRESET, "-q", "--start", `${start}`, "--end", `${end}`, "--init",
    box.join(","), "--json", out]);
  return JSON.parse(fs.readFileSync(out)).frames.map((frame) => [frame.index, ...frame.bbox]);
}

async function download(page, button) {
  const [got] = await Promise.all([page.waitForEvent("download"), page.click(button)]);
  return { name: got.suggestedFilename(), text: fs.readFileSync(await got.path(), "utf8") };
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

/* Mouse: two targets, playing, a correction, an end, a removal, downloads. */
async function byMouse(browser) {
  const { child, url } = await serve(scene, "--jsonl", path.join(folder, "view.jsonl"));
  const page = await open(browser, url, { viewport: { width: 1280, height: 720 }, colorScheme: "light" });
  await picture(page, "view-begin");
  const truth = fs.readFileSync(path.join(scene, "groundtruth_rect.txt"), "utf8").split("\n")[0].split(",").map(Number);
  await drag(page, [truth[0] - 1, truth[1] - 1, truth[2], truth[3]]);
  await targets(page, 1);
  await drag(page, [400, 300, 70, 60]);
  await targets(page, 2);
  const first = (await boxes(page, 1))[0].slice(1);
  const second = (await boxes(page, 2))[0].slice(1);
  assert.ok(first.every((value, i) => Math.abs(value - (truth[i] - (i < 2))) < 1.5), `${first} is where was dragged`);

  // The time between two frames on the page, while it plays at the source's 30 frames a second.
  await page.evaluate(() => {
    window.times = [];
    const draw = stage.draw;
    let last = 0;
    stage.draw = function () {
      draw.call(this);
      if (store.status.position !== last) window.times.push(performance.now());
      last = store.status.position;
    };
  });
  await page.keyboard.press("Space");
  await until(page, () => store.status.playing);
  await standsAt(page, FRAMES);
  const times = await page.evaluate(() => window.times);
  const gaps = times.slice(1).map((time, i) => time - times[i]).sort((a, b) => a - b);
  const at = (share) => gaps[Math.floor(share * (gaps.length - 1))].toFixed(1);
  console.log(`frames on the page: ${times.length} of ${FRAMES}, every ${at(0.5)} ms (median), ${at(0.95)} ms (95 %)`);
  assert.deepEqual(await boxes(page, 1), track(1, first, FRAMES));
  assert.deepEqual(await boxes(page, 2), track(1, second, FRAMES));
  console.log("mouse: the boxes of two targets equal the command line's");
  await violations(page, "light, 1280x720");
  await picture(page, "view-light");

  // A correction: what was before it stays, what comes after it is followed anew.
  const before = await boxes(page, 1);
  await page.evaluate(() => order({ do: "seek", position: 100 }));
  await standsAt(page, 100);
  await page.keyboard.press("1");
  const [x, y, w, h] = before[99].slice(1);
  await drag(page, [x + 5, y + 4, w, h]);
  await until(page, () => store.mark(1, 100) === true);
  const given = (await boxes(page, 1))[99].slice(1);
  await page.click("#play");
  await until(page, () => store.status.playing && store.status.position > 110);
  await page.keyboard.press("Space");
  await until(page, () => !store.status.playing);
  await page.selectOption("#speed", "");
  await page.click("#play");
  await standsAt(page, FRAMES);
  assert.deepEqual(await boxes(page, 1), [...before.slice(0, 99), ...track(100, given, FRAMES)]);
  assert.deepEqual(await boxes(page, 2), track(1, second, FRAMES));
  console.log("mouse: a correction keeps what was before it and equals the command line after it");

  await page.keyboard.press("r");
  await until(page, () => stage.heat);
  await page.keyboard.press("ArrowLeft");
  await standsAt(page, FRAMES - 1);
  await picture(page, "view-response");
  const json = JSON.parse((await download(page, "#save-json")).text);
  assert.equal(json.frames.length, 2 * FRAMES);
  const mot = (await download(page, "#save-mot")).text.trim().split("\n");
  assert.equal(mot.length, 2 * FRAMES);
  const otb = await download(page, "#save-otb");
  assert.equal(otb.text.trim().split("\n").length, FRAMES);
  console.log(`downloads: ${json.schema}, ${mot.length} MOT rows, ${otb.name}`);
  await page.keyboard.press("2");
  await page.keyboard.press("Delete");
  await targets(page, 1);
  await page.keyboard.press("1");
  await page.evaluate(() => order({ do: "seek", position: 200 }));
  await standsAt(page, 200);
  await page.keyboard.press("e");
  await until(page, () => store.mark(1, 200) === false);
  assert.equal((await boxes(page, 1)).length, 199);
  await page.keyboard.press("u");
  await until(page, () => store.mark(1, 200) === undefined);
  await page.keyboard.press("?");
  await page.waitForSelector("dialog[open]");
  await violations(page, "shortcuts");
  await picture(page, "view-keys");
  await page.keyboard.press("Escape");

  // Another page sees the same; one that is killed harms nobody.
  const other = await open(browser, url, { viewport: { width: 1280, height: 720 }, colorScheme: "dark" });
  assert.deepEqual(await boxes(other, 1), await boxes(page, 1));
  await page.context().close();
  await other.keyboard.press("1");
  await other.click("#play");
  await standsAt(other, FRAMES);
  await violations(other, "dark, 1280x720");
  await other.evaluate(() => order({ do: "seek", position: 180 }));
  await standsAt(other, 180);
  await picture(other, "view-dark");
  assert.deepEqual([...page.errors, ...other.errors], []);
  const last = await boxes(other, 1);
  child.kill("SIGINT");
  const code = await new Promise((resolve) => child.on("exit", resolve));
  assert.equal(code, 130);
  const text = fs.readFileSync(path.join(folder, "view.jsonl"), "utf8").trim();
  const lines = text.split("\n").map((line) => JSON.parse(line));
  assert.deepEqual(lines.map((line) => [line.index, ...line.bbox]), last);
  console.log(`--jsonl: ${lines.length} lines, in order`);
  await other.context().close();
}

/* Touch, on a phone. */
async function byTouch(browser) {
  const { child, url } = await serve(scene);
  const page = await open(browser, url, {
    viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2, colorScheme: "dark",
  });
  await touchDrag(page, [170, 120, 60, 80]);
  await targets(page, 1);
  const given = (await boxes(page, 1))[0].slice(1);
  await page.tap("#play");
  await until(page, () => store.status.position >= 40);
  await page.tap("#play");
  await until(page, () => !store.status.playing);
  const end = await page.evaluate(() => store.status.position);
  assert.deepEqual(await boxes(page, 1), track(1, given, end));
  console.log("touch: the boxes equal the command line's");
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing is cut off");
  await violations(page, "phone, 390x844");
  await picture(page, "view-phone");
  assert.deepEqual(page.errors, []);
  await page.context().close();
  child.kill("SIGINT");
}

async function main() {
  execFileSync(program, ["synth", "--out", scene, "--size", "640x480", "--frames", `${FRAMES}`, "--target", "60x80",
    "--seed", "5"]);
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync"],
  });
  try {
    await byMouse(browser);
    await byTouch(browser);
  } finally {
    await browser.close();
  }
}

main()
  .then(() => console.log("the view holds"))
  .catch((error) => {
    console.error(error);
    process.exitCode = 1;
  })
  .finally(() => {
    running.forEach((child) => child.kill());
    fs.rmSync(folder, { recursive: true, force: true });
  });
