// SPDX-License-Identifier: Apache-2.0 OR MIT

use super::*;

const NOW: Moment = (1, 0);

fn id(host: u8, number: u64) -> TransactionId {
    TransactionId { host: [host; 16], number }
}

#[test]
fn what_a_host_may_have_is_bounded() {
    let mut splits = Splits::default();
    for number in 0..HOST_OPEN_MAX as u64 {
        assert_eq!(splits.begin(id(1, number), NOW), Ok(()));
    }
    assert_eq!(splits.begin(id(1, 99), NOW), Err(Status::CAPACITY_EXCEEDED));
    assert_eq!(splits.begin(id(1, 3), NOW), Ok(()), "one that begins anew");
    assert_eq!(splits.begin(id(2, 99), NOW), Ok(()), "another host");
    let part = vec![0; COUNT_BYTES + (1 << 20)];
    for number in 0..7 {
        assert_eq!(splits.add(id(1, number), &part, 1, NOW), Ok(1));
    }
    assert_eq!(splits.add(id(1, 9), &part, 1, NOW), Err(Status::CAPACITY_EXCEEDED), "bytes of the host");
    assert_eq!(splits.add(id(2, 99), &part, 1, NOW), Ok(1));
    for n in 2..4 {
        assert_eq!(splits.add(id(2, 99), &part, 1, NOW), Ok(n));
    }
    let long = Err(Status::CAPACITY_EXCEEDED);
    assert_eq!(splits.add(id(2, 99), &part, 1, NOW), long, "bytes of the transaction");
    (0..HOST_OPEN_MAX as u64).for_each(|number| splits.end(id(1, number)));
    splits.end(id(2, 99));
    assert_eq!(splits.held(), (0, 0), "all that was taken is given back");
}

#[test]
fn hosts_together_are_bounded() {
    let mut splits = Splits::default();
    let part = vec![0; 4 << 20];
    let took = (0..=255).filter(|host| {
        splits.begin(id(*host, 0), NOW).and_then(|()| splits.add(id(*host, 0), &part, 1, NOW)).is_ok()
    });
    assert_eq!(took.count(), 15);
    assert!(splits.held().1 <= ALL_BYTES_MAX);
    splits.clear();
    assert_eq!(splits.held(), (0, 0));
}

#[test]
fn what_nobody_goes_on_with_times_out() {
    let mut splits = Splits::default();
    let now = splits.tick(0, 800);
    assert_eq!((splits.begin(id(1, 1), now), splits.begin(id(2, 1), now)), (Ok(()), Ok(())));
    let now = splits.tick(60, 800);
    assert_eq!(splits.add(id(2, 1), &[0; 8], 1, now), Ok(1));
    splits.tick(110, 800);
    assert!(splits.find(id(1, 1)).is_none() && splits.find(id(2, 1)).is_some(), "by what was written");
    for _ in 0..=IDLE_COMMANDS_MAX {
        splits.tick(110, 800);
    }
    assert_eq!(splits.held(), (0, 0), "by what was asked");
}
