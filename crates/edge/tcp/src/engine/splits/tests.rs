// SPDX-License-Identifier: Apache-2.0 OR MIT

use super::*;

fn begin(number: u64) -> Sqe {
    let id = TransactionId { host: [1; 16], number };
    SplitCommand::Control { id, action: SplitAction::Begin }.encode(1)
}

/// The device ends transactions by a Format, and such as nobody goes on with, and tells nobody: a connection that lives long leaves no more
/// memory behind than what is open needs, and loses nothing that is.
#[test]
fn owners_of_what_the_device_has_ended_are_forgotten() {
    let mut splits = Splits::default();
    let is_open = |split: &Split| split.1.number.is_multiple_of(100);
    for number in 0..100_000 {
        splits.look(is_open);
        assert_eq!(splits.judge(1, (7, 1), &begin(number)), Way::Device);
        splits.ended((7, 1), Status::SUCCESS);
    }
    assert!(splits.owners.len() <= 4 * OWNERS, "{}", splits.owners.len());
    assert!((0..1000).all(|n| splits.owners.keys().any(|split| split.1.number == n * 100)));
    // What the device is about to begin is not there yet.
    let mut splits = Splits::default();
    for number in 0..=OWNERS as u64 {
        splits.look(|_| false);
        splits.judge(1, (7, number as u16), &begin(number));
    }
    assert_eq!(splits.owners.len(), OWNERS + 1);
}

#[test]
fn a_refused_command_ends_what_its_controller_has() {
    let mut splits = Splits::default();
    let split = |number| (1, TransactionId { host: [1; 16], number });
    for number in [1, 2] {
        assert_eq!(splits.judge(1, (7, 1), &begin(number)), Way::Device);
        splits.ended((7, 1), Status::SUCCESS);
    }
    assert_eq!(splits.refused(2, &begin(1)), None, "another controller");
    assert_eq!(splits.refused(1, &begin(3)), None, "one that it has not");
    assert_eq!(splits.refused(1, &begin(1)), Some((7, split(1))));
    let commit = SplitCommand::Control { id: split(1).1, action: SplitAction::Commit }.encode(1);
    assert_eq!(splits.judge(1, (7, 1), &commit), Way::Outcome, "before the device has been told");
    assert!(splits.leaves(7, false, &commit) && !splits.leaves(7, false, &commit));
    assert!(!splits.leaves(7, false, &begin(2)) && splits.leaves(7, true, &begin(2)));
    // Begun anew by another controller before the device has been told that the first one is gone.
    splits.judge(2, (8, 1), &begin(2));
    assert!(!splits.leaves(7, true, &begin(2)) && splits.leaves(8, true, &begin(2)));
    // Begun anew before the device has been told of the end: that one goes on.
    splits.judge(1, (7, 1), &begin(4));
    assert_eq!(splits.refused(1, &begin(4)), Some((7, split(4))));
    splits.judge(1, (7, 2), &begin(4));
    assert!(!splits.leaves(7, false, &begin(4)));
}
