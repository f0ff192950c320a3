// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The endpoint's thread: clients one after another, a few at a time.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use saker::panics::ends_process;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

use super::places::{Place, Places};
use super::request::Asked;
use super::{Found, ServerNumbers, classic, http, open_metrics};
use crate::connection::Shared;
use crate::connection::messages::Request;
use crate::neighbour;

/// Clients at once. Those that have asked nothing yet make room for newcomers, the oldest first.
const CLIENTS_MAX: usize = 8;
/// The longest that a scrape waits for a subsystem.
const PATIENCE: Duration = Duration::from_secs(2);
/// After a failure to accept.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// An endpoint that listens and does not answer yet.
pub(crate) struct Endpoint {
    runtime: Runtime,
    listener: TcpListener,
    address: SocketAddr,
}

impl Endpoint {
    /// Listens.
    pub fn bind(address: SocketAddr) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind(address))?;
        let address = listener.local_addr()?;
        Ok(Self { runtime, listener, address })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers, on a thread of its own, until told to stop.
    pub fn start(
        self,
        shared: Arc<Shared>,
        stopping: watch::Receiver<bool>,
    ) -> std::io::Result<JoinHandle<()>> {
        let thread = std::thread::Builder::new().name("saker-metrics".into());
        thread.spawn(move || {
            let _ends_process = ends_process("metrics");
            self.runtime.block_on(serve(self.listener, shared, stopping));
        })
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>, mut stopping: watch::Receiver<bool>) {
    let places = Places::new(CLIENTS_MAX);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopping.changed() => return,
        };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        if let Some(place) = places.take() {
            let shared = Arc::clone(&shared);
            tokio::spawn(async move {
                let _ends_process = ends_process("metrics");
                client(stream, place, &shared).await;
            });
        }
    }
}

async fn client(mut stream: TcpStream, mut place: Place, shared: &Shared) {
    let Some(asked) = place.until_asked(http::asked(&mut stream)).await else { return };
    let text = match asked {
        Asked::Metrics { open } => {
            let text = open_metrics(&scrape(shared).await, &numbers(shared));
            Some(if open { text } else { classic(&text) })
        }
        _ => None,
    };
    http::answer(stream, asked, text).await;
}

/// Asks every subsystem that has a device, and every neighbour.
async fn scrape(shared: &Shared) -> Found {
    let mut found = Vec::new();
    for (nqn, subsystem) in
        shared.subsystems.iter().filter(|(nqn, _)| *nqn != saker_nvme::fabrics::DISCOVERY_NQN)
    {
        let (answer, answered) = oneshot::channel();
        // A subsystem that is gone does not answer.
        let _ = subsystem.send(Request::Counters(answer));
        let counters = timeout(PATIENCE, answered).await.ok().and_then(Result::ok);
        found.push((nqn.clone(), counters));
    }
    for neighbour in &shared.neighbours {
        let (name, asked) = (neighbour.name(), Arc::clone(neighbour));
        let counters = tokio::task::spawn_blocking(move || neighbour::counters(&asked, PATIENCE)).await;
        found.push((name, counters.ok().flatten()));
    }
    found
}

fn numbers(shared: &Shared) -> ServerNumbers {
    let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    ServerNumbers {
        accepted: of(&shared.sockets.accepted),
        without_place: of(&shared.sockets.without_place),
        refused: of(&shared.sockets.refused),
        memory: shared.memory.used() as u64,
        memory_waits: shared.memory.host_waits(),
    }
}
