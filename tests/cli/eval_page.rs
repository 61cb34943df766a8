//! The report in a browser: plots are drawn, tables sort on a click, nothing is logged, nothing is fetched.
//!
//! Needs Chromium (`CHROMIUM`, or `chromium`, `chromium-browser`, `google-chrome` on the path); says that it skipped
//! without.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::eval_data::{dataset, eval, read, results, text};
use serde_json::Value;

fn chromium() -> Option<PathBuf> {
    let given = std::env::var_os("CHROMIUM").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = ["chromium", "chromium-browser", "google-chrome"];
    let found = given.or_else(|| {
        std::env::split_paths(&path).flat_map(|dir| on_path.map(|name| dir.join(name))).find(|file| file.is_file())
    });
    if found.is_none() {
        eprintln!("skipped: there is no Chromium");
    }
    found
}

/// Before anything else on the page: remembers errors.
const EARLY: &str = r#"<script>
window.seen = [];
addEventListener("error", (e) => seen.push("error: " + e.message), true);
addEventListener("unhandledrejection", (e) => seen.push("rejection: " + e.reason));
addEventListener("securitypolicyviolation", (e) => seen.push("blocked: " + e.blockedURI));
for (const level of ["error", "warn"]) console[level] = (...words) => seen.push(level + ": " + words.join(" "));
</script>"#;

/// After everything: uses the page as a reader would and writes down what it sees.
const LATE: &str = r##"<script>
const probe = {};
const column = (id, i) => [...document.querySelectorAll(`#${id} tbody tr`)].map((row) => row.cells[i].textContent);
const click = (id, i) => document.querySelectorAll(`#${id} thead th`)[i].click();
const order = (id) => column(id, 0).map((name) => name.trim());
probe.plots = [...document.querySelectorAll("section figure > svg")].map((svg) => {
  const box = svg.getBoundingClientRect();
  const lines = svg.querySelectorAll("polyline, path, line").length;
  return { width: box.width, height: box.height, lines, text: svg.textContent };
});
probe.loaded = order("sequences-table");
click("sequences-table", 2);
probe.down = column("sequences-table", 2).map(Number);
probe.aria = document.querySelectorAll("#sequences-table thead th")[2].getAttribute("aria-sort");
click("sequences-table", 2);
probe.up = column("sequences-table", 2).map(Number);
click("sequences-table", 0);
probe.named = order("sequences-table");
document.getElementById("metric").value = "cle";
document.getElementById("metric").dispatchEvent(new Event("change"));
probe.errors = column("sequences-table", 2).map(Number);
probe.best = document.querySelectorAll("#sequences-table td.best").length;
click("overall-table", 2);
probe.precision = column("overall-table", 2).map(parseFloat);
const frames = [...document.querySelectorAll(".frames image")];
probe.frames = frames.length;
probe.truths = document.querySelectorAll(".frames .truth").length;
const resources = performance.getEntriesByType("resource").map((entry) => entry.name);
probe.resources = resources.filter((name) => !name.startsWith("data:"));
// A request that a name in the data might try: the page's policy has to stop it.
const trial = new Image();
addEventListener("securitypolicyviolation", () => { probe.stopped = true; });
trial.src = "http://127.0.0.1:9/pixel.png";
setTimeout(() => {
  probe.seen = seen.filter((line) => !line.includes("127.0.0.1:9") && line !== "error: undefined");
  const out = document.createElement("script");
  out.type = "application/json";
  out.id = "probe";
  out.textContent = JSON.stringify(probe).replaceAll("<", "\\u003c");
  document.body.append(out);
}, 300);
</script>"##;

/// Opens a page without a window; gives its document at the end and what the browser logged.
fn open(browser: &Path, page: &Path, profile: &Path, more: &[&str]) -> (String, String) {
    let mut command = Command::new(browser);
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--window-size=1400,1000",
        "--virtual-time-budget=4000",
        "--enable-logging=stderr",
    ]);
    command.arg(format!("--user-data-dir={}", profile.display())).args(more);
    let output = command.arg("--dump-dom").arg(format!("file://{}", page.display())).output().unwrap();
    (String::from_utf8_lossy(&output.stdout).into_owned(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn the_report_works_in_a_browser() {
    let Some(browser) = chromium() else { return };
    let dir = tempfile::tempdir().unwrap();
    let (data, out) = (dir.path().join("data"), dir.path().join("out"));
    dataset(&data);
    results(&data, &dir.path().join("lag"), 6.0);
    // A name that would be a script if it were not escaped.
    let lag = format!("<script>alert(1)</script>={}", text(&dir.path().join("lag")));
    results(&data, &dir.path().join("near"), 0.3);
    let near = format!("near={}", text(&dir.path().join("near")));
    let outcome = eval(&["--data", text(&data), "--results", &lag, "--results", &near, "--out", text(&out), "--quiet"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);

    let page = String::from_utf8(read(&out, "report.html")).unwrap();
    let probed =
        page.replacen("<head>", &format!("<head>{EARLY}"), 1).replacen("</body>", &format!("{LATE}</body>"), 1);
    let file = dir.path().join("probed.html");
    fs::write(&file, probed).unwrap();
    let net_log = dir.path().join("net.json");
    let logging = format!("--log-net-log={}", net_log.display());
    let (document, log) = open(&browser, &file, &dir.path().join("profile"), &[]);
    let json = document.split("id=\"probe\">").nth(1).and_then(|rest| rest.split("</script>").next());
    let json = json.unwrap_or_else(|| panic!("the page did not get to its end: {log}\n{document:.2000}"));
    let probe: Value = serde_json::from_str(json).unwrap();
    let numbers = |key: &str| probe[key].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect::<Vec<_>>();

    let plots = probe["plots"].as_array().unwrap();
    assert!(plots.len() >= 2, "success and precision: {}", plots.len());
    for plot in &plots[..2] {
        assert!(plot["width"].as_f64().unwrap() > 300.0 && plot["height"].as_f64().unwrap() > 150.0, "{plot}");
        assert!(plot["lines"].as_u64().unwrap() > 15, "{plot}");
    }
    assert!(plots[0]["text"].as_str().unwrap().contains("near [0."), "{}", plots[0]);

    let (down, up) = (numbers("down"), numbers("up"));
    assert!(down.windows(2).all(|w| w[0] >= w[1]) && down.first() > down.last(), "{down:?}");
    assert!(up.windows(2).all(|w| w[0] <= w[1]), "{up:?}");
    assert_eq!(probe["aria"], "descending");
    assert_eq!(probe["named"], serde_json::json!(["Crossing", "Deer", "plain"]));
    let precision = numbers("precision");
    assert!(precision.windows(2).all(|w| w[0] >= w[1]), "{precision:?}");
    assert!(numbers("errors").iter().any(|&e| e > 0.0 && e.fract() != 0.0), "another metric is shown: {probe}");
    assert!(probe["best"].as_u64().unwrap() >= 3);

    assert_eq!(probe["seen"], serde_json::json!([]), "the console");
    assert_eq!(probe["resources"], serde_json::json!([]));
    assert_eq!(probe["stopped"], true, "the page's policy stops what is not on it");

    // The page as it is: nothing in the log of the console, no request but for the page itself.
    let (_, log) = open(&browser, &out.join("report.html"), &dir.path().join("profile2"), &[&logging]);
    let complaints: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(complaints.is_empty(), "{complaints:?}");
    let net: Value = serde_json::from_slice(&fs::read(&net_log).unwrap()).unwrap_or_else(|e| panic!("{e}"));
    let own = |url: &str| {
        url.starts_with("file://") || url.starts_with("data:") || url.starts_with("chrome") || url.starts_with("about:")
    };
    let urls: Vec<&str> = net["events"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["params"]["initiator"].as_str().is_some_and(|i| i.starts_with("file") || i == "null"))
        .filter_map(|event| event["params"]["url"].as_str())
        .filter(|url| !own(url))
        .collect();
    assert!(urls.is_empty(), "{urls:?}");
}
