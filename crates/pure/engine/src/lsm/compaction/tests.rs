// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::*;

#[test]
fn a_round_costs_what_its_longest_piece_does() {
    let (mut one, mut other, mut paid) = (Units::default(), Units::default(), Units::default());
    one.work(Unit::Compare, 5);
    one.work(Unit::CopyByte, 1);
    other.work(Unit::Compare, 3);
    other.work(Unit::CopyByte, 4);
    other.work(Unit::CopyByte, 5);
    paid.work(Unit::Compare, 100);
    one.max(other).pay(&mut paid);
    assert_eq!((paid.0[Unit::Compare as usize], paid.0[Unit::CopyByte as usize]), (105, 9));
    assert_eq!(paid.0.iter().sum::<u64>(), 114);
}
