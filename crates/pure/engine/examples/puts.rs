//! scratch
use saker_engine::*;
use saker_flash::nand::Shape;
use saker_flash::*;
use saker_medium::*;
use saker_sim::{Class, Free};
use std::time::Instant;
fn main() {
    let n: u64 = 10_000_000;
    let geometry = Geometry { page_bytes: 16384, oob_bytes: 128, segment_pages: 1024, segments: 256 };
    for klen in [8usize, 16] {
        let shape = Shape { geometry, channels: 4, luns: 16 };
        let mut flash =
            Flash::power_on(MemMedia::new(shape), Ring::heap(512, 16384, 128), None, FaultPlan::default());
        flash.pool_mut().set_quota(1, 256);
        let config = HashStoreConfig::new(1, &geometry, 256, true);
        let mut store = HashStore::new(config, &flash.view(1, Class::Foreground));
        let t = Instant::now();
        let value = [7u8; 16];
        let mut key = [0u8; 16];
        for i in 0..n {
            key[..8].copy_from_slice(&i.wrapping_mul(0x9e3779b97f4a7c15).to_le_bytes());
            let mut v = &value[..];
            let mut view = flash.view(1, Class::Foreground);
            match store.store(&key[..klen], &mut v, Condition::Always, &mut view, &mut Free) {
                Step::Done(Ok(())) => {}
                o => panic!("{o:?}"),
            }
            if store.has_debt(&view) {
                let f = view.finished();
                let _ = store.background(f, &mut view, &mut Free);
            }
            while let Some((_, d)) = flash.take_completion() {
                store.completed(&d, &mut flash.view(1, Class::Background));
            }
            if i % 1_000_000 == 999_999 {
                let e = t.elapsed().as_secs_f64();
                eprintln!(
                    "{} {:.1} M/s mem/pair {:.1} ckpt {}",
                    i + 1,
                    (i + 1) as f64 / e / 1e6,
                    store.memory().total() as f64 / (i + 1) as f64,
                    store.stats().checkpoints
                );
            }
        }
        let t = Instant::now();
        let mut out = Vec::new();
        for i in 0..2_000_000u64 {
            key[..8].copy_from_slice(&(i * 5).wrapping_mul(0x9e3779b97f4a7c15).to_le_bytes());
            out.clear();
            match store.retrieve(&key[..klen], &mut out, &flash.view(1, Class::Foreground), &mut Free) {
                Step::Done(Ok(_)) => {}
                o => panic!("{o:?}"),
            }
        }
        eprintln!("gets {:.1} M/s", 2.0 / t.elapsed().as_secs_f64());
    }
}
