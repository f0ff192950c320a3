// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Groups of the engines whose groups are records. What holds for the groups of any engine is in the suites.

use super::subject;
use saker_engine::GroupOp::{Delete, Store};
use saker_engine::{Capability, Condition, Context, Engine, EngineKind, Groups, KeyCost, KvError};
use saker_engine_suite::groups::entry;
use saker_engine_suite::layout::{Answered, Payload};
use saker_engine_suite::{Bench, OWNER, Setup};
use saker_flash::{FaultPlan, Flash, PowerCut};
use saker_segment_store::{PageBuffer, PageBufferMemory, PowerHistory, Step};
use saker_sim::Class;

fn small(kind: EngineKind) -> Bench {
    Setup::small(subject(kind), true).start(FaultPlan::default())
}

/// The engines whose groups are records.
const WHOLE: [EngineKind; 3] = [EngineKind::HASH_STORE, EngineKind::LSM, EngineKind::TREE];

#[test]
fn engines_with_a_log_have_whole_groups() {
    for kind in EngineKind::ALL.iter().copied() {
        assert_eq!(small(kind).has(Capability::Groups), WHOLE.contains(&kind), "{}", kind.name());
        assert!(small(kind).has(Capability::Transactions), "{}", kind.name());
    }
}

/// A long record lets segments end earlier. One that was refused must not count: a full store would be more than full,
/// and could not even collect. A group of deletes is taken, however long.
#[test]
fn a_long_group_that_is_refused_leaves_the_capacity_alone() {
    for (op, bytes) in [(Store, 3000), (Store, 700), (Delete, 0), (Store, 0)] {
        let mut bench = small(EngineKind::HASH_STORE);
        let name = |n: u32| format!("{n:07}").into_bytes();
        let mut pairs = 0;
        while bench.put(&name(pairs), &[1; 20], Condition::Always).is_ok() {
            pairs += 1;
        }
        let capacity = |b: &mut Bench| b.store.capacity_bytes(&b.flash.view(OWNER, Class::Foreground));
        let before = capacity(&mut bench);
        // One long value, or many pairs that are there.
        let many = (0..200).map(|n| entry(op, &name(n), if op == Store { &[1; 20] } else { b"" })).collect();
        let long = if bytes > 0 { vec![entry(Store, b"new", &vec![9; bytes])] } else { many };
        let mut broken = Payload::new(&long, false);
        broken.bytes.pop();
        for group in [broken, Payload::new(&long, false)] {
            let is_whole = group.bytes.len() == Payload::new(&long, false).bytes.len();
            let is_done = bench.group(&group).is_ok();
            assert_eq!(is_done, is_whole && op == Delete, "{op:?} of {bytes} bytes into a full store");
            assert!(is_done || capacity(&mut bench) == before, "{op:?} of {bytes} bytes");
        }
        for round in 2..6 {
            for n in 0..pairs {
                assert_eq!(
                    bench.put(&name(n), &[round; 20], Condition::Always),
                    Ok(()),
                    "round {round}, {n}"
                );
            }
        }
        (0..pairs).for_each(|n| assert_eq!(bench.delete(&name(n)), Ok(()), "{n} of {pairs}"));
    }
}

#[test]
fn a_flipped_bit_is_never_a_value() {
    WHOLE.into_iter().for_each(flipped_bit);
}

fn flipped_bit(kind: EngineKind) {
    let mut bench = small(kind);
    let entries = [entry(Store, b"one", &[7; 40]), entry(Store, b"two", &[8; 31])];
    bench.group(&Payload::new(&entries, false)).expect("room");
    let (media, page_buffer) = bench.flash.cut(PowerCut { seed: 1, ring_kept: true });
    let memory = page_buffer.memory().to_vec();
    let start = memory.windows(31).position(|w| w == [8; 31]).expect("it is in the page buffer");
    let mut refused = 0;
    for at in start - 12..start + 32 {
        let mut bytes = memory.clone();
        bytes[at] ^= 4;
        let page_buffer = PageBuffer::new(PageBufferMemory::from_bytes(&bytes), 24, 512, 64);
        let mut flash = Flash::power_on(media.clone(), page_buffer, None, FaultPlan::default());
        flash.pool_mut().set_quota(OWNER, bench.setup.shape().geometry.segments);
        // Damage under a running store: the index knows the pair already.
        std::mem::swap(&mut bench.flash, &mut flash);
        refused += u32::from(bench.get(b"two") == Err(KvError::Corrupt));
        std::mem::swap(&mut bench.flash, &mut flash);
    }
    // All but the zeros behind the value count; those are part of the member, too.
    assert_eq!(refused, 44);
    assert_eq!(bench.get(b"two"), Ok(vec![8; 31]));
}

#[test]
fn keys_cost_as_the_profile_says() {
    use saker_sim::{CpuMeter, CpuPrices, Unit};
    let mut picos = [0; Unit::COUNT];
    (picos[Unit::Probe as usize], picos[Unit::Move as usize]) = (100_000, 1000);
    let entries: Vec<_> = (0..10).map(|n| entry(Store, &[n, 1], b"v")).collect();
    for (cost, nanos) in [(KeyCost::PerPair, 2000), (KeyCost::Batched, 210)] {
        let mut bench = small(EngineKind::HASH_STORE);
        bench.setup.config.group_keys = cost;
        bench.restart(PowerHistory::Killed, 1);
        let mut meter = CpuMeter::new(CpuPrices::from_picos(picos));
        let (mut source, mut answers) = (Payload::new(&entries, false), Answered::default());
        let view = &mut bench.flash.view(OWNER, Class::Foreground);
        let step = bench.store.group(&mut source, &mut answers, &mut Context::new(view, &mut meter));
        assert!(matches!(step, Step::Done(Ok(()))));
        assert_eq!(meter.take(), saker_sim::Duration::from_nanos(nanos));
    }
}
