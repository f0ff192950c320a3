// SPDX-License-Identifier: Apache-2.0 OR MIT
//! NVMe/TCP on sockets: a target that serves devices of [`saker`] to hosts on the network.
//!
//! One thread listens and has the sockets of hosts that have not connected. Each subsystem has a thread with its device, its
//! controllers and the sockets of its hosts. A connection's protocol is [`saker_nvme_tcp::Target`], a subsystem's decisions
//! are [`saker_target::Subsystem`]; here is what moves bytes between them, and the limits that keep strangers from using up
//! the machine.
//!
//! | module | holds |
//! |---|---|
//! | [`config`] | what is served, to whom, within which limits; the TOML file |
//! | [`server`] | listening, limits, start and stop |
//! | `connection` | one socket |
//! | `strangers` | sockets that have not connected a queue |
//! | `memory`, `heap` | what all connections may hold together, and its way back to the system |
//! | `engine`, `local` | the thread of a subsystem, its device |
//! | `turn` | how much a host's sockets may do while others wait |
//! | `opened` | a device on its way there |
//! | `redis` | a namespace for Redis clients, by [`saker_redis`] on that thread |
//! | `reload` | what of the configuration can change while it runs |
//! | `authenticator` | the thread that computes for authentications |
//! | `neighbour` | devices that the process serves by other ways |
//! | `pulse`, `supervisor` | whether all threads go on, and what a service manager hears of it |
//! | `logs` | what an operator is told |
//! | `metrics` | what an operator's tools are told: the endpoint for Prometheus |
#![deny(unsafe_code)]

mod authenticator;
pub mod config;
mod connection;
mod counts;
mod engine;
mod error;
mod heap;
mod limits;
mod local;
mod logs;
mod memory;
mod metrics;
mod neighbour;
mod opened;
mod pulse;
mod redis;
mod reload;
pub mod server;
mod stop;
mod strangers;
mod supervisor;
mod turn;

pub use config::{
    ConfigError, HostRules, LogConfig, LogFormat, NamespaceLimits, RedisConfig, Served, ServerConfig,
};
pub use error::ServeError;
pub use neighbour::Neighbour;
pub use pulse::Pulse;
pub use saker_target::{Access, Hosts};
pub use server::Server;
pub use stop::{StopSignal, Word};
pub use supervisor::{Supervisor, Watch};
