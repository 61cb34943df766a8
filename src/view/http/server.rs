//! Connections: accepted, counted, each on a thread of its own.

use std::io::Read;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::request::{Incoming, NoRequest, Request};
use super::response::Response;
use crate::error::{Error, Result};

/// Most connections at a time. A browser keeps up to six.
pub const MAX_CONNECTIONS: usize = 64;

/// How long an answer may wait for a client that does not read.
const UNREAD: Duration = Duration::from_secs(5);

/// Makes an answer of a request.
type Handler = dyn Fn(&Request) -> Response + Send + Sync;

/// Answers requests until it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Takes connections on `listener` from now on.
    ///
    /// # Errors
    /// [`Error::Io`] when no thread can be started.
    pub fn start(
        listener: TcpListener,
        handler: impl Fn(&Request) -> Response + Send + Sync + 'static,
    ) -> Result<Self> {
        let address = listener.local_addr().map_err(|source| Error::io("the port", source))?;
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, handler): (_, Arc<Handler>) = (Arc::clone(&stop), Arc::new(handler));
        let accept = move || accept(&listener, &handler, &stopped);
        let thread = std::thread::Builder::new().name("accept".into()).spawn(accept);
        let thread = thread.map_err(|source| Error::io("a thread to serve on", source))?;
        Ok(Self { address, stop, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Takes no more connections; those that are open end with the answer that they are at.
impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // A connection is what wakes a thread that waits for one.
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip(if address.is_ipv4() { [127, 0, 0, 1].into() } else { [0, 0, 0, 0, 0, 0, 0, 1].into() });
        }
        if TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok()
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
    }
}

fn accept(listener: &TcpListener, handler: &Arc<Handler>, stop: &Arc<AtomicBool>) {
    let open = Arc::new(AtomicUsize::new(0));
    loop {
        let accepted = listener.accept();
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let Ok((stream, _)) = accepted else {
            // No more file descriptors, most likely: connections that end give some back.
            std::thread::sleep(Duration::from_millis(50));
            continue;
        };
        if open.fetch_add(1, Ordering::Relaxed) >= MAX_CONNECTIONS {
            open.fetch_sub(1, Ordering::Relaxed);
            let _ = stream.set_write_timeout(Some(Duration::from_millis(100)));
            let _ = Response::refused(503, "there are too many connections").write(&mut &stream, true);
            continue;
        }
        let (handler, stopped, counted) = (Arc::clone(handler), Arc::clone(stop), Counted(Arc::clone(&open)));
        let work = move || {
            let _counted = counted;
            connection(&stream, handler.as_ref(), &stopped);
        };
        // Without a thread the connection is closed; the next one may have more luck.
        let _ = std::thread::Builder::new().name("http".into()).spawn(work);
    }
}

/// One connection, counted until it is dropped.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Answers the requests of one connection, until it is to end.
fn connection(stream: &TcpStream, handler: &Handler, stop: &AtomicBool) {
    // Small answers are not held back to be sent with later ones.
    let ready = stream.set_nodelay(true).and_then(|()| stream.set_write_timeout(Some(UNREAD)));
    let (Ok(()), Ok(reading)) = (ready, stream.try_clone()) else { return };
    let mut incoming = Incoming::new(reading);
    loop {
        let (response, last) = match incoming.next() {
            Ok(request) => (handler(&request), request.last),
            Err(NoRequest::Wrong(response)) => (response, true),
            Err(NoRequest::Gone) => break,
        };
        let last = last || stop.load(Ordering::Relaxed);
        if response.write(&mut &*stream, last).is_err() || last {
            break;
        }
    }
    let _ = stream.shutdown(Shutdown::Write);
    drain(stream);
}

/// Reads what a client still sends, for a moment: a connection that is closed over unread bytes takes the answer with
/// it.
fn drain(mut stream: &TcpStream) {
    let mut piece = [0; 16 << 10];
    let _ = stream.set_read_timeout(Some(Duration::from_millis(200)));
    for _ in 0..64 {
        if !stream.read(&mut piece).is_ok_and(|count| count > 0) {
            return;
        }
    }
}
