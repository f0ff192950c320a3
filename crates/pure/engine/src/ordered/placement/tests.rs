// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::*;

#[test]
fn classes_begin_at_powers_of_two() {
    let classes = [0, 15, 16, 31, 32, 100, 4096, 32768, 65535, 65536, u32::MAX].map(class);
    assert_eq!(classes, [0, 0, 1, 1, 2, 3, 9, 12, 12, 13, 13]);
    assert!((0..CLASSES).all(|n| class(shortest(n)) == n));
    assert_eq!(65536, shortest(CLASSES - 1));
}

#[test]
fn the_last_class_is_never_inside() {
    let all = (0..CLASSES).fold(Inside::NONE, Inside::with);
    assert!((0..CLASSES - 1).all(|n| all.has(n)) && !all.has(CLASSES - 1));
    assert_eq!(all.shortest_apart(), 65536);
    assert_eq!((Inside::NONE.shortest_apart(), Inside::SHORT.shortest_apart()), (0, 16));
}

#[test]
fn what_is_counted_fades() {
    let mut placement = Placement::new(16);
    (0..4).for_each(|_| placement.put(100, 136));
    placement.read(100);
    placement.read(127);
    assert!(placement.is_due() && !placement.is_inside(100) && placement.is_inside(15));
    assert_eq!(placement.uses()[3], Use { puts: 4, bytes: 400, reads: 2 });
    placement.decide(Inside::SHORT.with(3));
    assert!(!placement.is_due() && placement.is_inside(127) && !placement.is_inside(128));
    assert_eq!(placement.uses()[3], Use { puts: 2, bytes: 200, reads: 1 });
    placement.decide(Inside::SHORT.with(3));
    assert_eq!((placement.changes, placement.decisions, placement.apart_bytes), (1, 2, 544));
}
