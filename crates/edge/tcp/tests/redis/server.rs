// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Servers for Redis clients.

use saker_tcp::{RedisConfig, Server, ServerConfig};

use super::client::Redis;

/// A server of one device for Redis clients, with what `set` changes.
pub fn serve_with(url: &str, set: impl FnOnce(&mut RedisConfig)) -> Server {
    let mut config = ServerConfig::new(url);
    config.listen = vec!["127.0.0.1:0".parse().expect("an address")];
    let mut redis = RedisConfig::new("127.0.0.1:0".parse().expect("an address"));
    set(&mut redis);
    config.subsystems[0].redis = Some(redis);
    Server::start(config).expect("the server starts")
}

pub fn serve(url: &str) -> Server {
    serve_with(url, |_| {})
}

/// A connection to it.
pub fn connect(server: &Server) -> Redis {
    Redis::connect(server.redis_addresses()[0])
}
