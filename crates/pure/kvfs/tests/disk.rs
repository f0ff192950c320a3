// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A device with a write cache whose power can be cut at any event: what is left of it is as much as NVMe promises, and no more.

use saker_kvfs::{Disk, DiskError};
use saker_sim::{Rng, Seed};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// Bytes of a block.
pub const BLOCK_BYTES: u32 = 512;

/// `None`: zeros.
type Content = Option<Arc<[u8]>>;

#[derive(Debug, Default)]
struct State {
    durable: BTreeMap<u64, Content>,
    /// Of each block what was written since the last flush, with the number of its command.
    cached: BTreeMap<u64, Vec<(u64, Content)>>,
    commands: u64,
    /// Blocks that were changed, and flushes.
    events: u64,
    /// The event at which power goes.
    cut_at: Option<u64>,
    /// Commands that fail from now on, and do nothing.
    fails: u32,
    /// Flushes that fail, and do nothing.
    failing_flushes: u32,
    /// So many commands from now on one is carried out and says that it has failed.
    lies_at: Option<u32>,
}

/// What survives of what no flush has covered.
#[derive(Clone, Copy, Debug)]
pub enum Loss {
    /// Of each block any of its states since the last flush.
    Blocks,
    /// Some commands.
    Commands,
    /// All of it.
    Nothing,
    /// Nothing of it.
    Everything,
}

impl Loss {
    pub const ALL: [Self; 4] = [Self::Blocks, Self::Commands, Self::Nothing, Self::Everything];
}

/// Clones are the same device.
#[derive(Clone, Debug)]
pub struct Cached {
    state: Rc<RefCell<State>>,
    blocks: u64,
}

impl Cached {
    pub fn new(blocks: u64) -> Self {
        Self { state: Rc::default(), blocks }
    }

    pub fn events(&self) -> u64 {
        self.state.borrow().events
    }

    pub fn cut_at(&self, event: u64) {
        self.state.borrow_mut().cut_at = Some(event);
    }

    pub fn fail(&self, commands: u32) {
        self.state.borrow_mut().fails = commands;
    }

    pub fn fail_flushes(&self, flushes: u32) {
        self.state.borrow_mut().failing_flushes = flushes;
    }

    /// Behind so many writes one is carried out and fails all the same.
    pub fn lie_behind(&self, writes: u32) {
        self.state.borrow_mut().lies_at = Some(writes);
    }

    /// Changes bytes of a block behind everybody's back.
    pub fn forge(&self, block: u64, change: impl FnOnce(&mut [u8])) {
        let mut bytes = vec![0; BLOCK_BYTES as usize];
        self.clone().read(block, &mut bytes).expect("it is on");
        change(&mut bytes);
        let mut state = self.state.borrow_mut();
        state.cached.remove(&block);
        state.durable.insert(block, Some(bytes.into()));
    }

    /// The device when power comes back.
    pub fn after_cut(&self, loss: Loss, seed: Seed) -> Self {
        let state = self.state.borrow();
        let mut durable = state.durable.clone();
        let coin = |seed: Seed| seed.rng().below(2) == 0;
        for (block, changes) in &state.cached {
            for (command, content) in changes {
                let stays = match loss {
                    Loss::Blocks => coin(seed.index(*command).index(*block)),
                    Loss::Commands => coin(seed.index(*command)),
                    Loss::Nothing => true,
                    Loss::Everything => false,
                };
                if stays {
                    durable.insert(*block, content.clone());
                }
            }
        }
        Self { state: Rc::new(RefCell::new(State { durable, ..State::default() })), blocks: self.blocks }
    }

    fn change(&self, first: u64, contents: impl Iterator<Item = Content>) -> Result<(), DiskError> {
        let mut state = self.state.borrow_mut();
        state.powered()?;
        state.commands += 1;
        let command = state.commands;
        for (at, content) in (first..).zip(contents) {
            assert!(at < self.blocks, "block {at} is behind the end");
            state.event()?;
            state.cached.entry(at).or_default().push((command, content));
        }
        state.lies_at = state.lies_at.map(|left| left.wrapping_sub(1));
        if state.lies_at == Some(u32::MAX) { Err(DiskError::new("done, and denied")) } else { Ok(()) }
    }
}

impl State {
    fn powered(&mut self) -> Result<(), DiskError> {
        if self.fails > 0 {
            self.fails -= 1;
            return Err(DiskError::new("planted"));
        }
        match self.cut_at.is_some_and(|at| self.events >= at) {
            true => Err(DiskError::new("no power")),
            false => Ok(()),
        }
    }

    fn event(&mut self) -> Result<(), DiskError> {
        self.powered()?;
        self.events += 1;
        Ok(())
    }
}

impl Disk for Cached {
    fn block_bytes(&self) -> u32 {
        BLOCK_BYTES
    }

    fn blocks(&self) -> u64 {
        self.blocks
    }

    fn read(&mut self, first: u64, out: &mut [u8]) -> Result<(), DiskError> {
        let mut state = self.state.borrow_mut();
        state.powered()?;
        for (at, out) in (first..).zip(out.chunks_mut(BLOCK_BYTES as usize)) {
            assert!(at < self.blocks, "block {at} is behind the end");
            let cached = state.cached.get(&at).and_then(|changes| changes.last()).map(|(_, content)| content);
            match cached.or_else(|| state.durable.get(&at)) {
                Some(Some(bytes)) => out.copy_from_slice(bytes),
                _ => out.fill(0),
            }
        }
        Ok(())
    }

    fn write(&mut self, first: u64, data: &[u8]) -> Result<(), DiskError> {
        assert!(data.len().is_multiple_of(BLOCK_BYTES as usize), "whole blocks are written");
        self.change(first, data.chunks(BLOCK_BYTES as usize).map(|bytes| Some(bytes.into())))
    }

    fn trim(&mut self, first: u64, blocks: u64) -> Result<(), DiskError> {
        self.change(first, (0..blocks).map(|_| None))
    }

    fn flush(&mut self) -> Result<(), DiskError> {
        let mut state = self.state.borrow_mut();
        state.event()?;
        if state.failing_flushes > 0 {
            state.failing_flushes -= 1;
            return Err(DiskError::new("planted"));
        }
        for (block, changes) in std::mem::take(&mut state.cached) {
            if let Some((_, content)) = changes.into_iter().last() {
                state.durable.insert(block, content);
            }
        }
        Ok(())
    }
}

/// Bytes that differ by place and by `salt`.
pub fn bytes(rng: &mut Rng, most: u64) -> Vec<u8> {
    let mut bytes = vec![0; rng.below(most + 1) as usize];
    rng.fill(&mut bytes);
    bytes
}
