// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::*;

fn mixed() -> Plan {
    Plan {
        seed: 42,
        operations: 20_000,
        mix: Mix { put: 40, insert: 5, get: 40, delete: 5, exist: 5, list: 5 },
        value_bytes: Sizes::Uniform(1, 4096),
        list_entries: Sizes::Uniform(1, 100),
        ..Plan::default()
    }
}

fn all(plan: &Plan) -> Vec<Operation> {
    plan.operations().unwrap().collect()
}

/// A change of any generator shows here. The values were taken from the first run and are kept since.
#[test]
fn the_first_operations_of_a_seed_never_change() {
    let first: Vec<_> = mixed().operations().unwrap().take(6).map(|o| (o.kind, o.key, o.size)).collect();
    assert_eq!(first, GOLDEN_OPERATIONS);
    let plan = mixed();
    assert_eq!(plan.key_space().unwrap().key(7), GOLDEN_KEY);
    let mut value = [0; 12];
    plan.value_source().fill(7, 1, &mut value);
    assert_eq!(value, GOLDEN_VALUE);
}

const GOLDEN_OPERATIONS: [(Kind, u64, u32); 6] = [
    (Kind::Put, 581, 81),
    (Kind::Put, 723, 3486),
    (Kind::Get, 346, 0),
    (Kind::Put, 774, 3980),
    (Kind::Exist, 745, 0),
    (Kind::Get, 660, 0),
];
const GOLDEN_KEY: [u8; 16] = [98, 159, 186, 193, 50, 61, 191, 177, 192, 242, 203, 171, 9, 88, 247, 58];
const GOLDEN_VALUE: [u8; 12] = [138, 36, 128, 85, 47, 58, 248, 44, 113, 74, 190, 33];

#[test]
fn equal_plans_give_equal_operations_and_other_seeds_others() {
    let plan = mixed();
    assert_eq!(all(&plan), all(&plan.clone()));
    let other = Plan { seed: 43, ..plan.clone() };
    assert_ne!(all(&plan), all(&other));
    assert_ne!(plan.key_space().unwrap().key(0), other.key_space().unwrap().key(0));
}

#[test]
fn a_change_of_sizes_leaves_kinds_and_keys_alone() {
    let plan = mixed();
    let larger = Plan { value_bytes: Sizes::Fixed(9), ..plan.clone() };
    let bare = |p: &Plan| all(p).into_iter().map(|o| (o.kind, o.key)).collect::<Vec<_>>();
    assert_eq!(bare(&plan), bare(&larger));
}

#[test]
fn sizes_belong_to_their_kinds() {
    for o in all(&mixed()) {
        match o.kind {
            Kind::Put | Kind::Insert => assert!((1..=4096).contains(&o.size)),
            Kind::List => assert!((1..=100).contains(&o.size)),
            Kind::Get | Kind::Delete | Kind::Exist => assert_eq!(o.size, 0),
        }
    }
}

#[test]
fn inserts_take_new_numbers_in_order_and_later_operations_reach_them() {
    let operations = all(&mixed());
    let inserted: Vec<u64> = operations.iter().filter(|o| o.kind == Kind::Insert).map(|o| o.key).collect();
    assert!(inserted.iter().copied().eq(1000..1000 + inserted.len() as u64));
    assert!(inserted.len() > 800);
    assert!(operations.iter().any(|o| o.kind == Kind::Get && o.key >= 1000));
}

#[test]
fn sequences_count_from_zero_to_the_plans_number() {
    let operations = all(&mixed());
    assert!(operations.iter().map(|o| o.sequence).eq(0..20_000));
    assert_eq!(mixed().operations().unwrap().size_hint(), (20_000, Some(20_000)));
}

#[test]
fn phases_share_keys_but_neither_versions_nor_draws() {
    let first = mixed();
    let second = Plan { phase: 2, ..first.clone() };
    assert_eq!(first.key_space().unwrap().key(5), second.key_space().unwrap().key(5));
    let (a, b) = (all(&first), all(&second));
    assert_eq!((a[3].version, b[3].version), ((1 << 48) + 3, (2 << 48) + 3));
    assert!(a.iter().zip(&b).filter(|(x, y)| x.key == y.key).count() < 100);
    assert_eq!(all(&first.preload())[3].version, 3);
    let most = 1 << 48;
    let endless = Plan { operations: most + 1, ..first }.operations().unwrap_err();
    assert_eq!(endless, WorkloadError::Operations { operations: most + 1, most });
}

#[test]
fn a_preload_puts_every_key_once() {
    let mut keys: Vec<u64> = all(&mixed().preload())
        .into_iter()
        .map(|o| if o.kind == Kind::Put { o.key } else { u64::MAX })
        .collect();
    keys.sort_unstable();
    assert!(keys.into_iter().eq(0..1000));
}

#[test]
fn impossible_plans_are_refused() {
    let error = |plan: Plan| plan.operations().unwrap_err();
    assert_eq!(error(Plan { key_bytes: 3, ..mixed() }), WorkloadError::KeyBytes { key_bytes: 3 });
    let most = 1 << 32;
    let full = Plan { keys: most, key_bytes: 4, ..mixed() };
    assert_eq!(error(full.clone()), WorkloadError::Keys { keys: most + 20_000, key_bytes: 4, most });
    assert!(Plan { mix: Mix::PUTS, ..full }.operations().is_ok());
    assert!(matches!(error(Plan { keys: 0, ..mixed() }), WorkloadError::Keys { .. }));
    assert_eq!(error(Plan { mix: Mix::default(), ..mixed() }), WorkloadError::EmptyMix);
    let sizes = Sizes::Uniform(2, 1);
    assert!(matches!(error(Plan { value_bytes: sizes, ..mixed() }), WorkloadError::Sizes { .. }));
}
