// The live view in a real browser, part by part; see view_browser.sh, which runs it.
"use strict";

const { chromium } = require("playwright-core");
const { clear, render } = require("./program.cjs");

const PARTS = ["mouse", "correct", "annotate", "touch", "axis", "keys", "accident", "unknown_end", "many", "clips",
  "shapes", "pick", "report"];

async function main() {
  render();
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync"],
  });
  try {
    // One part alone, by its name: to work on it.
    for (const part of process.env.VIEW_PART ? [process.env.VIEW_PART] : PARTS) {
      await require(`./${part}.cjs`)(browser);
    }
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
  .finally(clear);
