// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The namespace behind local rings.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use saker_link::{DmaSpace, Doorbells, Registers, RelayPair};
use saker_nvme::transfer::Contents;
use thiserror::Error;

use crate::admin::QUEUE_PAIRS;
use crate::flights::{Flight, Flights};
use crate::node::Node;
use crate::pauses::REST;
use crate::registers::publish;
use crate::ring::Ring;

/// How I/O commands are handed to the kernel.
///
/// ```
/// use saker_linux::Submission;
/// assert_eq!(Submission::default(), Submission::Any); // io_uring if the kernel lets us
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Submission {
    /// By io_uring where the kernel has it, else by ioctls.
    #[default]
    Any,
    /// By io_uring.
    Uring,
    /// By ioctls, one command at a time.
    Ioctl,
}

/// Which namespace, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The device file.
    pub path: PathBuf,
    /// How commands are handed over.
    pub submission: Submission,
    /// Commands in flight.
    pub depth: u16,
    /// How long commands that only read are repeated while the kernel has no connection.
    pub patience: Duration,
}

/// Why a namespace cannot be used. One line, with what to do.
#[derive(Debug, Error)]
pub enum LinuxError {
    /// The file cannot be opened, or is no namespace.
    #[error("{0}: {1}; name a namespace's device such as /dev/ng0n1, as somebody who may use it")]
    Node(PathBuf, std::io::Error),
    /// No io_uring.
    #[error("io_uring with entries of 128 bytes is not to be had: {0}; use Linux 5.19 or later, or io=ioctl")]
    Ring(std::io::Error),
}

/// A namespace. [`Passthrough::advance`] does all the work.
#[derive(Debug)]
pub struct Passthrough {
    pub(crate) node: Node,
    pub(crate) ring: Option<Ring>,
    /// io_uring is not insisted on: a file that refuses it is used by ioctls.
    pub(crate) may_fall_back: bool,
    /// The file has refused commands by io_uring.
    pub(crate) is_refused: bool,
    pub(crate) patience: Duration,
    pub(crate) space: Arc<DmaSpace>,
    pub(crate) registers: Arc<Registers>,
    pub(crate) doorbells: Arc<Doorbells>,
    pub(crate) changes_seen: u32,
    /// By QID; the admin queue is the first.
    pub(crate) queues: Vec<Option<RelayPair>>,
    /// Completion queues whose submission queue is to come: QID, base, entries.
    pub(crate) completion_queues: Vec<(u16, u64, u32)>,
    pub(crate) contents: BTreeMap<u32, Contents>,
    pub(crate) flights: Flights,
    /// Commands to repeat, and when.
    pub(crate) retries: Vec<(Instant, Flight)>,
    pub(crate) idle_turns: u32,
    pub(crate) repeated: u64,
}

/// Turns without any completion before a turn waits for one.
const SPINS: u32 = 64;
/// How long the end waits for commands in flight.
const FAREWELL: Duration = Duration::from_secs(5);

impl Passthrough {
    /// Opens the namespace. `space` is the host library's memory.
    ///
    /// # Errors
    /// [`LinuxError`].
    pub fn open(options: Options, space: Arc<DmaSpace>) -> Result<Self, LinuxError> {
        let node =
            Node::open(&options.path, options.patience).map_err(|error| node_error(&options.path, error))?;
        let ring = match options.submission {
            Submission::Ioctl => None,
            Submission::Any => Ring::new(u32::from(options.depth)).ok(),
            Submission::Uring => Some(Ring::new(u32::from(options.depth)).map_err(LinuxError::Ring)?),
        };
        let registers = Arc::new(Registers::new());
        publish(&registers);
        Ok(Self {
            node,
            ring,
            may_fall_back: options.submission == Submission::Any,
            is_refused: false,
            patience: options.patience,
            space,
            registers,
            doorbells: Doorbells::new(QUEUE_PAIRS + 1),
            changes_seen: 0,
            queues: Vec::new(),
            completion_queues: Vec::new(),
            contents: BTreeMap::new(),
            flights: Flights::default(),
            retries: Vec::new(),
            idle_turns: 0,
            repeated: 0,
        })
    }

    /// The host library's memory.
    #[must_use]
    pub const fn space(&self) -> &Arc<DmaSpace> {
        &self.space
    }

    /// The register block.
    #[must_use]
    pub const fn registers(&self) -> &Arc<Registers> {
        &self.registers
    }

    /// The doorbells.
    #[must_use]
    pub const fn doorbells(&self) -> &Arc<Doorbells> {
        &self.doorbells
    }

    /// The namespace.
    #[must_use]
    pub const fn nsid(&self) -> u32 {
        self.node.nsid
    }

    /// Whether commands go by io_uring.
    #[must_use]
    pub const fn is_by_ring(&self) -> bool {
        self.ring.is_some()
    }

    /// How often a command was repeated because the kernel had no connection.
    #[must_use]
    pub const fn repeated(&self) -> u64 {
        self.repeated
    }

    /// Hands over what there is and takes completions. While commands are in flight and none completes, it waits, a moment
    /// at most.
    pub fn advance(&mut self) {
        self.follow_registers();
        let mut moved = self.fetch_all();
        self.repeat_due();
        self.submit();
        moved |= self.reap();
        if moved || (self.flights.is_empty() && self.retries.is_empty()) {
            self.idle_turns = 0;
            return;
        }
        self.idle_turns += 1;
        if self.idle_turns > SPINS {
            self.rest();
        }
    }

    fn rest(&mut self) {
        match &mut self.ring {
            // A ring that fails tells so at the next submission.
            Some(ring) if !self.flights.is_empty() => drop(ring.wait(REST)),
            _ => std::thread::sleep(REST),
        }
    }
}

impl Drop for Passthrough {
    fn drop(&mut self) {
        let deadline = Instant::now() + FAREWELL;
        while !self.flights.is_empty() && Instant::now() < deadline {
            self.submit();
            self.rest();
            while let Some((at, _)) = self.ring.as_mut().and_then(Ring::next_done) {
                self.flights.remove(at);
            }
        }
        self.flights.forget();
    }
}

fn node_error(path: &Path, error: std::io::Error) -> LinuxError {
    LinuxError::Node(path.to_owned(), error)
}
