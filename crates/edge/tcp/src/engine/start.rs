// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The thread begins: the device comes to it, and its Redis clients.

use std::thread::JoinHandle;

use saker::Error;
use saker::panics::ends_process;
use saker_target::Subsystem;
use tokio::sync::mpsc::{UnboundedReceiver, WeakUnboundedSender};
use tokio::task::LocalSet;

use super::{Engine, Watch};
use crate::authenticator::Authenticator;
use crate::connection::messages::Request;
use crate::opened::Opened;
use crate::redis::Redis;

/// Starts the thread. It ends with [`Request::Stop`] or when nobody can ask any more.
pub(crate) fn start(
    subsystem: Subsystem,
    opened: Option<Opened>,
    (to_here, mut requests): (WeakUnboundedSender<Request>, UnboundedReceiver<Request>),
    busy_poll: bool,
    authenticator: Authenticator,
    watch: Watch,
) -> std::io::Result<JoinHandle<Result<(), Error>>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let thread = std::thread::Builder::new().name("saker-subsystem".into());
    thread.spawn(move || {
        let _ends_process = ends_process("subsystem");
        let (local, redis) = opened.map(Opened::settle).unzip();
        let mut engine = Engine::new(subsystem, local, busy_poll, (authenticator, to_here), watch);
        engine.follow_limits();
        let tasks = LocalSet::new();
        if let Some(Redis { front, listener }) = redis.flatten() {
            tasks.spawn_local(saker_redis::listen(front, listener));
        }
        tasks.block_on(&runtime, engine.run(&mut requests));
        // With them goes what they share of the device.
        drop(tasks);
        engine.finish()
    })
}
