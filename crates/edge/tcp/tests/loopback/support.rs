// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Servers for tests, and the counts of the two tiers.

use saker::Kv;
use saker_tcp::{Server, ServerConfig};

/// A configuration on a port that the system chooses.
pub fn config(url: &str) -> ServerConfig {
    let mut config = ServerConfig::new(url);
    config.listen = vec!["127.0.0.1:0".parse().expect("an address")];
    config
}

/// A server of one device.
pub fn serve(url: &str) -> Server {
    Server::start(config(url)).expect("the server starts")
}

/// A device small enough for a test.
pub const DEVICE: &str = "mem:?size=512MiB";

/// The URL of the server's first subsystem, with options.
pub fn url(server: &Server, options: &str) -> String {
    format!("tcp://{}/{}?{options}", server.addresses()[0], server.names()[0])
}

/// Opens it.
pub fn open(server: &Server, options: &str) -> Kv {
    Kv::open(&url(server, options)).expect("the target is there")
}

/// `soak` in the long tier, a tenth of it otherwise.
pub fn count(soak: usize) -> usize {
    let is_soak = saker_testing::is_soak();
    if is_soak { soak } else { soak / 10 }
}

/// A value that tells which key and version it is of.
pub fn value(key: u32, version: u32, bytes: usize) -> Vec<u8> {
    let seed = key.wrapping_mul(2_654_435_761) ^ version;
    (0..bytes).map(|n| (seed.rotate_left(n as u32 % 31) as u8).wrapping_add(n as u8)).collect()
}
