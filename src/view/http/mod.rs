//! A small HTTP/1.1 server for one program's own pages: a thread a connection, everything bounded.
//!
//! Requests are parsed by `httparse`; heads, bodies, connections and the time that any of them may take have limits, so
//! that a client that sends nonsense or never reads costs one thread for some seconds and nothing else.

mod gate;
mod request;
mod response;
mod server;

pub use gate::{Gate, make_token};
pub use request::{Method, Request};
pub use response::Response;
pub use server::Server;
