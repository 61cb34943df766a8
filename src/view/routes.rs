//! Which path is answered by what.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use super::call;
use super::commands::Command;
use super::controller::Message;
use super::results::Results;
use super::state::{SharedState, Wants};
use crate::view::http::{Method, Request, Response};

const PAGE: &str = include_str!("../../assets/view/index.html");
const STYLE: &str = include_str!("../../assets/view/view.css");
const ICON: &str = include_str!("../../assets/view/icon.svg");

/// The page's program, in the command in which it is read.
const PROGRAM: [&str; 5] = [
    include_str!("../../assets/view/store.js"),
    include_str!("../../assets/view/stage.js"),
    include_str!("../../assets/view/curve.js"),
    include_str!("../../assets/view/panel.js"),
    include_str!("../../assets/view/main.js"),
];

const TEXT: &str = "text/plain; charset=utf-8";

/// How long a page waits for news before it asks again.
const NEWS_TIME: Duration = Duration::from_secs(10);

/// All that can be asked for.
pub struct Routes {
    /// What there is to see.
    pub shared: Arc<SharedState>,
    /// Where commands go.
    pub messages: Sender<Message>,
    /// What downloads are made of.
    pub results: Results,
}

impl Routes {
    /// The answer to a request that may be answered. `cookie` keeps its token.
    pub fn answer(&self, request: &Request, cookie: Option<String>) -> Response {
        match (request.method, request.path.as_str()) {
            (Method::Get, "/") => match cookie {
                Some(cookie) => Response::ok("text/html; charset=utf-8", PAGE).with("Set-Cookie", cookie),
                None => Response::ok("text/html; charset=utf-8", PAGE),
            },
            (Method::Get, "/view.css") => Response::ok("text/css; charset=utf-8", STYLE),
            (Method::Get, "/view.js") => Response::ok("text/javascript; charset=utf-8", PROGRAM.concat()),
            (Method::Get, "/icon.svg") => Response::ok("image/svg+xml", ICON),
            (Method::Get, "/news") => self.news(request).unwrap_or_else(|refused| refused),
            (Method::Get, "/result.json") => download("application/json", self.results.json(&self.shared)),
            (Method::Get, "/result-mot.txt") => download(TEXT, self.results.mot(&self.shared)),
            (Method::Get, "/result-otb.txt") => match whole(request, "target") {
                Ok(Some(target)) => download(TEXT, self.results.otb(&self.shared, target)),
                Ok(None) => Response::refused(400, "say which target: ?target=1"),
                Err(refused) => refused,
            },
            (Method::Post, "/command") => self.command(&request.body),
            (Method::Post, "/" | "/news") | (Method::Get, "/command") => {
                Response::refused(405, "this path is asked for in the other way: GET reads, POST commands")
            }
            _ => Response::refused(404, "there is no such page here"),
        }
    }

    /// News for a page: the length of a JSON text in four bytes, the text, the JPEG and the levels of a map; their
    /// lengths stand in the text.
    fn news(&self, request: &Request) -> Result<Response, Response> {
        let wants = Wants {
            after: whole(request, "after")?.unwrap_or_default(),
            changes: whole(request, "changes")?.unwrap_or_default(),
            picture: whole(request, "picture")?.unwrap_or_default(),
            map: whole(request, "map")?,
        };
        let mut news = self.shared.news(&wants, NEWS_TIME);
        let jpeg = news.picture.as_ref().map_or(&[][..], |picture| picture.jpeg());
        news.text["jpeg"] = news.picture.is_some().then_some(jpeg.len()).into();
        news.text["levels"] = news.levels.len().into();
        let text = news.text.to_string();
        let length = u32::try_from(text.len()).unwrap_or_default();
        let body = [&length.to_be_bytes(), text.as_bytes(), jpeg, &news.levels].concat();
        Ok(Response::ok("application/octet-stream", body))
    }

    fn command(&self, body: &[u8]) -> Response {
        let command = match serde_json::from_slice::<Command>(body) {
            Ok(command) => command,
            Err(error) => return Response::refused(400, &format!("this is no command: {error}")),
        };
        match call(&self.messages, command) {
            Ok(None) => Response::ok("application/json", "{}"),
            Ok(Some(said)) => Response::ok("application/json", serde_json::json!({ "said": said }).to_string()),
            Err(refusal) => Response::refused(409, &refusal.to_string()),
        }
    }
}

fn download(media: &str, made: crate::Result<Vec<u8>>) -> Response {
    match made {
        Ok(body) => Response::ok(media, body).with("Content-Disposition", "attachment"),
        Err(error) => Response::refused(409, &error.to_string()),
    }
}

/// A whole number of the query; `None` where it is not given.
fn whole<N: std::str::FromStr>(request: &Request, name: &str) -> Result<Option<N>, Response> {
    let wrong = |text: &str| Response::refused(400, &format!("{name}={text} is no whole number"));
    request.parameter(name).map(|text| text.parse().map_err(|_| wrong(text))).transpose()
}
