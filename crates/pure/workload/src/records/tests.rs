// SPDX-License-Identifier: Apache-2.0 OR MIT
use proptest::prelude::*;

use super::*;

fn set(records: &[(Vec<u8>, Vec<u8>)]) -> RecordSet {
    let mut set = RecordSet::default();
    records.iter().for_each(|(key, value)| set.push(key, value));
    set
}

#[test]
fn classes_end_at_powers_of_two() {
    let sizes = [0, 1, 2, 3, 4, 5, 8, 9, 100, 128];
    let set = set(&sizes.map(|n| (b"k".to_vec(), vec![b'v'; n])));
    let classes: Vec<_> =
        set.size_classes().iter().map(|c| (c.bytes_min, c.bytes_max, c.records, c.value_bytes)).collect();
    let expected =
        [(0, 1, 2, 1), (2, 2, 1, 2), (3, 4, 2, 7), (5, 8, 2, 13), (9, 16, 1, 9), (65, 128, 2, 228)];
    assert_eq!(classes, expected);
    assert_eq!((set.len(), set.distinct_keys()), (10, 1));
    assert!(RecordSet::default().size_classes().is_empty());
}

proptest! {
    #[test]
    fn records_come_back_in_their_order(records: Vec<(Vec<u8>, Vec<u8>)>) {
        let set = set(&records);
        let found: Vec<_> = set.iter().map(|r| (r.key.to_vec(), r.value.to_vec())).collect();
        prop_assert_eq!((set.len(), set.get(records.len())), (records.len(), None));
        let keys: std::collections::BTreeSet<_> = records.iter().map(|(key, _)| key).collect();
        prop_assert_eq!(set.distinct_keys(), keys.len());
        prop_assert_eq!(found, records);
    }
}
