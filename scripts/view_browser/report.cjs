// The report of an evaluation: plots are drawn, tables sort on a click, nothing is logged, nothing is fetched.
"use strict";

const assert = require("node:assert/strict");
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { folder, program } = require("./program.cjs");

const NAMES = ["one", "three", "two"];

/* Boxes that lag behind the truth, as those of a published tracker. */
function lagging(data, out, lag) {
  fs.mkdirSync(out);
  for (const name of NAMES) {
    const rows = fs.readFileSync(path.join(data, name, "groundtruth_rect.txt"), "utf8").trim().split("\n");
    const late = rows.map((row, i) => row.split(",").map((number, k) => (k ? number : number - lag * i)).join(","));
    fs.writeFileSync(path.join(out, `${name}.txt`), late.join("\n"));
  }
}

module.exports = async function byReport(browser) {
  const [data, lag, near, out] = ["data", "lag", "near", "report"].map((name) => path.join(folder, name));
  NAMES.forEach((name, i) => {
    execFileSync(program, ["synth", "--out", path.join(data, name), "--size", "160x120", "--target", "28x24", "--frames",
      `${9 + 6 * i}`, "--seed", `${i + 1}`]);
  });
  lagging(data, lag, 6);
  lagging(data, near, 0.3);
  // A name that would be a script if it were not escaped.
  execFileSync(program, ["eval", "--data", data, "--results", `<script>alert(1)</script>=${lag}`, "--results",
    `near=${near}`, "--out", out, "-q"]);

  const page = await browser.newPage({ viewport: { width: 1400, height: 1000 } });
  const [said, asked] = [[], []];
  page.on("pageerror", (error) => said.push(String(error)));
  page.on("console", (message) => said.push(message.text()));
  page.on("request", (request) => /^(file|data):/.test(request.url()) || asked.push(request.url()));
  await page.goto(`file://${out}/report.html`);
  const plots = await page.$$eval("section figure > svg", (all) => all.map((svg) => {
    const { width, height } = svg.getBoundingClientRect();
    return { width, height, lines: svg.querySelectorAll("polyline, path, line").length, text: svg.textContent };
  }));
  assert(plots.length >= 2, "success and precision");
  assert(plots.slice(0, 2).every((plot) => plot.width > 300 && plot.height > 150 && plot.lines > 15), plots);
  assert(plots[0].text.includes("near [0."));

  const column = (id, i) => page.$$eval(`#${id} tbody tr`, (rows, i) => rows.map((row) => row.cells[i].textContent), i);
  const numbers = async (id, i) => (await column(id, i)).map(parseFloat);
  const click = (id, i) => page.click(`#${id} thead th:nth-child(${i + 1})`);
  const falls = (all) => all.every((value, i) => i === 0 || all[i - 1] >= value);
  await click("sequences-table", 2);
  const down = await numbers("sequences-table", 2);
  assert(falls(down) && down[0] > down.at(-1), down);
  assert.equal(await page.getAttribute("#sequences-table thead th:nth-child(3)", "aria-sort"), "descending");
  await click("sequences-table", 2);
  assert.deepEqual(await numbers("sequences-table", 2), down.reverse());
  await click("sequences-table", 0);
  assert.deepEqual((await column("sequences-table", 0)).map((name) => name.trim()), NAMES);
  await page.selectOption("#metric", "cle");
  assert((await numbers("sequences-table", 2)).some((error) => error % 1), "another metric is shown");
  assert(await page.locator("#sequences-table td.best").count() >= 3);
  await click("overall-table", 2);
  assert(falls(await numbers("overall-table", 2)));
  assert.deepEqual([said, asked], [[], []]);

  // A request that a name in the data might try: the page's policy has to stop it.
  assert(await page.evaluate(() => new Promise((resolve) => {
    addEventListener("securitypolicyviolation", () => resolve(true));
    new Image().src = "http://127.0.0.1:9/pixel.png";
    setTimeout(() => resolve(false), 2000);
  })));
  console.log("a report: plots, tables, and nothing from elsewhere");
  await page.close();
};
