//! `kcf-track trax`: the tracker as a server of the TraX protocol.

use std::io::{BufReader, BufWriter};
use std::net::{Ipv4Addr, TcpStream};

use clap::Args;
use clap::builder::RangedU64ValueParser;
use kcf_track::Error;
use kcf_track::serve::trax::{Version, serve};

use super::Failure;
use super::params::{self, ParamArgs};

/// Names the port of this machine at which a client waits; without it, the client has both ends of the program.
const SOCKET: &str = "TRAX_SOCKET";

/// Bytes that are read at a time.
const BUFFER: usize = 1 << 16;

/// Follow what another program asks for, over the TraX protocol of the VOT toolkit.
///
/// The standard input and output are the protocol's, or a socket where TRAX_SOCKET names its port. What goes wrong is
/// told to the client as the reason of a `quit`, and nothing is printed.
#[derive(Debug, Args)]
pub struct TraxArgs {
    /// Version of the protocol; with 4 there may be several objects, and 3 is the last one of older clients
    #[arg(long, value_name = "1..4", default_value_t = 4)]
    #[arg(value_parser = RangedU64ValueParser::<u8>::new().range(1..=4))]
    protocol: u8,
    /// Settings to start from, which all others change [default: robust]
    #[arg(long, short, value_name = "NAME", value_parser = params::preset_names(), help_heading = "Settings")]
    preset: Option<String>,
    #[command(flatten)]
    params: ParamArgs,
}

pub fn run(args: &TraxArgs) -> Result<(), Failure> {
    let resolved = args.params.resolve(args.preset.as_deref())?;
    if args.params.print_config {
        return params::print(&resolved);
    }
    let version = Version::new(args.protocol)?;
    let served = match std::env::var_os(SOCKET) {
        Some(port) => {
            let socket = connect(&port.to_string_lossy())?;
            let input = BufReader::with_capacity(BUFFER, &socket);
            serve(input, BufWriter::new(&socket), &resolved.params, version)
        }
        None => {
            // Unlocked, the output would be searched for ends of lines.
            let input = BufReader::with_capacity(BUFFER, std::io::stdin());
            serve(input, BufWriter::new(std::io::stdout().lock()), &resolved.params, version)
        }
    };
    served.map_err(|error| match error {
        Error::Trax { .. } => Failure::Told { code: 1 },
        error => error.into(),
    })
}

/// The client that waits at a port of this machine.
fn connect(port: &str) -> Result<TcpStream, Failure> {
    let number: u16 =
        port.parse().map_err(|_| Failure::usage(format!("{SOCKET}={port}: must be the number of a port")))?;
    let connected = TcpStream::connect((Ipv4Addr::LOCALHOST, number)).and_then(|socket| {
        // An answer is small and awaited.
        socket.set_nodelay(true)?;
        Ok(socket)
    });
    connected.map_err(|error| {
        Failure::Failed(anyhow::anyhow!("{SOCKET}={port}: no client answers on this machine: {error}"))
    })
}
