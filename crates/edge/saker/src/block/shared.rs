// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A block namespace for several threads: commands of all of them are in flight at once.

mod call;
mod data;

use super::Block;
use super::pieces::check;
use crate::error::Error;
use call::{Awaited, Call, Submit};
use saker_host::{Driver, HostError};
use saker_runtime::pause::Pausing;
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
/// let disk: saker::SharedBlock = saker::Block::open("mem:?blocks=1MiB&size=8MiB&profile=tiny&threads=1")?.share();
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

#[derive(Debug)]
struct Shared {
    /// `None`: it is closed.
    block: Option<Block>,
    awaited: Awaited,
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
        let shared = Shared { block: Some(self), awaited: Awaited::new() };
        SharedBlock { shared: Arc::new(Mutex::new(shared)), block_bytes, blocks }
    }
}

fn closed() -> Error {
    let todo = "open it again".into();
    Error::Setting { what: "the device is closed".into(), todo }
}

impl SharedBlock {
    /// Bytes of a block.
    ///
    /// ```
    /// # let disk = saker::Block::open("mem:?blocks=1MiB&size=8MiB&profile=tiny")?.share();
    /// assert_eq!(disk.block_bytes(), 2048);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    /// How many blocks there are.
    ///
    /// ```
    /// # let disk = saker::Block::open("mem:?blocks=1MiB&size=8MiB&profile=tiny")?.share();
    /// assert_eq!(disk.blocks(), 512);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Events of a device that keeps time, as [`Block::lag`].
    ///
    /// ```
    /// # let disk = saker::Block::open("mem:?blocks=1MiB&size=8MiB&profile=tiny")?.share();
    /// assert_eq!(disk.lag(), None, "it does not keep time");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn lag(&self) -> Option<(u64, u64)> {
        self.lock().block.as_ref().and_then(Block::lag)
    }

    /// Everything countable, as [`Block::stats`].
    ///
    /// ```
    /// # let disk = saker::Block::open("mem:?blocks=1MiB&size=8MiB&profile=tiny")?.share();
    /// let stats = disk.stats().expect("the device is on this thread");
    /// assert!(stats.namespaces.iter().any(|namespace| namespace.kind == "block"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn stats(&self) -> Option<crate::Stats> {
        self.lock().block.as_mut().and_then(Block::stats)
    }

    /// Closes the device in order, for all that share it: what they have in flight is told that it is closed.
    ///
    /// # Errors
    /// As of [`Block::close`]; the device is closed.
    ///
    /// ```
    /// # let disk = saker::Block::open("mem:?blocks=1MiB&size=8MiB&profile=tiny")?.share();
    /// disk.close()?;
    /// assert_eq!(disk.flush().unwrap_err().to_string(), "the device is closed; open it again");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
        check((self.block_bytes, self.blocks), first, bytes)
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
