// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A block namespace for several threads: commands of all of them are in flight at once.

use super::Block;
use super::data::{FLYING_MAX, pieces};
use crate::error::Error;
use saker_host::host_kv::BlockQueue;
use saker_host::{Driver, HostError, ProtocolError};
use saker_nvme::Status;
use saker_runtime::pause::Pausing;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Looks at the queue before another thread has it.
const LOOKS: u32 = 32;
/// How long a call waits for an answer, whoever else waits beside it: as long as one of [`Block`] does by itself.
const PATIENCE: Duration = Duration::from_secs(60);

/// A block namespace that several threads use: clones share the device. A call waits for its own commands alone, and others go on meanwhile.
///
/// Calls that overlap have no order: whoever writes blocks that another call reads or writes waits for that first.
///
/// ```
/// let disk = saker::Block::open("mem:?blocks=1MiB&size=8MiB&profile=tiny&threads=1")?.share();
/// let bytes = disk.block_bytes() as usize;
/// std::thread::scope(|scope| {
///     for n in 0..4 {
///         let disk = disk.clone();
///         scope.spawn(move || disk.write(n, &vec![n as u8; bytes]).expect("writes"));
///     }
/// });
/// let mut third = vec![0; bytes];
/// disk.read(3, &mut third)?;
/// assert_eq!(third, vec![3; bytes]);
/// disk.close()?;
/// assert!(disk.read(3, &mut third).is_err(), "it is closed for all of them");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SharedBlock {
    shared: Arc<Mutex<Shared>>,
    block_bytes: u32,
    blocks: u64,
}

/// How a command ended, with the data of a read.
type Answer = (Status, Vec<u8>);

#[derive(Debug)]
struct Shared {
    /// `None`: it is closed.
    block: Option<Block>,
    /// Commands that somebody waits for, with what another thread has taken from the queue for them.
    awaited: BTreeMap<u64, Option<Answer>>,
}

/// What goes to the device: it says whether a command took a part of the bytes.
type Submit<'a> = dyn FnMut(&mut Block, u64, &Range<usize>) -> Option<u64> + 'a;

/// Commands of one call.
struct Call<'a> {
    submit: &'a mut Submit<'a>,
    take: &'a mut dyn FnMut(&Range<usize>, &[u8]) -> bool,
    parts: &'a mut dyn Iterator<Item = (u64, Range<usize>)>,
    next: Option<(u64, Range<usize>)>,
    flying: Vec<(u64, Range<usize>)>,
    done: Result<(), Error>,
}

impl Block {
    /// For several threads.
    ///
    /// ```
    /// let disk = saker::Block::open("mem:?blocks=1MiB&size=8MiB&profile=tiny")?.share();
    /// assert_eq!(disk.blocks() * u64::from(disk.block_bytes()), 1 << 20);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn share(self) -> SharedBlock {
        let (block_bytes, blocks) = (self.block_bytes(), self.blocks());
        let shared = Shared { block: Some(self), awaited: BTreeMap::new() };
        SharedBlock { shared: Arc::new(Mutex::new(shared)), block_bytes, blocks }
    }
}

fn closed() -> Error {
    let todo = "open it again".into();
    Error::Setting { what: "the device is closed".into(), todo }
}

impl Call<'_> {
    /// Whether nothing is left to wait for.
    fn is_over(&self) -> bool {
        self.flying.is_empty() && (self.next.is_none() || self.done.is_err())
    }

    /// Sends what the queue takes.
    fn send(&mut self, block: &mut Block, awaited: &mut BTreeMap<u64, Option<Answer>>) {
        while self.done.is_ok() && self.flying.len() < FLYING_MAX {
            let Some((at, part)) = self.next.as_ref() else { break };
            match (self.submit)(block, *at, part) {
                Some(ticket) => {
                    awaited.insert(ticket, None);
                    self.flying.push((ticket, part.clone()));
                    self.next = self.parts.next();
                }
                // Nothing is in flight, so it is not for want of a slot.
                None if awaited.is_empty() => self.done = Err(HostError::from(ProtocolError::Queues).into()),
                None => break,
            }
        }
        block.queue.ring();
    }

    /// One of the commands has ended.
    fn answered(&mut self, at: usize, status: Status, data: &[u8]) {
        let (_, part) = self.flying.swap_remove(at);
        let answer = match status.is_success() {
            false => Err(HostError::from(status).into()),
            true if (self.take)(&part, data) => Ok(()),
            true => Err(HostError::from(ProtocolError::Format).into()),
        };
        if self.done.is_ok() {
            self.done = answer;
        }
    }

    /// Takes what other threads have found.
    fn collect(&mut self, awaited: &mut BTreeMap<u64, Option<Answer>>) {
        for at in (0..self.flying.len()).rev() {
            let ticket = self.flying[at].0;
            if let Some(Some(_)) = awaited.get(&ticket)
                && let Some(Some((status, data))) = awaited.remove(&ticket)
            {
                self.answered(at, status, &data);
            }
        }
    }

    /// Takes one completion from the queue, whosever it is. False: there is none.
    fn look(&mut self, block: &mut Block, awaited: &mut BTreeMap<u64, Option<Answer>>) -> bool {
        let looked = block.queue.poll_with(|ticket, status, data| {
            match self.flying.iter().position(|(own, _)| *own == ticket) {
                Some(at) => {
                    awaited.remove(&ticket);
                    self.answered(at, status, data);
                }
                // Of a call that gave up waiting nobody wants to know.
                None => {
                    if let Some(answer) = awaited.get_mut(&ticket) {
                        *answer = Some((status, data.to_vec()));
                    }
                }
            }
        });
        looked.is_some()
    }
}

impl SharedBlock {
    /// Bytes of a block.
    #[must_use]
    pub fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    /// How many blocks there are.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads whole blocks, as [`Block::read`].
    ///
    /// # Errors
    /// As of [`Block::read`]; the device is closed.
    pub fn read(&self, first: u64, out: &mut [u8]) -> Result<(), Error> {
        self.check(first, out.len())?;
        self.fetch(first, 0, out)
    }

    /// Reads bytes, as [`Block::read_at`].
    ///
    /// # Errors
    /// As of [`Self::read`].
    pub fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<(), Error> {
        let block = u64::from(self.block_bytes);
        let (first, skip) = (offset / block, (offset % block) as usize);
        self.check(first, (skip + out.len()).next_multiple_of(block as usize))?;
        self.fetch(first, skip, out)
    }

    fn fetch(&self, first: u64, skip: usize, out: &mut [u8]) -> Result<(), Error> {
        let block_bytes = self.block_bytes;
        let whole = (skip + out.len()).next_multiple_of(block_bytes as usize);
        let mut submit =
            |disk: &mut Block, at, part: &Range<usize>| disk.queue.read(at, part.len() as u32 / block_bytes);
        let mut take = |part: &Range<usize>, data: &[u8]| super::data::take_part(part, data, skip, out);
        self.run(&mut pieces(first, block_bytes, whole), &mut submit, &mut take)
    }

    /// Writes whole blocks, as [`Block::write`].
    ///
    /// # Errors
    /// As of [`Block::write`]; the device is closed.
    pub fn write(&self, first: u64, data: &[u8]) -> Result<(), Error> {
        self.check(first, data.len())?;
        let mut submit = |disk: &mut Block, at, part: &Range<usize>| {
            disk.queue.write(at, data[part.clone()].to_vec()).ok()
        };
        self.run(&mut pieces(first, self.block_bytes, data.len()), &mut submit, &mut |_, _| true)
    }

    /// Deallocates blocks, as [`Block::trim`].
    ///
    /// # Errors
    /// As of [`Block::trim`]; the device is closed.
    pub fn trim(&self, first: u64, blocks: u64) -> Result<(), Error> {
        let bytes = blocks.saturating_mul(u64::from(self.block_bytes));
        self.check(first, usize::try_from(bytes).unwrap_or(usize::MAX))?;
        let step = u64::from(u32::MAX);
        let starts = (0..blocks).step_by(step as usize);
        // A part says how many blocks a command has.
        let mut parts = starts.map(|from| (first + from, 0..step.min(blocks - from) as usize));
        let mut submit =
            |disk: &mut Block, at, part: &Range<usize>| disk.queue.deallocate(at, part.len() as u64);
        self.run(&mut parts, &mut submit, &mut |_, _| true)
    }

    /// Returns when everything that calls have written that have returned survives a power cut.
    ///
    /// # Errors
    /// As of [`Block::flush`]; the device is closed.
    pub fn flush(&self) -> Result<(), Error> {
        let mut submit = |disk: &mut Block, _, _: &Range<usize>| disk.queue.flush();
        self.run(&mut std::iter::once((0, 0..0)), &mut submit, &mut |_, _| true)
    }

    /// Events of a device that keeps time, as [`Block::lag`].
    #[must_use]
    pub fn lag(&self) -> Option<(u64, u64)> {
        self.lock().block.as_ref().and_then(Block::lag)
    }

    /// Everything countable, as [`Block::stats`].
    #[must_use]
    pub fn stats(&self) -> Option<crate::Stats> {
        self.lock().block.as_mut().and_then(Block::stats)
    }

    /// Closes the device in order, for all that share it: what they have in flight is told that it is closed.
    ///
    /// # Errors
    /// As of [`Block::close`]; the device is closed.
    pub fn close(&self) -> Result<(), Error> {
        let mut shared = self.lock();
        let mut block = shared.block.take().ok_or_else(closed)?;
        let mut awaited = std::mem::take(&mut shared.awaited);
        drop(shared);
        // What is in flight ends first: closing sends commands of its own, and the queue may be full.
        awaited.retain(|_, answer| answer.is_none());
        let begun = Instant::now();
        while !awaited.is_empty() && begun.elapsed() < PATIENCE {
            if block.queue.poll_with(|ticket, _, _| awaited.remove(&ticket)).is_none() {
                block.driver.drive();
            }
        }
        block.close()
    }

    fn check(&self, first: u64, bytes: usize) -> Result<(), Error> {
        super::data::check((self.block_bytes, self.blocks), first, bytes)
    }

    /// Sends the commands of a call, several at a time, and waits for all of them.
    fn run<'a>(
        &self,
        parts: &'a mut dyn Iterator<Item = (u64, Range<usize>)>,
        submit: &'a mut Submit<'a>,
        take: &'a mut dyn FnMut(&Range<usize>, &[u8]) -> bool,
    ) -> Result<(), Error> {
        let next = parts.next();
        let mut call = Call { submit, take, parts, next, flying: Vec::new(), done: Ok(()) };
        let (mut pause, mut turns, mut begun) = (Pausing::default(), 0, None);
        loop {
            let mut shared = self.lock();
            let Shared { block, awaited } = &mut *shared;
            let block = block.as_mut().ok_or_else(closed)?;
            call.collect(awaited);
            call.send(block, awaited);
            for _ in 0..LOOKS {
                if call.is_over() {
                    return call.done;
                }
                turns += 1;
                if call.look(block, awaited) {
                    call.send(block, awaited);
                } else {
                    block.driver.drive();
                }
            }
            if begun.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
                call.flying.iter().for_each(|(ticket, _)| _ = awaited.remove(ticket));
                return Err(HostError::Timeout { turns }.into());
            }
            drop(shared);
            pause.drive();
        }
    }
}
