// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::*;
use crate::lsm::LsmConfig;
use WriteStallCause::{L0FileCountLimit, MemtableLimit, PendingCompactionBytes};
use saker_segment_store::Geometry;
use saker_sim::{Rng, Seed};

const MIB: u64 = 1 << 20;

/// Four memtables, 20 and 36 files, 1000 and 2000 bytes, a MiB a second.
const LIMITS: Limits = Limits {
    max_write_buffer_number: 4,
    level0_slowdown_writes_trigger: 20,
    level0_stop_writes_trigger: 36,
    soft_pending_compaction_bytes_limit: 1000,
    hard_pending_compaction_bytes_limit: 2000,
    delayed_write_rate: MIB,
    slowdown: true,
};

fn load(immutables: u32, level0: u32, pending_bytes: u64) -> Load {
    Load { immutables, level0, pending_bytes }
}

/// The letter of a condition: of its kind, and of its cause.
fn letters(condition: WriteCondition) -> String {
    let of = |kind: &str, cause: WriteStallCause| format!("{kind} {}", cause.name());
    match condition {
        WriteCondition::Normal => "normal".into(),
        WriteCondition::Delayed { cause, .. } => of("delayed", cause),
        WriteCondition::Stopped { cause } => of("stopped", cause),
    }
}

#[test]
fn every_limit_holds_from_its_number_on() {
    for (immutables, level0, pending, expected) in [
        (0, 0, 0, "normal"),
        (2, 19, 999, "normal"),
        (3, 0, 0, "delayed memtable_limit"),
        (0, 20, 0, "delayed l0_file_count_limit"),
        (0, 35, 0, "delayed l0_file_count_limit"),
        (0, 0, 1000, "delayed pending_compaction_bytes"),
        (0, 0, 1999, "delayed pending_compaction_bytes"),
        (4, 0, 0, "stopped memtable_limit"),
        (0, 36, 0, "stopped l0_file_count_limit"),
        (0, 0, 2000, "stopped pending_compaction_bytes"),
        // Of several the first is the cause, and every stop goes before every delay.
        (4, 36, 2000, "stopped memtable_limit"),
        (3, 36, 2000, "stopped l0_file_count_limit"),
        (3, 20, 2000, "stopped pending_compaction_bytes"),
        (3, 20, 1000, "delayed memtable_limit"),
        (2, 20, 1000, "delayed l0_file_count_limit"),
    ] {
        let told = letters(judge(&LIMITS, &load(immutables, level0, pending)));
        assert_eq!(told, expected, "{immutables} {level0} {pending}");
    }
}

#[test]
fn memtables_delay_writes_only_where_there_are_more_than_three() {
    let at = |max_write_buffer_number, immutables| {
        letters(judge(&Limits { max_write_buffer_number, ..LIMITS }, &load(immutables, 0, 0)))
    };
    assert_eq!([at(3, 2), at(2, 1)], ["normal", "normal"]);
    assert_eq!([at(3, 3), at(2, 2)], ["stopped memtable_limit", "stopped memtable_limit"]);
    assert_eq!([at(5, 3), at(5, 4)], ["normal", "delayed memtable_limit"]);
}

#[test]
fn without_slowdown_writes_go_on_until_they_stop() {
    let limits = Limits { slowdown: false, ..LIMITS };
    assert_eq!(judge(&limits, &load(3, 35, 1999)), WriteCondition::Normal);
    for stop in [load(4, 0, 0), load(0, 36, 0), load(0, 0, 2000)] {
        assert!(judge(&limits, &stop).is_stopped(), "{stop:?}");
    }
}

#[test]
fn a_stop_is_near_two_files_below_it_or_behind_three_quarters_of_the_way() {
    let near = |cause, level0, pending| is_near_stop(cause, &LIMITS, &load(3, level0, pending));
    assert_eq!([near(L0FileCountLimit, 33, 1999), near(L0FileCountLimit, 34, 0)], [false, true]);
    assert_eq!(
        [near(PendingCompactionBytes, 35, 1750), near(PendingCompactionBytes, 0, 1751)],
        [false, true]
    );
    assert!(!near(MemtableLimit, 35, 1999), "memtables have no such mark");
    let few = Limits { level0_stop_writes_trigger: 1, ..LIMITS };
    assert!(is_near_stop(L0FileCountLimit, &few, &load(0, 0, 0)), "no number is below zero");
}

use condition::is_near_stop;

fn rate_of(condition: WriteCondition) -> Option<u64> {
    if let WriteCondition::Delayed { rate, .. } = condition { Some(rate) } else { None }
}

/// The rates that follow from one load after the other; `None` where writes are not delayed.
fn rates(limits: Limits, loads: &[Load]) -> Vec<Option<u64>> {
    let mut controller = Controller::default();
    let next = |load: &Load| {
        controller.recalculate(&limits, *load);
        rate_of(controller.condition())
    };
    loads.iter().map(next).collect()
}

#[test]
fn the_rate_follows_the_debt() {
    let limits = Limits { delayed_write_rate: 1_000_000, ..LIMITS };
    let debts = [1100, 1200, 1200, 1100, 1050, 1049, 1760, 1750, 999, 1100];
    let expected = [
        Some(1_000_000),
        Some(800_000), // more
        Some(640_000), // as much counts as more
        Some(800_000), // less
        Some(1_000_000),
        Some(1_000_000), // no more than at the beginning
        Some(600_000),   // near the stop
        Some(750_000),   // not beyond three quarters, and less
        None,
        Some(1_000_000), // 750,000 x 1.4, and no more than at the beginning
    ];
    assert_eq!(rates(limits, &debts.map(|debt| load(0, 0, debt))), expected);
}

#[test]
fn leaving_a_delay_is_worth_less_than_the_way_down() {
    let limits = Limits { delayed_write_rate: 1_000_000, ..LIMITS };
    let debts = [1100, 1100, 1100, 1100, 0, 1100, 0, 0, 0, 1100];
    let expected = [
        Some(1_000_000),
        Some(800_000),
        Some(640_000),
        Some(512_000),
        None,
        Some(716_800), // x 1.4, once
        None,
        None,
        None,
        Some(1_000_000),
    ];
    assert_eq!(rates(limits, &debts.map(|debt| load(0, 0, debt))), expected);
}

#[test]
fn a_stop_keeps_the_rate() {
    let limits = Limits { delayed_write_rate: 1_000_000, ..LIMITS };
    let debts = [1100, 1200, 2000, 2500, 1200, 1100, 2000, 0, 1200];
    let expected = [
        Some(1_000_000),
        Some(800_000),
        None,
        None,
        Some(800_000),
        Some(1_000_000),
        None,
        None,
        Some(1_000_000),
    ];
    assert_eq!(rates(limits, &debts.map(|debt| load(0, 0, debt))), expected);
    // What ends a stop without a delay in between is not rewarded.
    let debts = [1100, 1200, 2000, 0, 1200];
    let expected = [Some(1_000_000), Some(800_000), None, None, Some(800_000)];
    assert_eq!(rates(limits, &debts.map(|debt| load(0, 0, debt))), expected);
}

#[test]
fn debts_that_nobody_knew_before_change_nothing() {
    let loads = [load(0, 20, 0), load(0, 20, 500), load(0, 20, 500)];
    assert_eq!(rates(LIMITS, &loads), [Some(MIB), Some(MIB), Some(838_860)]);
}

#[test]
fn the_rate_ends_at_sixteen_kib() {
    let near = load(0, 35, 500);
    let all = rates(LIMITS, &[near; 40]);
    assert_eq!(all.last(), Some(&Some(16 << 10)));
    assert!(all.is_sorted_by(|a, b| a >= b));
    let slow = Limits { delayed_write_rate: 9000, ..LIMITS };
    assert_eq!(rates(slow, &[near; 3]), [Some(9000); 3], "what was asked for is no higher, and stays");
}

#[test]
fn another_setting_begins_anew() {
    let mut controller = Controller::default();
    let at = load(0, 20, 500);
    (0..3).for_each(|_| controller.recalculate(&LIMITS, at));
    let lower = Limits { delayed_write_rate: MIB / 2, ..LIMITS };
    controller.recalculate_if_new(&lower, at);
    assert_eq!(rate_of(controller.condition()), Some(MIB / 2 * 8 / 10), "and is adjusted as ever");
    controller.recalculate_if_new(&lower, at);
    assert_eq!(rate_of(controller.condition()), Some(MIB / 2 * 8 / 10), "nothing has changed");
}

#[test]
fn what_was_found_is_counted_by_cause() {
    let mut controller = Controller::default();
    for at in [load(3, 0, 0), load(4, 0, 0), load(0, 20, 0), load(0, 20, 0), load(0, 0, 2000), load(0, 0, 0)]
    {
        controller.recalculate(&LIMITS, at);
    }
    assert_eq!(controller.stats, StallStats { delays: [1, 2, 0], stops: [1, 0, 1] });
    let WriteCondition::Normal = controller.condition() else { panic!("{:?}", controller.condition()) };
    controller.recalculate(&LIMITS, load(0, 0, 1000));
    let WriteCondition::Delayed { delay, .. } = controller.condition() else { panic!("not delayed") };
    assert_eq!(delay, 3, "writes became delayed three times");
}

#[test]
fn delayed_writes_pass_for_work_until_somebody_keeps_time() {
    let mut controller = Controller::default();
    controller.recalculate(&LIMITS, load(0, 20, 0));
    assert_eq!([controller.admit(Write::Store), controller.admit(Write::Delete)], [Turn::AtRate, Turn::Now]);
    controller.worked();
    controller.worked();
    assert_eq!([controller.admit(Write::Store), controller.admit(Write::Store)], [Turn::Now, Turn::AtRate]);
    controller.let_pass(2);
    let turns: Vec<_> = (0..3).map(|_| controller.admit(Write::Store)).collect();
    assert_eq!(turns, [Turn::Now, Turn::Now, Turn::AtRate]);
    controller.worked();
    assert_eq!(controller.admit(Write::Store), Turn::AtRate, "work is no pass any more");
    controller.let_pass(1);
    controller.let_pass(0);
    assert_eq!(controller.admit(Write::Store), Turn::AtRate, "it was taken back");
}

#[test]
fn deletes_wait_for_memory_alone() {
    for (at, store, delete) in [
        (load(0, 36, 0), Turn::Later, Turn::Now),
        (load(0, 0, 2000), Turn::Later, Turn::Now),
        (load(4, 0, 0), Turn::Later, Turn::Later),
        (load(3, 0, 0), Turn::AtRate, Turn::Now),
        (load(0, 0, 0), Turn::Now, Turn::Now),
    ] {
        let mut controller = Controller::default();
        controller.recalculate(&LIMITS, at);
        assert_eq!(
            [controller.admit(Write::Store), controller.admit(Write::Delete)],
            [store, delete],
            "{at:?}"
        );
    }
}

#[test]
fn usual_settings_are_rocksdbs_where_they_do_not_follow_the_medium() {
    let g = Geometry { page_bytes: 4096, oob_bytes: 64, segment_pages: 256, segments: 64 };
    let limits = Limits::from(&LsmConfig::new(1, &g, 64, true));
    let bytes = 64 * 256 * 4096;
    assert_eq!(
        limits,
        Limits {
            max_write_buffer_number: 2,
            level0_slowdown_writes_trigger: 20,
            level0_stop_writes_trigger: 36,
            soft_pending_compaction_bytes_limit: bytes / 2,
            hard_pending_compaction_bytes_limit: bytes,
            delayed_write_rate: 16 << 20,
            slowdown: true,
        }
    );
}

#[test]
fn the_debt_is_what_goes_down_with_what_it_meets() {
    let most = |level: usize| 100 * 10_u64.pow(level as u32 - 1);
    let owed = |levels: [u64; 5], is_due| needed_bytes(&levels, is_due, most);
    // Level 0 is merged with all of level 1.
    assert_eq!(owed([50, 30, 0, 0, 0], true), 80);
    assert_eq!(owed([50, 30, 0, 0, 0], false), 0);
    // What it brings is too much for level 1, goes on to level 2, and meets its share there: 60 of 160 with 800.
    assert_eq!(owed([80, 80, 800, 0, 0], true), 160 + 60 + 60 * 800 / 160);
    // And from there: 60 arrive, 100 of 1100 go on.
    assert_eq!(owed([80, 80, 1040, 500, 0], true), 160 + 60 + 60 * 1040 / 160 + 100 + 100 * 500 / 1100);
    // Where the next level is empty tables are just moved.
    assert_eq!(owed([0, 300, 0, 0, 0], false), 0);
    // No more is due than a level has too much, and the deepest may have any.
    assert_eq!(owed([0, 100, 1000, 10_000, 1 << 40], false), 0);
    assert_eq!(owed([0, 0, 0, 20_000, 40_000], false), 10_000 + 10_000 * 2);
}

/// The rules once more, as a table of marks, in whole numbers.
#[derive(Default)]
struct Restated {
    rate: u64,
    asked: u64,
    debt: u64,
    was: &'static str,
}

impl Restated {
    fn next(&mut self, l: &Limits, at: &Load) -> (String, u64) {
        let (soft, hard) = (l.soft_pending_compaction_bytes_limit, l.hard_pending_compaction_bytes_limit);
        let buffers = l.max_write_buffer_number;
        let marks = [
            ("stopped", "memtable_limit", at.immutables >= buffers, false),
            ("stopped", "l0_file_count_limit", at.level0 >= l.level0_stop_writes_trigger, false),
            ("stopped", "pending_compaction_bytes", at.pending_bytes >= hard, false),
            ("delayed", "memtable_limit", l.slowdown && buffers >= 4 && at.immutables + 1 >= buffers, false),
            (
                "delayed",
                "l0_file_count_limit",
                l.slowdown && at.level0 >= l.level0_slowdown_writes_trigger,
                at.level0 + 2 >= l.level0_stop_writes_trigger,
            ),
            (
                "delayed",
                "pending_compaction_bytes",
                l.slowdown && at.pending_bytes >= soft,
                at.pending_bytes > soft + 3 * (hard - soft) / 4,
            ),
        ];
        let (kind, cause, _, near) =
            marks.into_iter().find(|(_, _, holds, _)| *holds).unwrap_or(("normal", "", true, false));
        if self.asked != l.delayed_write_rate {
            (self.asked, self.rate) = (l.delayed_write_rate, l.delayed_write_rate);
        }
        let tenths = match (self.was, kind) {
            ("delayed", "normal") => (14, 10),
            ("delayed", "delayed") if self.asked <= 16_384 => (1, 1),
            ("delayed", "delayed") if near => (6, 10),
            ("delayed", "delayed") if self.debt == 0 && at.pending_bytes == 0 => (1, 1),
            ("delayed", "delayed") if self.debt > at.pending_bytes => (10, 8),
            ("delayed", "delayed") if self.debt > 0 => (8, 10),
            _ => (1, 1),
        };
        let floor = if tenths.0 < tenths.1 { 16_384 } else { 0 };
        self.rate = (self.rate * tenths.0 / tenths.1).max(floor).min(self.asked);
        (self.was, self.debt) = (kind, at.pending_bytes);
        let told = if kind == "normal" { kind.into() } else { format!("{kind} {cause}") };
        (told, self.rate)
    }
}

/// A number about one of the marks.
fn about(rng: &mut Rng, marks: &[u64]) -> u64 {
    let mark = marks[rng.below(marks.len() as u64) as usize];
    (mark + rng.below(5)).saturating_sub(2)
}

fn limits(rng: &mut Rng) -> Limits {
    let slowdown_at = 1 + rng.below(30) as u32;
    let soft = 1 + rng.below(5000);
    Limits {
        max_write_buffer_number: 2 + rng.below(5) as u32,
        level0_slowdown_writes_trigger: slowdown_at,
        level0_stop_writes_trigger: slowdown_at + rng.below(20) as u32,
        soft_pending_compaction_bytes_limit: soft,
        hard_pending_compaction_bytes_limit: soft + rng.below(5000),
        delayed_write_rate: [9000, 16 << 10, 20_000, MIB, 16 * MIB][rng.below(5) as usize],
        slowdown: rng.below(5) > 0,
    }
}

#[test]
fn the_rules_restated_say_the_same_on_any_trace() {
    for seed in saker_testing::seeds(saker_testing::tier(60, 2000)) {
        let mut rng = Seed(seed).child("write controller").rng();
        let (mut limits_now, mut controller) = (limits(&mut rng), Controller::default());
        let (mut restated, mut delayed) = (Restated::default(), 0);
        for step in 0..400 {
            if rng.below(100) == 0 {
                limits_now = limits(&mut rng);
            }
            let l = &limits_now;
            let (soft, hard) = (l.soft_pending_compaction_bytes_limit, l.hard_pending_compaction_bytes_limit);
            let (slow, stop) = (l.level0_slowdown_writes_trigger.into(), l.level0_stop_writes_trigger.into());
            let buffers = u64::from(l.max_write_buffer_number);
            let at = Load {
                immutables: about(&mut rng, &[0, 0, buffers]).min(buffers) as u32,
                level0: about(&mut rng, &[0, 0, slow, slow, stop]) as u32,
                pending_bytes: about(&mut rng, &[0, 0, soft, (soft + 3 * hard) / 4, hard]),
            };
            controller.recalculate(l, at);
            let (told, rate) = restated.next(l, &at);
            assert_eq!(letters(controller.condition()), told, "seed {seed}, step {step}: {l:?} {at:?}");
            if let Some(now) = rate_of(controller.condition()) {
                delayed += 1;
                // Fractions are not whole numbers: each step may lose one.
                assert!(now.abs_diff(rate) <= 2, "seed {seed}, step {step}: {now}, restated {rate}");
                restated.rate = now;
            }
        }
        assert!(delayed > 0 || !limits_now.slowdown, "seed {seed}: writes are never delayed");
    }
}
