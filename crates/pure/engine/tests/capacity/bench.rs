//! A store of any kind over untimed flash.

use saker_engine::{
    AnyEngine, AnyRecovery, Background, Condition, Context, Engine, EngineConfig, EngineKind, Job, KvError,
    Recover, Scans, Settings, Snapshot,
};
use saker_flash::nand::Shape;
use saker_flash::{FaultPlan, Flash, MemMedia, PowerCut};
use saker_medium::{Geometry, PowerHistory, Ring, RingMemory, Step};
use saker_sim::{Class, Free};
pub use saker_testing::is_soak;

pub const OWNER: u16 = 1;
const SLOTS: u16 = 96;

/// A shape of flash: bytes of a page, pages of a segment, segments.
#[derive(Clone, Copy, Debug)]
pub struct Size(pub u32, pub u32, pub u32);

impl Size {
    pub fn segment_bytes(self) -> u64 {
        u64::from(self.0) * u64::from(self.1)
    }

    fn shape(self, kind: EngineKind) -> Shape {
        let Self(page_bytes, segment_pages, segments) = self;
        let oob_bytes = kind.oob_bytes(page_bytes, &Settings::NONE);
        Shape { geometry: Geometry { page_bytes, oob_bytes, segment_pages, segments }, channels: 2, luns: 4 }
    }
}

pub struct Bench {
    pub flash: Flash,
    pub store: AnyEngine,
    pub kind: EngineKind,
    size: Size,
    config: EngineConfig,
}

impl Bench {
    pub fn new(kind: EngineKind, size: Size, ring_lasts: bool) -> Self {
        let g = size.shape(kind).geometry;
        let ring = Ring::heap(SLOTS, g.page_bytes, g.oob_bytes);
        let media = MemMedia::new(size.shape(kind));
        let mut flash = Flash::power_on(media, ring, None, FaultPlan::default());
        flash.pool_mut().set_quota(OWNER, g.segments);
        let config = EngineConfig::new(OWNER, ring_lasts);
        let store = AnyEngine::new(kind, &config, &flash.view(OWNER, Class::Foreground));
        Self { flash, store, kind, size, config }
    }

    fn settle(&mut self) {
        while let Some((_, done)) = self.flash.take_completion() {
            self.store.completed(&done, &mut self.flash.view(OWNER, Class::Background));
        }
    }

    pub fn background(&mut self) -> bool {
        let finished = self.flash.finished();
        let step = self.store.background(
            Job::UPKEEP,
            finished,
            &mut Context::new(&mut self.flash.view(OWNER, Class::Background), &mut Free),
        );
        self.settle();
        matches!(step, Step::Done(Background::Worked))
    }

    fn run<T>(&mut self, mut op: impl FnMut(&mut AnyEngine, &mut Flash) -> Step<T>) -> T {
        for _ in 0..1_000_000 {
            let step = op(&mut self.store, &mut self.flash);
            self.settle();
            match step {
                Step::Done(t) => {
                    if self.store.job(&self.flash.view(OWNER, Class::Foreground)).is_some() {
                        self.background();
                    }
                    return t;
                }
                Step::Need(_) => panic!("untimed flash is always resident"),
                Step::Blocked(_) => self.background(),
            };
        }
        panic!("{:?} {:?}: no progress", self.kind, self.size);
    }

    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), KvError> {
        self.run(|s, f| {
            let view = &mut f.view(OWNER, Class::Foreground);
            s.store(key, &mut &value[..], Condition::Always, &mut Context::new(view, &mut Free))
        })
        .map(|put| _ = put.ended())
    }

    pub fn delete(&mut self, key: &[u8]) -> Result<(), KvError> {
        self.run(|s, f| s.delete(key, &mut Context::new(&mut f.view(OWNER, Class::Foreground), &mut Free)))
            .map(|_| ())
    }

    pub fn snapshot(&mut self) -> Option<Snapshot> {
        self.store.snapshot().ok()
    }

    pub fn release(&mut self, snapshot: Snapshot) {
        self.store.release(snapshot);
    }

    pub fn capacity(&mut self) -> u64 {
        self.store.capacity_bytes(&self.flash.view(OWNER, Class::Foreground))
    }

    /// Stores pairs from number `from` on until one is refused, whose number it returns.
    pub fn fill(&mut self, from: u64, value_bytes: usize) -> u64 {
        let value = vec![b'v'; value_bytes];
        for n in from.. {
            match self.put(&key(n), &value) {
                Ok(()) => {}
                Err(e) => {
                    assert_eq!(e, KvError::CapacityExceeded);
                    return n;
                }
            }
        }
        unreachable!("no device holds so many")
    }

    /// Opens what a kill left, or a power cut.
    pub fn restart(&mut self, history: PowerHistory) {
        let ring_kept = !matches!(history, PowerHistory::Cut { ring_kept: false });
        let (mut media, ring) = self.flash.cut(PowerCut { seed: 1, ring_kept });
        media.set_history(history);
        let g = self.size.shape(self.kind).geometry;
        let ring = Ring::new(RingMemory::from_bytes(ring.memory()), SLOTS, g.page_bytes, g.oob_bytes);
        self.flash = Flash::power_on(media, ring, None, FaultPlan::default());
        self.flash.pool_mut().set_quota(OWNER, g.segments);
        let view = self.flash.view(OWNER, Class::Foreground);
        let mut recovery = AnyRecovery::new(self.kind, &self.config, &view);
        while !matches!(recovery.step(&mut self.flash.view(OWNER, Class::Foreground)), Step::Done(Ok(true))) {
        }
        self.store = recovery.finish();
        self.settle();
    }
}

pub fn key(n: u64) -> Vec<u8> {
    format!("k{n:09}").into_bytes()
}
