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

const serve = (frames, ...more) => started("view", ["view", frames, "--port", "0", "--preset", PRESET, ...more]);

/* A program that prints an address behind a word. */
function started(word, args) {
  const child = spawn(program, args);
  running.push(child);
  return new Promise((resolve, reject) => {
    let said = "";
    child.stderr.on("data", (data) => {
      said += data;
      const url = said.match(new RegExp(`^${word}: (\\S+)$`, "m"));
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

const said = (page) => page.evaluate(() => [byId("said").textContent, byId("said").classList.contains("wrong")]);
const says = (page, words) => until(page, (words) => byId("said").textContent.includes(words), words);

/* Keys do what the list says wherever the focus is, but for the fields that are written in. */
async function byKeys(browser) {
  const { child, url } = await serve(scene);
  const page = await open(browser, url, { viewport: { width: 1280, height: 720 } });
  const position = () => page.evaluate(() => store.status.position);
  const selected = () => page.evaluate(() => stage.selected);
  const focus = () => page.evaluate(() => document.activeElement.id);
  await drag(page, [170, 120, 60, 80]);
  await targets(page, 1);

  // The slider and Speed give the keys back once a pointer has changed them.
  await page.click("#seek");
  await until(page, () => store.status.position > 50 && !panel.seeking);
  assert.equal(await focus(), "");
  await page.evaluate(() => order({ do: "seek", position: 2 }));
  await standsAt(page, 2);
  await page.focus("#speed");
  for (const key of ["4", "1", "0"]) await page.keyboard.press(key);
  assert.equal(await page.inputValue("#speed"), "1");
  assert.equal(await selected(), 1);
  await page.keyboard.press("Escape");
  assert.equal(await focus(), "");
  assert.equal(await selected(), 1, "Escape has left the field, and nothing else");

  // Space plays after a click on a button, and presses one that was reached by a key.
  await page.click("#trails");
  await page.keyboard.press("Space");
  await until(page, () => store.status.playing);
  assert.equal(await page.isChecked("#trails"), false);
  await page.keyboard.press("Space");
  await until(page, () => !store.status.playing);
  await page.focus("#speed");
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  assert.equal(await focus(), "trails");
  await page.keyboard.press("Space");
  assert.equal(await page.isChecked("#trails"), true);
  assert.equal(await page.evaluate(() => store.status.playing), false);

  // With caps lock.
  const [got] = await Promise.all([page.waitForEvent("download"), page.keyboard.press("J")]);
  assert.match(got.suggestedFilename(), /json$/);

  // The numbers follow what is selected and shown, until they are changed.
  await page.evaluate(() => order({ do: "seek", position: 1 }));
  await standsAt(page, 1);
  const numbers = () => page.$$eval("#box-form input", (fields) => fields.map((field) => Number(field.value)));
  const shown = () => page.evaluate(() => store.record(1, store.status.position).bbox);
  const near = (a, b) => a.every((value, i) => Math.abs(value - b[i]) < 0.01);
  await page.keyboard.press("Escape");
  await until(page, () => stage.selected === null);
  await page.keyboard.press("b");
  assert.deepEqual(await numbers(), [240, 180, 160, 120]);
  await page.keyboard.press("Escape");
  await page.keyboard.press("1");
  assert.ok(near(await numbers(), await shown()), "the selected target's box");
  await page.keyboard.press("ArrowRight");
  await standsAt(page, 2);
  assert.ok(near(await numbers(), await shown()), "the box of the frame at hand");
  assert.equal(await page.textContent("#box-give"), "Give target 1 this box");
  await page.fill("#box-x", "33");
  await page.keyboard.press("2");
  await page.keyboard.press("Escape");
  await page.keyboard.press("ArrowRight");
  await standsAt(page, 3);
  assert.equal((await numbers())[0], 332, "what was typed stays");
  assert.equal(await selected(), 1, "digits in a field select nothing");

  // Enter gives a box once.
  await page.keyboard.press("n");
  await page.keyboard.press("b");
  await page.keyboard.press("Enter");
  await targets(page, 2);
  await page.keyboard.press("Enter");
  await page.keyboard.press("ArrowRight");
  await standsAt(page, 4);
  assert.equal(await page.evaluate(() => store.targets.size), 2);
  await page.focus("#box-y");
  await drag(page, [300, 300, 3, 40]);
  await targets(page, 3);
  await says(page, "3x40 pixels: below about 6");
  assert.equal(await focus(), "", "a drag on the frame takes the keys out of a field");

  // Where nothing is selected, a key that needs that says so.
  for (const key of ["e", "u", "o", "Delete"]) {
    await page.evaluate(() => { select(null); panel.say(""); });
    await page.keyboard.press(key);
    await says(page, "select a target first");
  }
  assert.equal(await page.evaluate(() => store.targets.size), 3);
  assert.deepEqual(page.errors, []);
  console.log("keys: they do what the list says, wherever the focus is");
  await page.context().close();
  child.kill("SIGINT");
}

/* What changes under one's hands, and what is not there. */
async function byAccident(browser) {
  const broken = path.join(folder, "broken");
  fs.cpSync(scene, broken, { recursive: true });
  const files = fs.readdirSync(broken, { recursive: true });
  const third = files.filter((name) => /\.(png|jpg|pgm|bmp)$/.test(name)).sort()[2];
  fs.writeFileSync(path.join(broken, third), "no picture");
  const { child, url } = await serve(broken);
  const page = await open(browser, url, { viewport: { width: 1280, height: 720 } });
  await drag(page, [170, 120, 60, 80]);
  await targets(page, 1);

  // Of a frame that could not be read no other frame's picture is shown.
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
  await page.keyboard.press("1");
  await begin();
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

  // The response and a selection leave catching up as it is; what is not followed to its end is said with the saving.
  await page.evaluate(() => order({ do: "seek", position: 230 }));
  await standsAt(page, 230);
  await page.click("#save-json");
  await says(page, "is followed to frame");
  assert.match((await said(page))[0], /target 2 is followed to frame \d+ only: play on first/);
  await page.click("#heat");
  await page.keyboard.press("ArrowRight");
  await until(page, () => store.status.catching_up || store.status.position === 231);
  await page.keyboard.press("2");
  await standsAt(page, 231);
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
}

/* A video that does not say how long it is. */
async function byUnknownEnd(browser) {
  const video = path.join(folder, "scene.mjpeg");
  execFileSync("ffmpeg", ["-loglevel", "error", "-framerate", "30", "-i", path.join(scene, "img", "%04d.jpg"), "-c",
    "copy", video]);
  const { child, url } = await serve(video);
  const page = await open(browser, url, { viewport: { width: 1280, height: 720 } });
  const fact = () => page.textContent("#fact-frame");
  assert.deepEqual([await fact(), await page.isEnabled("#on")], ["1", true]);
  await drag(page, [170, 120, 60, 80]);
  await targets(page, 1);
  await page.click("#on");
  await standsAt(page, 2);
  const early = JSON.parse((await download(page, "#save-json")).text);
  assert.equal(early.summary.completed, false);
  await says(page, "target 1 is followed to frame 2 only: play on first");

  // Too far is the last frame.
  await page.evaluate(() => order({ do: "seek", position: 5000 }));
  await standsAt(page, FRAMES);
  await says(page, `frame ${FRAMES} is the last one`);
  await until(page, () => byId("on").disabled);
  assert.equal(await fact(), `${FRAMES} of ${FRAMES}`);
  // What is missing is followed by playing on, though it is the last frame.
  await page.click("#play");
  await until(page, (frames) => store.target(1).records.size === frames && !store.status.playing, FRAMES);
  const whole = JSON.parse((await download(page, "#save-json")).text);
  assert.deepEqual([whole.summary.completed, whole.frames.length], [true, FRAMES]);
  await until(page, () => byId("said").textContent.startsWith("Saved"));
  assert.doesNotMatch((await said(page))[0], /only/);

  // Where it goes is shown until it is there; about how far, where no more is known.
  const shown = (change) => page.evaluate((change) => {
    const before = store.status;
    store.status = { ...before, ...change };
    panel.draw();
    const seen = [byId("hint").textContent, byId("seek").value, byId("fact-frame").textContent, byId("on").disabled];
    store.status = before;
    panel.draw();
    return seen;
  }, change);
  assert.deepEqual(await shown({ going_to: 90 }), ["Going to frame 90", "90", `${FRAMES} of ${FRAMES}`, true]);
  const about = await shown({ last: null, expected_last: 250 });
  assert.deepEqual(about.slice(2), [`${FRAMES} of about 250`, false]);
  assert.deepEqual(page.errors, []);
  console.log("a video of unknown length: its end is found, and what is not followed to it is said");
  await page.context().close();
  child.kill("SIGINT");
}

/* The page that only asks for a first box. */
async function byPick(browser) {
  const out = path.join(folder, "picked.json");
  const { child, url } = await started("pick", ["--pick", scene, "--end", "3", "-q", "--preset", PRESET, "--json", out]);
  const page = await open(browser, url, { viewport: { width: 1280, height: 720 } });
  await page.keyboard.press("?");
  await page.waitForSelector("dialog[open]");
  assert.deepEqual(await page.$$eval("#keys kbd", (keys) => keys.map((key) => key.textContent)),
    ["Enter", "B", "Escape", "?"]);
  await violations(page, "shortcuts of the first box");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Enter");
  await says(page, "drag a box around the target first");
  await drag(page, [170, 120, 60, 80]);
  await until(page, () => stage.draft);
  const ended = new Promise((resolve) => child.on("exit", resolve));
  await page.keyboard.press("Enter");
  assert.equal(await ended, 0);
  assert.equal(JSON.parse(fs.readFileSync(out)).frames.length, 3);
  assert.deepEqual(page.errors.filter((error) => !error.includes("ERR_CONNECTION")), []);
  console.log("a first box: the keys that are listed work");
  await page.context().close();
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
    // One part alone, by its name: to work on it.
    const only = { byMouse, byTouch, byKeys, byAccident, byUnknownEnd, byPick }[process.env.VIEW_PART];
    if (only) return await only(browser);
    await byMouse(browser);
    await byTouch(browser);
    await byKeys(browser);
    await byAccident(browser);
    await byUnknownEnd(browser);
    await byPick(browser);
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
