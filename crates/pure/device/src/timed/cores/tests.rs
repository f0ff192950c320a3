// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::*;

fn at(ns: u64) -> Instant {
    Instant::ZERO + Duration::from_nanos(ns)
}

fn two_works(background: u32) -> Cores {
    let mut cores = Cores::new(1, background, Dispatch::Shared);
    cores.enqueue(Work::background(0, 0), 0);
    cores.enqueue(Work::Command(7), 0);
    cores
}

#[test]
fn background_work_waits_for_commands_unless_it_has_a_core() {
    let mut cores = two_works(0);
    assert_eq!(cores.take(at(0)), Some(Work::Command(7)));
    cores.occupy(at(0), Duration::from_nanos(50), false, Activity::Foreground);
    assert_eq!((cores.take(at(0)), cores.wake_at()), (None, Some(at(50))));
    let mut cores = two_works(1);
    assert_eq!(cores.take(at(0)), Some(Work::Command(7)));
    cores.occupy(at(0), Duration::from_nanos(50), false, Activity::Foreground);
    assert_eq!(cores.take(at(0)), Some(Work::background(0, 0)));
    cores.occupy(at(0), Duration::from_nanos(20), false, Activity::Foreground);
    cores.enqueue(Work::background(0, 0), 0);
    assert_eq!((cores.take(at(0)), cores.wake_at()), (None, Some(at(20))));
    assert_eq!(cores.take(at(20)), Some(Work::background(0, 0)));
}

#[test]
fn cores_of_their_own_leave_each_other_alone() {
    let mut cores = Cores::new(2, 0, Dispatch::ByKey);
    (0..3).for_each(|n| cores.enqueue(Work::Command(n), u64::from(n / 2)));
    assert_eq!(cores.take(at(0)), Some(Work::Command(0)));
    cores.occupy(at(0), Duration::from_nanos(50), false, Activity::Foreground);
    assert_eq!(cores.take(at(0)), Some(Work::Command(2)), "the next of the other core");
    cores.occupy(at(0), Duration::from_nanos(10), false, Activity::Foreground);
    assert_eq!((cores.take(at(20)), cores.wake_at()), (None, Some(at(50))));
    assert_eq!(cores.take(at(50)), Some(Work::Command(1)));
}

#[test]
fn a_core_that_is_held_takes_nothing_until_it_is_released() {
    let mut cores = Cores::new(1, 0, Dispatch::Shared);
    (0..2).for_each(|n| cores.enqueue(Work::Command(n), 0));
    assert_eq!(cores.take(at(0)), Some(Work::Command(0)));
    cores.occupy(at(0), Duration::from_nanos(50), true, Activity::Foreground);
    let held = cores.hold();
    assert_eq!((cores.take(at(500)), cores.wake_at()), (None, None));
    cores.release(held, at(700), Activity::Foreground);
    assert_eq!(cores.busy().cores()[0].iter().copied().max(), Some(Duration::from_nanos(700)));
    assert_eq!(cores.take(at(700)), Some(Work::Command(1)));
}

#[test]
fn nobody_is_woken_for_a_core_whose_end_is_an_event() {
    let mut cores = Cores::new(1, 0, Dispatch::Shared);
    (0..2).for_each(|n| cores.enqueue(Work::Command(n), 0));
    assert_eq!(cores.take(at(0)), Some(Work::Command(0)));
    cores.occupy(at(0), Duration::from_nanos(50), true, Activity::Foreground);
    assert_eq!((cores.take(at(0)), cores.wake_at()), (None, None));
    assert_eq!(cores.take(at(50)), Some(Work::Command(1)));
}
