// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A block device in memory: what a power cut leaves of it is as much as NVMe promises, and no more.
//!
//! - Commands that are on their way are carried out in any order. What is carried out has completed.
//! - A write cache keeps what was written and deallocated. A Flush makes durable what had completed when it was submitted.
//! - At a cut each block is by itself as it was at the last Flush, or as any later command left it, those included that are on their
//!   way: no device of ours promises more than whole blocks (AWUPF is 0), and none keeps an order between commands.
//! - Deallocated blocks read as zeros. That is in the cache, too, until a Flush.
//! - Without a write cache what has completed is durable.

use saker_host::host_kv::{BlockDone, BlockQueue};
use saker_nvme::Status;
use saker_sim::{Rng, Seed};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of a block.
pub const BLOCK_BYTES: u32 = 512;
/// Commands that the queue takes at once.
const DEPTH: usize = 12;

/// A block's bytes; `None`: zeros.
type Content = Option<Arc<[u8]>>;

#[derive(Clone, Debug)]
enum Command {
    Write {
        first: u64,
        data: Vec<u8>,
    },
    Deallocate {
        first: u64,
        blocks: u64,
    },
    Read {
        first: u64,
        blocks: u32,
    },
    /// With the number of commands that were carried out when it was submitted.
    Flush {
        covers: u64,
    },
}

/// What a command makes of a block.
#[derive(Clone, Debug)]
struct Change {
    /// When it was carried out.
    at: u64,
    ticket: u64,
    content: Content,
}

/// What survives a cut, of what no Flush has covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Of each block any of its changes.
    Blocks,
    /// Some commands, whole.
    Commands,
    /// All that has completed.
    Nothing,
    /// Nothing.
    Everything,
    /// All writes, those on their way too, and no deallocation.
    Deallocations,
    /// All deallocations, and no write.
    Writes,
}

impl Loss {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Blocks, Self::Commands, Self::Nothing, Self::Everything, Self::Deallocations, Self::Writes];

    /// Whether a change is there after the cut.
    fn leaves(self, change: &Change, lba: u64, is_on_way: bool, seed: Seed) -> bool {
        let coin = |seed: Seed| seed.rng().below(2) == 0;
        match self {
            Self::Blocks => coin(seed.index(change.ticket).index(lba)),
            Self::Commands => coin(seed.index(change.ticket)),
            Self::Nothing => !is_on_way,
            Self::Everything => false,
            Self::Deallocations => change.content.is_some(),
            Self::Writes => change.content.is_none(),
        }
    }
}

#[derive(Debug)]
struct State {
    is_volatile: bool,
    durable: Vec<Content>,
    /// Changes that no Flush has covered, the oldest first.
    cached: BTreeMap<u64, Vec<Change>>,
    /// Submitted since the doorbell was rung.
    unrung: VecDeque<(u64, Command)>,
    on_way: Vec<(u64, Command)>,
    completed: VecDeque<BlockDone>,
    tickets: u64,
    carried_out: u64,
    /// The next so many Flushes fail.
    failing_flushes: u32,
    rng: Rng,
}

/// The device; clones are the same one.
#[derive(Clone, Debug)]
pub struct Disk(Arc<Mutex<State>>);

impl Disk {
    /// A device that was never written. `is_volatile`: with a write cache.
    pub fn new(blocks: u64, is_volatile: bool, seed: u64) -> Self {
        Self::with(vec![None; blocks as usize], is_volatile, Seed(seed))
    }

    fn with(durable: Vec<Content>, is_volatile: bool, seed: Seed) -> Self {
        Self(Arc::new(Mutex::new(State {
            is_volatile,
            durable,
            cached: BTreeMap::new(),
            unrung: VecDeque::new(),
            on_way: Vec::new(),
            completed: VecDeque::new(),
            tickets: 0,
            carried_out: 0,
            failing_flushes: 0,
            rng: seed.child("order").rng(),
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries out one command. False: there is none.
    pub fn step(&self) -> bool {
        self.state().step()
    }

    /// Whether a command is on its way that changes what a cut leaves.
    pub fn is_changing(&self) -> bool {
        self.state().on_way.iter().any(|(_, command)| !matches!(command, Command::Read { .. }))
    }

    /// The device as it is when power comes back after it is cut now.
    pub fn cut(&self, loss: Loss, seed: u64) -> Self {
        let state = self.state();
        let mut durable = state.durable.clone();
        for (lba, changes) in state.changes() {
            let mut left = changes.iter().rev();
            let left = left.find(|(change, is_on_way)| loss.leaves(change, lba, *is_on_way, Seed(seed)));
            left.into_iter().for_each(|(change, _)| durable[lba as usize] = change.content.clone());
        }
        Self::with(durable, state.is_volatile, Seed(seed))
    }

    /// The next so many Flushes fail.
    pub fn fail_flushes(&self, count: u32) {
        self.state().failing_flushes = count;
    }
}

impl State {
    fn step(&mut self) -> bool {
        if self.on_way.is_empty() {
            return false;
        }
        let next = self.rng.below(self.on_way.len() as u64) as usize;
        let (ticket, command) = self.on_way.swap_remove(next);
        self.carried_out += 1;
        let (mut data, mut status) = (None, Status::SUCCESS);
        match command {
            Command::Read { first, blocks } => data = Some(self.read(first, blocks)),
            Command::Flush { covers } if self.failing_flushes == 0 => self.flush(covers),
            Command::Flush { .. } => {
                self.failing_flushes -= 1;
                status = Status::WRITE_FAULT;
            }
            Command::Write { .. } | Command::Deallocate { .. } => {
                for (lba, content) in contents(&command) {
                    self.change(lba, Change { at: self.carried_out, ticket, content });
                }
            }
        }
        self.completed.push_back(BlockDone { ticket, status, data });
        true
    }

    fn change(&mut self, lba: u64, change: Change) {
        if self.is_volatile {
            self.cached.entry(lba).or_default().push(change);
        } else {
            self.durable[lba as usize] = change.content;
        }
    }

    fn flush(&mut self, covers: u64) {
        self.cached.retain(|lba, changes| {
            let covered = changes.iter().take_while(|change| change.at <= covers).count();
            if let Some(last) = changes.drain(..covered).next_back() {
                self.durable[*lba as usize] = last.content;
            }
            !changes.is_empty()
        });
    }

    fn read(&self, first: u64, blocks: u32) -> Vec<u8> {
        let mut out = Vec::with_capacity((blocks * BLOCK_BYTES) as usize);
        for lba in first..first + u64::from(blocks) {
            let newest = self.cached.get(&lba).and_then(|changes| changes.last());
            match newest.map_or(&self.durable[lba as usize], |change| &change.content) {
                Some(bytes) => out.extend_from_slice(bytes),
                None => out.resize(out.len() + BLOCK_BYTES as usize, 0),
            }
        }
        out
    }

    /// What may be of each block, the oldest first, and whether the command is still on its way.
    fn changes(&self) -> BTreeMap<u64, Vec<(Change, bool)>> {
        let cached = self.cached.iter();
        let mut all: BTreeMap<u64, Vec<_>> = cached
            .map(|(lba, changes)| (*lba, changes.iter().map(|change| (change.clone(), false)).collect()))
            .collect();
        for (ticket, command) in &self.on_way {
            for (lba, content) in contents(command) {
                let change = Change { at: u64::MAX, ticket: *ticket, content };
                all.entry(lba).or_default().push((change, true));
            }
        }
        all
    }

    fn submit(&mut self, command: Command) -> Option<u64> {
        if self.unrung.len() + self.on_way.len() == DEPTH {
            return None;
        }
        self.tickets += 1;
        self.unrung.push_back((self.tickets, command));
        Some(self.tickets)
    }
}

/// What a command makes of blocks.
fn contents(command: &Command) -> Vec<(u64, Content)> {
    match command {
        Command::Write { first, data } => {
            let blocks = data.chunks_exact(BLOCK_BYTES as usize);
            (*first..).zip(blocks.map(|bytes| Some(bytes.into()))).collect()
        }
        Command::Deallocate { first, blocks } => (*first..first + blocks).map(|lba| (lba, None)).collect(),
        Command::Read { .. } | Command::Flush { .. } => Vec::new(),
    }
}

impl BlockQueue for Disk {
    fn block_bytes(&self) -> u32 {
        BLOCK_BYTES
    }

    fn blocks(&self) -> u64 {
        self.state().durable.len() as u64
    }

    fn is_volatile(&self) -> bool {
        self.state().is_volatile
    }

    fn write(&mut self, first: u64, data: Vec<u8>) -> Result<u64, Vec<u8>> {
        let kept = data.clone();
        self.state().submit(Command::Write { first, data }).ok_or(kept)
    }

    fn read(&mut self, first: u64, blocks: u32) -> Option<u64> {
        self.state().submit(Command::Read { first, blocks })
    }

    fn deallocate(&mut self, first: u64, blocks: u64) -> Option<u64> {
        self.state().submit(Command::Deallocate { first, blocks })
    }

    fn flush(&mut self) -> Option<u64> {
        let mut state = self.state();
        let covers = state.carried_out;
        state.submit(Command::Flush { covers })
    }

    fn poll(&mut self) -> Option<BlockDone> {
        self.state().completed.pop_front()
    }

    fn unrung(&self) -> u32 {
        self.state().unrung.len() as u32
    }

    fn ring(&mut self) {
        let mut state = self.state();
        let rung = std::mem::take(&mut state.unrung);
        state.on_way.extend(rung);
    }
}
