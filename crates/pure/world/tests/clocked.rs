// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A device in virtual time, and a client of it.

use saker_assembly::{Build, port};
use saker_host::{ClientOptions, ConnectOptions, Connection, KvClient, Patience};
use saker_world::Clocked;

/// Turns after which a device counts as dead: more than any that waits needs.
pub const PATIENCE: Patience = Patience { polls_max: 10_000_000 };

/// The device, and a client of its first namespace with eight operations at a time.
pub fn opened(build: &Build) -> (Connection, KvClient<Clocked>) {
    let host = build.attach(2, 8);
    let mut device = Clocked(build.timed(host.clone()));
    let options = ConnectOptions { patience: PATIENCE, ..ConnectOptions::default() };
    let mut connection = Connection::connect(port(&host), &mut device, options).expect("connects");
    let options = ClientOptions { depth: 8, patience: PATIENCE, ..ClientOptions::default() };
    let client = KvClient::open(&mut connection, device, 1, options).expect("opens");
    (connection, client)
}
