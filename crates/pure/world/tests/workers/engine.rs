// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An engine whose pairs are with a thread of its own: a put is answered when the thread has it, and now and then the thread is
//! busy with itself.

use saker_engine::{
    Background, Capabilities, Capability, Condition, Context, Engine, EngineConfig, Factory, Groups, Hints,
    Inspect, Job, KvError, List, Progress, Put, Recover, Scans, Sink, Source, StoreStats, Token, Version,
};
use saker_log::recover::Damage;
use saker_segment_store::{Completion, SegmentStore, Stall, Step, Tag};
use saker_sim::{Digest, Meter};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Pairs that it takes.
pub const PAIRS_MAX: usize = 300;
/// After so many puts the thread is busy for a while.
const PUTS_BETWEEN: u64 = 16;
/// That while: much longer than it takes to ask again as often as a device without time does.
const BUSY: Duration = Duration::from_millis(3);
/// How long a put takes.
const PUT: Duration = Duration::from_micros(100);

pub const CAPABILITIES: Capabilities = Capabilities::of(&[Capability::Workers]);

/// How a put ended.
type Ended = (Token, Result<Version, KvError>);

type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;

/// A put on its way to the thread.
struct Work(Token, Vec<u8>, Vec<u8>);

/// What both sides see.
#[derive(Default)]
struct Shared {
    pairs: Mutex<Pairs>,
    is_busy: AtomicBool,
}

/// The engine's side.
pub struct Remote {
    shared: Arc<Shared>,
    work: Sender<Work>,
    ended: Receiver<Ended>,
    puts: u64,
}

impl Remote {
    pub fn new(pairs: Pairs) -> Self {
        let shared = Arc::new(Shared { pairs: Mutex::new(pairs), is_busy: AtomicBool::new(false) });
        let ((work, todo), (tell, ended)) = (channel(), channel());
        let of_thread = Arc::clone(&shared);
        #[expect(clippy::disallowed_methods, reason = "a thread of the engine's own is what this is about")]
        std::thread::spawn(move || {
            for work in todo {
                of_thread.do_work(work, &tell);
            }
        });
        Self { shared, work, ended, puts: 0 }
    }

    fn with<T>(&self, look: impl FnOnce(&mut Pairs) -> T) -> T {
        look(&mut self.shared.pairs.lock().expect("nobody panics with it"))
    }
}

impl Shared {
    /// The thread's side.
    #[expect(clippy::disallowed_methods, reason = "it is a thread of its own, not the model")]
    fn do_work(&self, Work(token, key, value): Work, tell: &Sender<Ended>) {
        std::thread::sleep(PUT);
        let ended = self.put(token, key, value);
        let is_busy = token.0.is_multiple_of(PUTS_BETWEEN);
        self.is_busy.store(is_busy, Ordering::SeqCst);
        // The engine may have gone meanwhile.
        let _ = tell.send((token, ended));
        if is_busy {
            std::thread::sleep(BUSY);
            self.is_busy.store(false, Ordering::SeqCst);
        }
    }

    fn put(&self, token: Token, key: Vec<u8>, value: Vec<u8>) -> Result<Version, KvError> {
        let mut pairs = self.pairs.lock().expect("nobody panics with it");
        if pairs.len() >= PAIRS_MAX && !pairs.contains_key(&key) {
            return Err(KvError::CapacityExceeded);
        }
        pairs.insert(key, value);
        Ok(Version(token.0))
    }
}

impl Clone for Remote {
    fn clone(&self) -> Self {
        Self::new(self.with(|pairs| pairs.clone()))
    }
}

impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remote").finish_non_exhaustive()
    }
}

impl List for Remote {}
impl Scans for Remote {}
impl Groups for Remote {}
impl Hints for Remote {}
impl Inspect for Remote {}

impl Engine for Remote {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn store<M: SegmentStore, W: Meter, S: Source>(
        &mut self,
        key: &[u8],
        value: &mut S,
        condition: Condition,
        _: &mut Context<'_, M, W>,
    ) -> Step<Result<Put, KvError>> {
        if self.shared.is_busy.load(Ordering::SeqCst) {
            return Step::Blocked(Stall::Worker);
        }
        match (condition, self.with(|pairs| pairs.contains_key(key))) {
            (Condition::MustExist, false) => return Step::Done(Err(KvError::NotFound)),
            (Condition::MustNotExist, true) => return Step::Done(Err(KvError::Exists)),
            _ => {}
        }
        let mut bytes = vec![0; value.bytes() as usize];
        if value.read(0, &mut bytes).is_err() {
            return Step::Done(Err(KvError::Transfer));
        }
        self.puts += 1;
        let token = Token(self.puts);
        self.work.send(Work(token, key.to_vec(), bytes)).expect("the thread lives as long as this");
        Step::Done(Ok(Put::Pending(token)))
    }

    fn outcome(&mut self, token: Token) -> Option<Result<Version, KvError>> {
        let (of, ended) = self.ended.try_recv().ok()?;
        assert_eq!(of, token, "a device without time has one put on its way");
        Some(ended)
    }

    fn retrieve<M: SegmentStore, W: Meter, K: Sink>(
        &mut self,
        key: &[u8],
        sink: &mut K,
        _: &mut Context<'_, M, W>,
    ) -> Step<Result<u32, KvError>> {
        let Some(value) = self.with(|pairs| pairs.get(key).cloned()) else {
            return Step::Done(Err(KvError::NotFound));
        };
        let given = value.len().min(sink.room() as usize);
        let written = sink.write(0, &value[..given]);
        Step::Done(written.map(|()| value.len() as u32).map_err(|_| KvError::Transfer))
    }

    fn delete<M: SegmentStore, W: Meter>(
        &mut self,
        key: &[u8],
        _: &mut Context<'_, M, W>,
    ) -> Step<Result<Version, KvError>> {
        let removed = self.with(|pairs| pairs.remove(key));
        Step::Done(removed.map(|_| Version::NONE).ok_or(KvError::NotFound))
    }

    fn exists<M: SegmentStore, W: Meter>(
        &mut self,
        key: &[u8],
        _: &mut Context<'_, M, W>,
    ) -> Step<Result<(), KvError>> {
        let is_there = self.with(|pairs| pairs.contains_key(key));
        Step::Done(if is_there { Ok(()) } else { Err(KvError::NotFound) })
    }

    fn flush<M: SegmentStore>(&mut self, _: &mut M) -> Tag {
        Tag::default()
    }

    fn is_flushed(&self, _: Tag, _: Tag) -> bool {
        true
    }

    fn completed<M: SegmentStore>(&mut self, _: &Completion, _: &mut M) {}

    fn job<M: SegmentStore>(&self, _: &M) -> Option<Job> {
        None
    }

    fn background<M: SegmentStore, W: Meter>(
        &mut self,
        _: Job,
        _: Tag,
        _: &mut Context<'_, M, W>,
    ) -> Step<Background> {
        Step::Done(Background::Idle)
    }

    fn stats(&self) -> StoreStats {
        StoreStats { pairs: self.with(|pairs| pairs.len()) as u64, ..StoreStats::default() }
    }

    fn live_bytes(&self) -> u64 {
        self.with(|pairs| pairs.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>()) as u64
    }

    fn capacity_bytes<M: SegmentStore>(&self, _: &M) -> u64 {
        1 << 20
    }

    fn pairs_that_fit<M: SegmentStore>(&self, _: u32, _: u32, _: &M) -> u64 {
        PAIRS_MAX as u64
    }

    fn digest(&self) -> u64 {
        let mut digest = Digest::default();
        self.with(|pairs| {
            for (key, value) in pairs.iter() {
                digest.bytes(key);
                digest.bytes(value);
            }
        });
        digest.value()
    }

    fn check(&self, _: &dyn SegmentStore) -> Result<(), String> {
        Ok(())
    }
}

/// What is with the thread does not survive.
#[derive(Clone, Debug)]
pub struct Nothing;

impl Recover for Nothing {
    type Engine = Remote;

    fn step<M: SegmentStore>(&mut self, _: &mut M) -> Step<Result<Progress, Damage>> {
        Step::Done(Ok(Progress::Finished))
    }

    fn completed<M: SegmentStore>(&mut self, _: &Completion, _: &mut M) {}

    fn finish(self) -> Remote {
        Remote::new(Pairs::new())
    }
}

/// Makes it.
pub struct Remotes;

impl Factory for Remotes {
    type Engine = Remote;
    type Recovery = Nothing;
    const NAME: &'static str = "remote";
    const SUMMARY: &'static str = "pairs with a thread of their own";
    const CODE: Option<u8> = None;
    const CAPABILITIES: Capabilities = CAPABILITIES;

    fn create(_: &EngineConfig, _: &dyn SegmentStore) -> Remote {
        Remote::new(Pairs::new())
    }

    fn recover(_: &EngineConfig, _: &dyn SegmentStore) -> Nothing {
        Nothing
    }
}
