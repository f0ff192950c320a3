// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sessions over a target on the network: `tcp://`.
//!
//! `cargo run -p saker-tcp --example url_tcp -- [tcp://HOST:PORT/NQN]` (a target that it starts itself)

use saker::{Saker, SakerOptions};
use saker_tcp::{Server, ServerConfig};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Runs the example.
pub fn main() -> Outcome {
    if let Some(url) = std::env::args().nth(1).filter(|url| url.starts_with("tcp://")) {
        return run(&url);
    }
    let mut config = ServerConfig::new("mem:?size=256MiB&profile=tiny");
    config.listen = vec!["127.0.0.1:0".parse()?];
    let server = Server::start(config)?;
    run(&format!("tcp://{}/{}", server.addresses()[0], server.names()[0]))?;
    server.stop()?;
    Ok(())
}

/// Stores a thousand pairs in containers, and reads one back.
fn run(url: &str) -> Outcome {
    let saker = Saker::open(url, SakerOptions { sessions: 1, ..SakerOptions::default() })?;
    let mut session = saker.session()?;
    for n in 0..1000_u32 {
        session.put(&n.to_le_bytes(), b"value")?;
    }
    session.sync()?;
    assert_eq!(session.get(&999_u32.to_le_bytes())?.as_deref(), Some(&b"value"[..]));
    drop(session);
    saker.close()?;
    println!("1000 pairs are at {url}");
    Ok(())
}
