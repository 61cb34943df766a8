// The program whose view it is: what it is given, and what its command line finds.
"use strict";

const { execFileSync, spawn } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");

const [program, pictures] = process.argv.slice(2);
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "kcf-track-view-"));
const scene = path.join(folder, "scene");
// Fewer for a debug build.
const FRAMES = Number(process.env.VIEW_FRAMES ?? 240);
const PRESET = process.env.VIEW_PRESET ?? "robust";
const running = [];

/* The sequence that all parts look at, or another one. */
const render = (out = scene, ...more) => execFileSync(program, ["synth", "--out", out, "--size", "640x480", "--frames",
  `${FRAMES}`, "--target", "60x80", "--seed", "5", ...more]);

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

/* What the command line finds. */
function track(start, box, end) {
  const out = path.join(folder, "plain.json");
  execFileSync(program, ["--seq", scene, "--preset", PRESET, "-q", "--start", `${start}`, "--end", `${end}`, "--init",
    box.join(","), "--json", out]);
  return JSON.parse(fs.readFileSync(out)).frames.map((frame) => [frame.index, ...frame.bbox]);
}

/* Ends every program, and takes the folder away. */
function clear() {
  running.forEach((child) => child.kill());
  fs.rmSync(folder, { recursive: true, force: true });
}

module.exports = {
  FRAMES, PRESET, clear, folder, pictures, program, render, scene, serve, started, track,
};
