// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Copies in the device that do not count make room for others.

use super::rig::{Rig, Terms, terms};
use saker_host::host_kv::{Answer, Op};
use saker_hybrid::{Detector, Options, Rollback};
use saker_sim::Duration;

/// Keys are redirected, then written again one by one, so that many of their copies do not count; then others are redirected. How often the device's
/// tree was full, and how many copies were swept, if sweeps begin when copies fill so much of it.
fn redirected_twice(sweep_percent: u8) -> (u64, u64) {
    let mut terms = terms(Detector::Exact, Rollback::Lazy);
    terms.options = Options { idle: Duration::from_nanos(3_600_000_000_000), sweep_percent, ..terms.options };
    let mut rig = Rig::new(&terms, 1, 0);
    let put = |rig: &mut Rig, n: u64| {
        let put = Op::Put(n.to_be_bytes().to_vec(), vec![n as u8; 6000]);
        assert_eq!(rig.ask(put), Some(Ok(Answer::Done)));
    };
    (0..600).for_each(|n| put(&mut rig, n));
    for n in 0..600 {
        rig.pass(Duration::from_nanos(2_000_000));
        put(&mut rig, n);
    }
    (600..1200).for_each(|n| put(&mut rig, n));
    (rig.counter("device_filled"), rig.counter("device_swept"))
}

/// Copies of all keys fill the device's tree; those that count do not.
#[test]
fn copies_that_do_not_count_do_not_fill_the_device() {
    let (filled, swept) = redirected_twice(Options::default().sweep_percent);
    assert!(filled == 0 && swept > 100, "full {filled} times, {swept} swept");
    let (filled, _) = redirected_twice(u8::MAX);
    assert!(filled > 0, "without sweeps it is full");
}

/// A device's tree that is full, and of whose copies none counts any more, is emptied although the main tree is never at rest.
#[test]
fn a_device_full_of_copies_that_do_not_count_is_emptied_under_stalls() {
    let usual = terms(Detector::Exact, Rollback::Lazy);
    let options = Options { idle: Duration::from_nanos(3_600_000_000_000), ..usual.options };
    let mut rig = Rig::new(&Terms { options, device_permille: 40, ..usual }, 1, 0);
    for n in 0..2000_u64 {
        let put = Op::Put((n % 60).to_be_bytes().to_vec(), vec![n as u8; 3000]);
        assert_eq!(rig.ask(put), Some(Ok(Answer::Done)));
    }
    let (emptied, redirected) = (rig.counter("device_emptied"), rig.counter("redirected_writes"));
    assert!(emptied > 3 && redirected > 100, "emptied {emptied} times, {redirected} redirected");
}
