// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The tables of all owners of logs under the model: with what they leave nothing is wrong, with one less of any it is.

use crate::reserves::model::Role::{Checkpoints, Collects, Repairs, Takes, Works};
use crate::reserves::model::{Fault, Graph, Role, Row, Segments, endless, rows, segments, slots};
use saker_engine::{EngineKind, hash_ftl, hash_store, lsm, tree};
use saker_flash::page_map;
use saker_log::reserve::{Activity, Claim, describe};

const SLOTS: u32 = 12;
/// Segments that are free in the beginning: so many more than a store leaves.
const FREE: u32 = 1;

struct Subject {
    name: &'static str,
    /// Engines whose table it is.
    engines: &'static [EngineKind],
    table: Vec<Activity>,
    roles: Vec<Role>,
}

const HASH_FTLS: [EngineKind; 3] =
    [EngineKind::HASH_ORIGINAL, EngineKind::HASH_DOUBLING, EngineKind::HASH_PLUS];
const LOG_ROLES: [Role; 5] = [Repairs, Collects, Checkpoints, Takes, Takes];
/// Evictions of a map on flash take turns with collections for slots, and no segments of others.
const BLOCK_ROLES: [Role; 6] = [Repairs, Collects, Checkpoints, Takes, Takes, Takes];

/// With a manifest or merge of two segments each, or of one.
fn subjects() -> Vec<Subject> {
    let ftl = vec![Repairs, Repairs, Collects, Takes, Takes, Takes, Collects, Takes, Takes, Takes];
    let lsm = vec![Repairs, Repairs, Checkpoints, Works, Works, Works, Collects, Takes, Takes, Takes];
    let jobs = vec![Repairs, Repairs, Checkpoints, Works, Works, Works, Works, Collects, Takes, Takes, Takes];
    let tree = vec![Repairs, Checkpoints, Works, Works, Collects, Takes, Takes, Takes, Takes, Repairs];
    let subject = |name, engines, table: &[Activity], roles: &[Role]| Subject {
        name,
        engines,
        table: table.into(),
        roles: roles.into(),
    };
    vec![
        subject("hash store", &[EngineKind::HASH_STORE], &hash_store::reserve::TABLE, &LOG_ROLES),
        subject("block namespace", &[], &page_map::reserve::TABLE, &BLOCK_ROLES),
        subject("hash FTL", &HASH_FTLS, &hash_ftl::reserve::TABLE, &ftl),
        subject("LSM store", &[EngineKind::LSM], &lsm::reserve::table(1, 1), &lsm),
        subject("LSM store, long merges", &[EngineKind::LSM], &lsm::reserve::table(2, 2), &lsm),
        subject(
            "LSM store, jobs side by side",
            &[EngineKind::LSM],
            &lsm::reserve::side_by_side(1, 2, 1),
            &jobs,
        ),
        subject("tree store", &[EngineKind::TREE], &tree::reserve::table(1, 1), &tree),
        subject("tree store, long merges", &[EngineKind::TREE], &tree::reserve::table(2, 2), &tree),
    ]
}

#[test]
fn every_engine_has_a_table() {
    let subjects = subjects();
    for engine in EngineKind::ALL {
        assert!(subjects.iter().any(|s| s.engines.contains(engine)), "{} has none", engine.name());
    }
}

fn explore(rows: &[Row], of_slots: bool) -> (std::collections::BTreeSet<Fault>, usize) {
    let most = rows.iter().map(|r| r.leaves).max().expect("a table has rows");
    if of_slots { slots(rows, SLOTS) } else { segments(rows, most + FREE) }
}

fn rows_of(s: &Subject, of_slots: bool) -> Vec<Row> {
    let claim = |a: &Activity| -> Claim { if of_slots { a.slots } else { a.segments } };
    let mut all = rows(&s.table, &s.roles, claim, of_slots);
    // A page at a time: only stores leave a checkpoint all that it will take, deletes the segment of its next step.
    let by_steps = s.roles.starts_with(&LOG_ROLES) && !of_slots;
    all.iter_mut().filter(|r| by_steps && r.role == Checkpoints).for_each(|r| r.job = 3);
    all
}

#[test]
fn what_the_tables_leave_is_enough() {
    for s in subjects() {
        for of_slots in [true, false] {
            let (faults, states) = explore(&rows_of(&s, of_slots), of_slots);
            println!("{}, {}: {states} states", s.name, if of_slots { "slots" } else { "segments" });
            assert_eq!(faults.first(), None, "{}:\n{}", s.name, describe(&s.table));
            assert!(states > 20, "{}: {states} states are not worth the name", s.name);
        }
        println!("{}", describe(&s.table));
    }
}

#[test]
fn with_any_reserve_less_one_something_waits_for_what_is_above_it_or_the_slack_has_a_name() {
    for s in subjects() {
        for of_slots in [true, false] {
            let all = rows_of(&s, of_slots);
            for n in (0..all.len()).filter(|n| all[*n].leaves > 0 && (all[*n].most > 0 || all[*n].slack > 0))
            {
                let mut less = all.clone();
                less[n].leaves -= 1;
                less[n].slack = less[n].slack.saturating_sub(1);
                let (faults, _) = explore(&less, of_slots);
                let activity = &s.table[n];
                let claim = if of_slots { activity.slots } else { activity.segments };
                let named = claim.slack > 0 && !claim.because.is_empty();
                let what = format!("{}, {}, slots: {of_slots}", s.name, activity.name);
                assert_eq!(faults.is_empty(), named, "{what}: {faults:?}, slack {:?}", claim.because);
                let deadlocks = faults.iter().filter(|f| f.is_deadlock()).count();
                println!("{what}: {} faults, {deadlocks} of them deadlocks", faults.len());
            }
        }
    }
}

/// Rows whose reserve is all that stands between the owner and a deadlock.
#[test]
fn without_what_is_left_to_the_lowest_rank_nothing_goes_on() {
    let lowest = [
        ("hash store", false, hash_store::reserve::CHECKPOINT),
        ("hash store", true, hash_store::reserve::COLLECTION),
        ("block namespace", true, page_map::reserve::COLLECTION),
        ("hash FTL", true, hash_ftl::reserve::PAGE_COPIES),
        ("hash FTL", false, hash_ftl::reserve::GC_SECTIONS),
        ("LSM store", true, lsm::reserve::COLLECTION),
        ("tree store", true, tree::reserve::COLLECTION),
    ];
    for (name, of_slots, n) in lowest {
        let s = subjects().into_iter().find(|s| s.name == name).expect("a subject");
        let mut less = rows_of(&s, of_slots);
        less[n].leaves -= 1;
        let (faults, _) = explore(&less, of_slots);
        assert!(
            faults.iter().any(Fault::is_deadlock),
            "{name}, {}, slots: {of_slots}: {faults:?}",
            less[n].name
        );
    }
}

const fn row(name: &'static str, role: Role, rank: u8, most: u32, leaves: u32) -> Row {
    Row { name, role, rank, is_beside: false, most, job: most, leaves, slack: 0 }
}

/// Two merges that each hold what the other waits for, of the same rank and with nothing left below them.
#[test]
fn a_planted_circle_of_waits_is_found() {
    let planted = [row("one", Works, 0, 2, 0), row("other", Works, 0, 2, 0), row("store", Takes, 1, 1, 2)];
    let (faults, _) = segments(&planted, 4);
    assert!(faults.iter().any(|f| matches!(f, Fault::Deadlock(_))), "{faults:?}");
}

/// A checkpoint below a collection that it waits for: both want the last segment.
#[test]
fn planted_ranks_the_wrong_way_round_are_found() {
    let planted = [
        row("checkpoint", Checkpoints, 0, 4, 0),
        row("collection", Collects, 1, 1, 1),
        row("store", Takes, 2, 1, 2),
    ];
    let (faults, _) = segments(&planted, 6);
    assert!(faults.iter().any(|f| matches!(f, Fault::Deadlock(_))), "{faults:?}");
}

/// A repair that leaves as much as the collections above it.
#[test]
fn a_planted_reserve_of_repairs_is_found() {
    let planted =
        [row("repair", Repairs, 0, 2, 2), row("collection", Collects, 1, 2, 2), row("store", Takes, 2, 2, 6)];
    let (faults, _) = slots(&planted, SLOTS);
    assert!(
        faults.iter().any(|f| matches!(f, Fault::Deadlock(_))),
        "what repairs left until they were repaired: {faults:?}"
    );
}

/// Two states that lead to each other while a store waits, and the way out of another.
#[test]
fn a_planted_circle_of_work_is_found() {
    let found = |edges: &[(u32, &[u32])]| {
        let mut graph = Graph::default();
        edges
            .iter()
            .for_each(|(from, to)| graph.leads(Segments::of(*from), to.iter().copied().map(Segments::of)));
        endless(&graph, 2)
    };
    assert!(matches!(found(&[(0, &[1]), (1, &[0]), (3, &[])]), Some(Fault::Endless(_))));
    assert_eq!(found(&[(0, &[1]), (1, &[3]), (3, &[])]), None);
}
