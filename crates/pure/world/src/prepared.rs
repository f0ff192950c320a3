//! A device that was filled without time, to begin any number of timed runs from.

use crate::joined::Inline;
use crate::result::{Job, Side};
use crate::running::Running;
use saker_assembly::{Build, port};
use saker_device::{Costs, Snapshot, timings};
use saker_host::{ClientOptions, ConnectOptions, Connection, HostError, KvClient};
use saker_nvme::Key;

/// Commands in flight while it is filled.
const DEPTH: u16 = 32;

/// A device without time, and its client.
pub struct Prepared {
    build: Build,
    client: KvClient<Inline>,
}

impl Prepared {
    /// An empty device of that build.
    ///
    /// # Errors
    /// [`HostError`] if it cannot be connected to.
    pub fn start(build: &Build) -> Result<Self, HostError> {
        let host = build.attach(1, DEPTH);
        let port = port(&host);
        let mut device = Inline(build.untimed(host));
        let mut connection = Connection::connect(port, &mut device, ConnectOptions::default())?;
        let options = ClientOptions { depth: DEPTH, ..ClientOptions::default() };
        let client = KvClient::open(&mut connection, device, 1, options)?;
        Ok(Self { build: build.clone(), client })
    }

    /// Carries operations out, one after the other.
    ///
    /// # Errors
    /// [`HostError`] of the first that fails.
    pub fn run(&mut self, operations: impl IntoIterator<Item = Side>) -> Result<(), HostError> {
        operations.into_iter().try_for_each(|operation| match operation {
            Side::Put(key, value) => self.client.put(&checked(&key)?, &value),
            Side::Get(key) => self.client.get(&checked(&key)?).map(drop),
            Side::Wait => Ok(()),
        })
    }

    /// A device in virtual time in this one's state, for jobs with the threads and the depth of `like`.
    ///
    /// # Errors
    /// [`HostError`] if it cannot be connected to.
    pub fn fork(&mut self, like: &Job) -> Result<Running, HostError> {
        let host = self.build.attach(like.threads.max(1) as u16, like.depth.max(1));
        let profile = &self.build.profile;
        let device = self.client.turn_mut().0.fork_timed(timings(profile), Costs::of(profile), host);
        Running::on(device, &self.build, like)
    }

    /// The device's counters.
    pub fn snapshot(&mut self) -> Snapshot {
        self.client.turn_mut().0.snapshot()
    }
}

fn checked(key: &[u8]) -> Result<Key, HostError> {
    Key::new(key).map_err(HostError::from)
}
