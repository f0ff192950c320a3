// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Listening, limits, start and stop.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use saker::panics::ends_process;
use saker_nvme::fabrics::DISCOVERY_NQN;
use saker_target::{
    Access, ConnectionId, Hosts, Kind, NamespaceRates, Policies, Portal, Subsystem, SubsystemConfig,
};
use tokio::net::TcpListener;
use tokio::runtime::{Handle, Runtime};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::{JoinSet, yield_now};
use tokio::time::timeout;

use crate::authenticator::Authenticator;
use crate::config::{ConfigError, Served, ServerConfig};
use crate::connection::messages::Request;
use crate::connection::{self, Shared};
use crate::counts::{SocketCounts, count};
use crate::engine::{self, Watch};
use crate::error::ServeError;
use crate::heap::{self, Heap};
use crate::limits::CONTROLLERS_MAX;
use crate::logs::{Limits, told};
use crate::memory::{Memory, STANDSTILL};
use crate::metrics::server::Endpoint;
use crate::neighbour::Neighbour;
use crate::opened::Opened;
use crate::pulse::Pulse;
use crate::strangers::{Permits, Strangers};

/// Discovery controllers at most: each host needs one for a moment.
const DISCOVERY_CONTROLLERS_MAX: usize = 256;
/// After a failure to accept, such as of too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// How often it is looked whether hosts stand still while others wait for memory.
const MEMORY_PAUSE: Duration = Duration::from_millis(250);
/// So many looks lie between two looks at what can be given back.
const LOOKS_FOR_EACH_RETURN: usize = 4;
/// The longest that a newcomer waits for the place of a connection that is being closed for it.
const CLOSING_PAUSE: Duration = Duration::from_millis(50);

type EngineThread = JoinHandle<Result<(), saker::Error>>;

/// A target that runs.
#[derive(Debug)]
pub struct Server {
    addresses: Vec<SocketAddr>,
    redis: Vec<SocketAddr>,
    names: Vec<String>,
    stop: watch::Sender<bool>,
    pub(crate) shared: Arc<Shared>,
    engines: Vec<EngineThread>,
    sockets: Option<JoinHandle<()>>,
    sockets_runtime: Handle,
    metrics: Option<JoinHandle<()>>,
    metrics_address: Option<SocketAddr>,
}

impl Server {
    /// Opens the devices, listens, and returns when hosts can connect.
    ///
    /// # Errors
    /// [`ServeError`].
    pub fn start(config: ServerConfig) -> Result<Self, ServeError> {
        Self::start_beside(config, Vec::new())
    }

    /// The same, beside devices that the process serves by other ways: they are in its metrics, and in its [pulse](Self::pulse).
    ///
    /// # Errors
    /// [`ServeError`].
    pub fn start_beside(
        config: ServerConfig,
        neighbours: Vec<Arc<dyn Neighbour>>,
    ) -> Result<Self, ServeError> {
        heap::keep();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listeners = listen(&runtime, &config)?;
        let addresses = listeners.iter().map(TcpListener::local_addr).collect::<Result<Vec<_>, _>>()?;
        let authenticator = Authenticator::start()?;
        let limits = Arc::<Limits>::default();
        let endpoint = config.metrics.map(bind_metrics).transpose()?;
        let mut starting = Starting {
            subsystems: BTreeMap::new(),
            engines: Vec::new(),
            limits,
            slow: config.slow,
            authenticator,
            redis: Vec::new(),
        };
        let names = match starting.start_all(&config, &addresses) {
            Ok(names) => names,
            Err(error) => {
                starting.leave();
                return Err(error);
            }
        };
        let memory = Memory::new(config.connections_memory_max, config.connections_max);
        addresses.iter().for_each(|address| tracing::info!(%address, subsystems = ?names, "serving"));
        let limits = starting.limits;
        let (sockets, subsystems) = (SocketCounts::default(), starting.subsystems);
        let shared = Arc::new(Shared { config, memory, limits, sockets, subsystems, neighbours });
        let (stop, stopping) = watch::channel(false);
        let metrics_address = endpoint.as_ref().map(Endpoint::address);
        let for_metrics = endpoint.map(|endpoint| endpoint.start(Arc::clone(&shared), stopping.clone()));
        let metrics = for_metrics.transpose()?;
        let thread = std::thread::Builder::new().name("saker-sockets".into());
        let (for_thread, sockets_runtime) = (Arc::clone(&shared), runtime.handle().clone());
        let sockets = thread.spawn(move || runtime.block_on(accept_all(listeners, for_thread, stopping)))?;
        let (engines, redis) = (starting.engines, starting.redis);
        let sockets = Some(sockets);
        Ok(Self {
            addresses,
            redis,
            names,
            metrics_address,
            stop,
            shared,
            engines,
            sockets,
            sockets_runtime,
            metrics,
        })
    }

    /// Where it listens; ports that were given as 0 are chosen now.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Where it listens for Redis clients.
    #[must_use]
    pub fn redis_addresses(&self) -> &[SocketAddr] {
        &self.redis
    }

    /// The SUBNQNs it serves.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// What it was started with.
    #[must_use]
    pub fn config(&self) -> &ServerConfig {
        &self.shared.config
    }

    /// Where metrics are, if they are asked for; a port that was given as 0 is chosen now.
    #[must_use]
    pub const fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics_address
    }

    /// Bytes of memory that connections hold beyond the 64 KiB that each has for itself; at most `connections_memory_max` together with
    /// these.
    #[must_use]
    pub fn memory_in_use(&self) -> usize {
        self.shared.memory.used()
    }

    /// Tells hosts how well namespaces are reached by an address from now on: the others of its listeners, if there are any, are to
    /// be preferred, or are the only ones that carry out commands. False for an address that is not listened on.
    pub fn set_access(&self, address: SocketAddr, access: Access) -> bool {
        let Some((port, _)) = (1..).zip(&self.addresses).find(|(_, at)| **at == address) else {
            return false;
        };
        // A subsystem that is gone has no hosts to tell.
        self.shared.subsystems.values().for_each(|s| drop(s.send(Request::Access(port, access))));
        true
    }

    /// What asks whether its threads go on.
    #[must_use]
    pub fn pulse(&self) -> Pulse {
        let subsystems = self.shared.subsystems.values().cloned().collect();
        let neighbours = self.shared.neighbours.clone();
        Pulse { subsystems, sockets: self.sockets_runtime.clone(), neighbours }
    }

    /// Answers what was asked, closes every connection, flushes and closes the devices.
    ///
    /// # Errors
    /// [`ServeError::Device`] if one could not be closed.
    pub fn stop(mut self) -> Result<(), ServeError> {
        self.stop_sockets();
        self.shared.limits.finish();
        self.shared.subsystems.values().for_each(|subsystem| drop(subsystem.send(Request::Stop)));
        for engine in self.engines.drain(..) {
            engine.join().unwrap_or_else(|_| unreachable!("a panic there ends the process"))?;
        }
        tracing::info!("stopped: all devices are closed");
        Ok(())
    }

    fn stop_sockets(&mut self) {
        // The thread may have ended already.
        let _ = self.stop.send(true);
        for thread in [self.sockets.take(), self.metrics.take()].into_iter().flatten() {
            // A panic there ends the process.
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop_sockets();
    }
}

fn listen(runtime: &Runtime, config: &ServerConfig) -> Result<Vec<TcpListener>, ServeError> {
    let bind = |address: &SocketAddr| {
        let bound = runtime.block_on(TcpListener::bind(*address));
        bound.map_err(|error| ServeError::Listen(*address, error))
    };
    config.listen.iter().map(bind).collect()
}

fn bind_metrics(address: SocketAddr) -> Result<Endpoint, ServeError> {
    Endpoint::bind(address).map_err(|error| ServeError::Listen(address, error))
}

struct Starting {
    subsystems: BTreeMap<String, UnboundedSender<Request>>,
    engines: Vec<EngineThread>,
    redis: Vec<SocketAddr>,
    authenticator: Authenticator,
    limits: Arc<Limits>,
    slow: Option<Duration>,
}

impl Starting {
    fn start_all(&mut self, config: &ServerConfig, at: &[SocketAddr]) -> Result<Vec<String>, ServeError> {
        let (mut names, policies) = (Vec::new(), config.policies()?);
        for served in config.subsystems.iter().filter(|served| served.vfio_user.is_none()) {
            let opened = Opened::open(served)?;
            let mut described = describe(&opened, served, &config.hosts, &policies);
            described.remote_ports = remote_ports(at);
            described.namespace_rates = served.namespace_rates();
            if self.subsystems.contains_key(&described.nqn) {
                let what = format!("two subsystems have the name {}", described.nqn);
                opened.leave();
                return Err(ConfigError::new(what, "give each its own nqn").into());
            }
            names.push(described.nqn.clone());
            self.redis.extend(opened.redis_address());
            self.start(described, Some(opened), config.busy_poll)?;
        }
        let discovery = discovery(portals(&names, at));
        self.start(discovery, None, false)?;
        Ok(names)
    }

    /// One device cannot be served: those that are open already are closed in order, since nobody has used them.
    fn leave(self) {
        self.subsystems.values().for_each(|subsystem| drop(subsystem.send(Request::Stop)));
        // Why the server does not start matters more than what becomes of these.
        self.engines.into_iter().for_each(|engine| drop(engine.join()));
    }

    fn start(
        &mut self,
        described: SubsystemConfig,
        opened: Option<Opened>,
        busy_poll: bool,
    ) -> Result<(), ServeError> {
        let nqn = described.nqn.clone();
        let (requests, received) = unbounded_channel();
        let subsystem = Subsystem::new(described)?;
        let (ways, authenticator) = ((requests.downgrade(), received), self.authenticator.clone());
        let watch = Watch::new(Arc::clone(&self.limits), self.slow);
        self.engines.push(engine::start(subsystem, opened, ways, busy_poll, authenticator, watch)?);
        self.subsystems.insert(nqn, requests);
        Ok(())
    }
}

fn describe(opened: &Opened, served: &Served, hosts: &Hosts, policies: &Policies) -> SubsystemConfig {
    let ([serial, model, firmware, own], volatile_write_cache) = opened.identity();
    SubsystemConfig {
        nqn: served.nqn.clone().unwrap_or(own),
        serial,
        model,
        firmware,
        volatile_write_cache,
        vendor: opened.vendor,
        hosts: hosts.clone(),
        policies: policies.clone(),
        portals: Vec::new(),
        kind: Kind::Nvm,
        controllers_max: CONTROLLERS_MAX,
        remote_ports: BTreeSet::new(),
        namespace_rates: NamespaceRates::new(),
    }
}

/// Those of addresses that other machines reach.
fn remote_ports(at: &[SocketAddr]) -> BTreeSet<u16> {
    (1..).zip(at).filter(|(_, address)| !address.ip().is_loopback()).map(|(port, _)| port).collect()
}

/// Anybody may ask what there is; connecting is another matter.
fn discovery(portals: Vec<Portal>) -> SubsystemConfig {
    SubsystemConfig {
        nqn: DISCOVERY_NQN.into(),
        serial: "discovery".into(),
        model: "Saker discovery".into(),
        firmware: env!("CARGO_PKG_VERSION").into(),
        volatile_write_cache: false,
        vendor: None,
        hosts: Hosts::Any,
        policies: Policies::default(),
        portals,
        kind: Kind::Discovery,
        controllers_max: DISCOVERY_CONTROLLERS_MAX,
        remote_ports: BTreeSet::new(),
        namespace_rates: NamespaceRates::new(),
    }
}

fn portals(names: &[String], at: &[SocketAddr]) -> Vec<Portal> {
    let each = |nqn: &String, (id, at): (u16, &SocketAddr)| Portal {
        nqn: nqn.clone(),
        address: at.ip(),
        port: at.port(),
        id,
    };
    names.iter().flat_map(|nqn| (1..).zip(at).map(move |at| each(nqn, at))).collect()
}

async fn accept_all(listeners: Vec<TcpListener>, shared: Arc<Shared>, mut stopping: watch::Receiver<bool>) {
    let ends_process = ends_process("listener");
    let mut accepting = JoinSet::new();
    let connections = Arc::new(Semaphore::new(shared.config.connections_max));
    let strangers = Strangers::new(shared.config.handshakes_max);
    let next_id = Arc::new(AtomicU64::new(1));
    for (port, listener) in (1..).zip(listeners) {
        let acceptor = Acceptor {
            port,
            shared: Arc::clone(&shared),
            connections: Arc::clone(&connections),
            strangers: Arc::clone(&strangers),
            next_id: Arc::clone(&next_id),
            stopping: stopping.clone(),
        };
        accepting.spawn(acceptor.run(listener));
    }
    ends_process.at_work();
    // Only the sender's end of life or the word to stop ends the wait.
    tokio::select! {
        _ = stopping.changed() => {}
        () = look_after(&shared) => {}
    }
    while accepting.join_next().await.is_some() {}
    let everyone = shared.config.connections_max as u32;
    let _ = timeout(shared.config.stop_timeout, connections.acquire_many(everyone)).await;
}

/// Sees that memory does not stay with hosts that stand still, nor with the allocator, and that the log tells what it left out.
async fn look_after(Shared { memory, limits, .. }: &Shared) {
    let mut heap = Heap::default();
    loop {
        for _ in 0..LOOKS_FOR_EACH_RETURN {
            tokio::time::sleep(MEMORY_PAUSE).await;
            memory.cut(STANDSTILL);
        }
        heap.settle(memory);
        limits.settle();
    }
}

struct Acceptor {
    port: u16,
    shared: Arc<Shared>,
    connections: Arc<Semaphore>,
    strangers: Arc<Strangers>,
    next_id: Arc<AtomicU64>,
    stopping: watch::Receiver<bool>,
}

impl Acceptor {
    async fn run(mut self, listener: TcpListener) {
        let ends_process = ends_process("acceptor");
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, peer)) => {
                        ends_process.at_work();
                        count(&self.shared.sockets.accepted);
                        self.take(stream, peer).await;
                        // What has been accepted gets its turn before it can be cut for the next.
                        yield_now().await;
                    }
                    Err(why) => {
                        told!(self.shared.limits, WARN, Stranger, %why, "a connection cannot be accepted");
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                    }
                },
                _ = self.stopping.changed() => return,
            }
        }
    }

    /// Serves the socket on a task of its own, or closes it if all places are those of connected queues.
    async fn take(&self, stream: tokio::net::TcpStream, peer: SocketAddr) {
        let Some(connection) = self.place().await else {
            count(&self.shared.sockets.without_place);
            let why = "all places are those of connected queues: see connections_max";
            told!(self.shared.limits, WARN, Stranger, %peer, why, "closed without a queue");
            return;
        };
        // A host that vanishes without a word is noticed by the kernel, whether or not it uses keep alive timers.
        let keeps_alive = rustix::net::sockopt::set_socket_keepalive(&stream, true);
        if stream.set_nodelay(true).is_err() || keeps_alive.is_err() {
            return;
        }
        let id: ConnectionId = self.next_id.fetch_add(1, Ordering::Relaxed);
        let permits = Permits::new(connection, self.strangers.admit(id));
        let (shared, stopping) = (Arc::clone(&self.shared), self.stopping.clone());
        tokio::spawn(connection::serve_stranger((id, self.port, peer), stream, shared, permits, stopping));
    }

    /// A place among all connections; if all are taken, that of one without a queue.
    async fn place(&self) -> Option<OwnedSemaphorePermit> {
        let free = Arc::clone(&self.connections).try_acquire_owned().ok();
        if free.is_some() || !self.strangers.cut_one() {
            return free;
        }
        timeout(CLOSING_PAUSE, Arc::clone(&self.connections).acquire_owned()).await.ok()?.ok()
    }
}
