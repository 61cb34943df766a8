//! The gate that admits requests, and the answers to them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use constant_time_eq::constant_time_eq;
use serde_json::json;

use super::call;
use super::controller::Message;
use super::results::Results;
use super::state::Wants;
use crate::error::{Error, Result};
use crate::export::{Form, Layout, TOLERANCE};
use crate::http::{Request, Response};
use crate::run::Command;

const PAGE: &str = include_str!("../../assets/view/index.html");
const STYLE: &str = include_str!("../../assets/view/view.css");
const ICON: &str = include_str!("../../assets/view/icon.svg");

/// The page's program, in the order in which it is read.
macro_rules! program {
    ($($name:literal)*) => { [$(include_str!(concat!("../../assets/view/", $name, ".js"))),*] };
}
const PROGRAM: [&str; 12] =
    program!["store" "wire" "boxes" "stage" "hands" "curve" "panel" "doubts" "dialogs" "edits" "keys" "main"];

/// Maximum pixels by which interpolated frames may differ.
const MAX_TOLERANCE: f64 = 1000.0;

/// How long a page waits for news before it asks again.
const NEWS_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum downloads that are made or read at a time: each holds a document of all boxes in memory.
const MAX_DOWNLOADS: usize = 4;

/// Decides which requests are answered.
///
/// Each request needs the token: other users of the machine reach a loopback address too.
///
/// A page of another site can make a browser send requests here. It can forge neither the `Origin` nor the `Host`, and
/// cannot send JSON without a preflight request, which is refused.
///
/// A server at all addresses does not know its names, so there a request may name any host. DNS
/// rebinding gains nothing: the browser keeps our cookie for another name, and the `Origin` must equal the `Host`.
#[derive(Debug)]
pub struct Gate {
    token: String,
    /// Values of `Host`; `None` for any.
    names: Option<Vec<String>>,
    /// The name of the cookie has the port, since cookies are shared by all ports of a host.
    cookie: String,
}

impl Gate {
    /// A gate for the server at `address`, which was called `host`.
    pub fn new(address: SocketAddr, host: &str, token: String) -> Self {
        let port = address.port();
        let mut names = vec![address.to_string(), format!("{host}:{port}")];
        names.extend(address.ip().is_loopback().then(|| format!("localhost:{port}")));
        if port == 80 {
            names.extend(names.clone().iter().map(|name| name.trim_end_matches(":80").to_owned()));
        }
        let names = (!address.ip().is_unspecified()).then_some(names);
        Self { token, names, cookie: format!("kcf-track-{port}") }
    }

    fn check(&self, request: &Request) -> Result<(), Response> {
        let host = request.header("host").unwrap_or_default();
        let is_known = |names: &Vec<String>| names.iter().any(|name| name.eq_ignore_ascii_case(host));
        if !self.names.as_ref().map_or(!host.is_empty(), is_known) {
            let reason = format!("this is not the host {host:?}: use the address that the program printed");
            return Err(Response::refused(421, &reason));
        }
        let own = format!("http://{host}");
        if request.has_header("origin") && !request.header("origin").is_some_and(|it| it.eq_ignore_ascii_case(&own)) {
            return Err(Response::refused(403, "the request comes from a page of another site"));
        }
        let given = [request.parameter("token"), request.cookie(&self.cookie)];
        if !given.iter().flatten().any(|it| constant_time_eq(it.as_bytes(), self.token.as_bytes())) {
            let reason = "the token is missing or wrong: use the address that the program printed";
            return Err(Response::refused(403, reason));
        }
        let is_json = |media: &str| {
            media.split(';').next().is_some_and(|media| media.trim().eq_ignore_ascii_case("application/json"))
        };
        if request.method == "POST" && !request.header("content-type").is_some_and(is_json) {
            return Err(Response::refused(400, "the body must be of the type application/json"));
        }
        Ok(())
    }
}

/// A random token of 128 bits.
///
/// # Errors
/// [`Error::Io`] when the system has no random numbers.
pub fn make_token() -> Result<String> {
    let number = || getrandom::u64().map_err(std::io::Error::other);
    let random = number().and_then(|first| Ok(format!("{first:016x}{:016x}", number()?)));
    random.map_err(|error| Error::io("random numbers for a token", error))
}

/// Answers requests.
pub struct Routes {
    pub gate: Gate,
    /// Where commands go.
    pub messages: Sender<Message>,
    pub results: Arc<Results>,
    /// Progress of each clip, as JSON.
    pub clips: String,
    /// Shared by the downloads that are under way.
    pub downloads: Arc<()>,
}

impl Routes {
    /// The answer to a request, or why there is none.
    pub fn answer(&self, request: &Request) -> Result<Response, Response> {
        self.gate.check(request)?;
        Ok(match (request.method.as_str(), request.path.as_str()) {
            ("GET", "/") => {
                // The token need not stand in addresses from now on.
                let Gate { token, cookie, .. } = &self.gate;
                let cookie = format!("{cookie}={token}; Path=/; HttpOnly; SameSite=Strict");
                Response::ok("text/html; charset=utf-8", PAGE).with("Set-Cookie", cookie)
            }
            ("GET", "/view.css") => Response::ok("text/css; charset=utf-8", STYLE),
            ("GET", "/view.js") => Response::ok("text/javascript; charset=utf-8", PROGRAM.concat()),
            ("GET", "/icon.svg") => Response::ok("image/svg+xml", ICON),
            ("GET", "/news") => self.news(request)?,
            ("GET", "/clips") => Response::ok("application/json", self.clips.clone()),
            ("GET", "/export") => self.export(request)?,
            ("POST", "/command") => self.command(request)?,
            _ => Response::refused(404, "there is no such page here"),
        })
    }

    /// The labels as a file to save, or the reason why there are none.
    fn export(&self, request: &Request) -> Result<Response, Response> {
        let place = Arc::clone(&self.downloads);
        if Arc::strong_count(&place) > MAX_DOWNLOADS + 1 {
            let reason = format!("{MAX_DOWNLOADS} downloads are under way: try again after them");
            return Err(Response::refused(503, &reason));
        }
        let refused = |reason: String| Response::refused(400, &reason);
        let name = request.parameter("form").unwrap_or_default();
        let form = Form::named(name).ok_or_else(|| refused(format!("form={name} is none of the formats")))?;
        let tolerance: f64 = integer(request, "tolerance")?.unwrap_or(TOLERANCE);
        if !(0.0..=MAX_TOLERANCE).contains(&tolerance) {
            return Err(refused(format!("the tolerance must be from 0 to {MAX_TOLERANCE} pixels")));
        }
        let [turned, pictures] = ["turned", "pictures"].map(|name| request.parameter(name) == Some("1"));
        let target = integer(request, "target")?;
        if form == Form::Otb && target.is_none() {
            return Err(refused("the target is missing: target=1".into()));
        }
        // COCO names a picture of each frame, whether it is written or not: its readers ask for one.
        let with_frames = form == Form::Coco;
        let layout = Layout { tolerance, turned, with_frames };
        let made = self.results.export(form, &layout, pictures, target);
        let body = made.map_err(|error| Response::refused(409, &error.to_string()))?;
        let media = if body.starts_with(b"PK") { "application/zip" } else { "application/octet-stream" };
        Ok(Response::ok(media, body).with("Content-Disposition", "attachment").holding(place))
    }

    /// News for a page: the length of a JSON text in four bytes, the text, the JPEG and the levels of a map; their
    /// lengths stand in the text.
    fn news(&self, request: &Request) -> Result<Response, Response> {
        let wants = Wants {
            after: integer(request, "after")?.unwrap_or_default(),
            changes: integer(request, "changes")?.unwrap_or_default(),
            picture: integer(request, "picture")?.unwrap_or_default(),
            map: integer(request, "map")?,
        };
        let mut news = self.results.shared.news(&wants, NEWS_TIMEOUT);
        let jpeg = news.picture.as_ref().map_or(&[][..], |picture| picture.jpeg());
        news.text["jpeg"] = news.picture.is_some().then_some(jpeg.len()).into();
        news.text["levels"] = news.levels.len().into();
        let text = news.text.to_string();
        let length = u32::try_from(text.len()).unwrap_or_default();
        let body = [&length.to_be_bytes(), text.as_bytes(), jpeg, &news.levels].concat();
        Ok(Response::ok("application/octet-stream", body))
    }

    fn command(&self, request: &Request) -> Result<Response, Response> {
        let is_run = |run: &str| self.results.shared.look(|state| state.status.run == run);
        if !request.parameter("run").is_none_or(is_run) {
            return Err(Response::refused(409, "another clip is shown now: load the page again"));
        }
        let command = Command::parse(&request.body).map_err(|reason| Response::refused(400, &reason))?;
        let said = call(&self.messages, command).map_err(|reason| Response::refused(409, &reason))?;
        let told = said.map_or(json!({}), |said| json!({ "said": said }));
        Ok(Response::ok("application/json", told.to_string()))
    }
}

/// A number of the query; `None` if it is missing.
fn integer<N: std::str::FromStr>(request: &Request, name: &str) -> Result<Option<N>, Response> {
    let wrong = |text: &str| Response::refused(400, &format!("{name}={text} is not a non-negative number"));
    request.parameter(name).map(|text| text.parse().map_err(|_| wrong(text))).transpose()
}
