//! Who is answered.

use std::net::SocketAddr;

use constant_time_eq::constant_time_eq;

use super::request::{Method, Request};
use super::response::Response;
use crate::error::{Error, Result};

/// What a request must know and say to be answered.
///
/// A page of another site can make a browser send requests here. It can neither give another `Origin` than its own, nor
/// another `Host` than the name that it was reached by, nor send JSON without being asked first, which is refused: none
/// of its requests is answered.
///
/// A program that listens at all addresses does not know by which names it is reached: this machine's own, or one that
/// a router or somebody's `hosts` file gives it. There a request may name any host, if it knows the token. That lets in
/// nobody who was kept out before. A page of another site that has its own name stand for this machine (DNS rebinding)
/// has a browser send the cookies of that name, among which ours is not, and does not know the token otherwise; and the
/// `Origin` of a request must still be the very host that it names. Where no token is demanded, which only happens
/// where this machine alone is listened to, nothing but the known names is let in.
#[derive(Clone, Debug)]
pub struct Gate {
    /// What a client must know, where that is demanded.
    pub token: Option<String>,
    /// The name by which the program was told to be reached, besides its addresses.
    pub name: Option<String>,
    /// Whether it listens at all addresses, and whoever knows the token may call it by any name.
    pub anywhere: bool,
}

impl Gate {
    /// Lets a request pass, or says why not.
    ///
    /// # Errors
    /// The answer to send in its place.
    pub fn check(&self, request: &Request) -> std::result::Result<(), Response> {
        let host = request.header("host").unwrap_or_default();
        let told = self.token.as_ref().map(|token| self.knows(request, token));
        let by_any_name = self.anywhere && told == Some(true) && !host.is_empty();
        if !by_any_name && !self.names(request.local).iter().any(|name| name.eq_ignore_ascii_case(host)) {
            let said = format!("this is not the host {host:?}: use the address that the program printed");
            return Err(Response::refused(421, &said));
        }
        if request.has_header("origin")
            && !request.header("origin").is_some_and(|origin| origin.eq_ignore_ascii_case(&format!("http://{host}")))
        {
            return Err(Response::refused(403, "the request comes from a page of another site"));
        }
        let json = |media: &str| media.split(';').next().is_some_and(|media| media.trim() == "application/json");
        if request.method == Method::Post && !request.header("content-type").is_some_and(json) {
            return Err(Response::refused(400, "the body must be of the type application/json"));
        }
        match told {
            Some(false) => {
                Err(Response::refused(403, "the token is missing or wrong: use the address that the program printed"))
            }
            _ => Ok(()),
        }
    }

    /// The header that lets a browser keep the token of a request that passed, so that it need not stand in addresses.
    pub fn keep(&self, local: SocketAddr) -> Option<String> {
        let token = self.token.as_ref()?;
        Some(format!("{}={token}; Path=/; HttpOnly; SameSite=Strict", cookie(local)))
    }

    fn knows(&self, request: &Request, token: &str) -> bool {
        let said = [request.parameter("token"), request.cookie(&cookie(request.local))];
        said.into_iter().flatten().any(|said| constant_time_eq(said.as_bytes(), token.as_bytes()))
    }

    /// What the `Host` of a request to `local` may be.
    fn names(&self, local: SocketAddr) -> Vec<String> {
        // An IPv4 client of an IPv6 socket.
        let local = SocketAddr::new(local.ip().to_canonical(), local.port());
        let mut names = vec![local.to_string()];
        let loopback = local.ip().is_loopback().then(|| "localhost".to_owned());
        names.extend(loopback.into_iter().chain(self.name.clone()).map(|name| format!("{name}:{}", local.port())));
        if local.port() == 80 {
            let bare: Vec<String> = names.iter().map(|name| name.trim_end_matches(":80").to_owned()).collect();
            names.extend(bare);
        }
        names
    }
}

/// Cookies do not know ports: two programs on one machine need two names.
fn cookie(local: SocketAddr) -> String {
    format!("kcf-track-{}", local.port())
}

/// A token that nobody guesses: 128 bits.
///
/// # Errors
/// [`Error::Io`] when the system has no random numbers.
pub fn make_token() -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::io("random numbers for a token", std::io::Error::other(error)))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
