// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every interleaving (up to loom's bounds) of a device's thread and the one that computes for it:
//! `RUSTFLAGS="--cfg loom" cargo test -p saker-runtime --profile soak --test loom`
#![cfg(loom)]

use loom::sync::Arc;
use loom::thread;
use saker_runtime::desk::Desk;

/// A number, and a token that lives as long as it.
type Numbered = (u32, Arc<()>);

fn bounded(check: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(4);
    builder.check(check);
}

/// The thread adds one to each number.
fn started(desk: &Arc<Desk<Numbered>>) -> thread::JoinHandle<()> {
    let desk = Arc::clone(desk);
    thread::spawn(move || desk.work(|task| task.0 += 1))
}

#[test]
fn each_task_is_done_once_and_comes_back() {
    bounded(|| {
        let (desk, token) = (Arc::new(Desk::default()), Arc::new(()));
        let worker = started(&desk);
        for n in [10, 20] {
            desk.open((n, Arc::clone(&token)));
            assert_eq!(desk.take_back().0, n + 1);
            assert!(!desk.is_done(), "it was taken");
        }
        desk.close();
        worker.join().expect("it ends");
        assert_eq!(Arc::strong_count(&token), 1, "nobody has any");
    });
}

#[test]
fn what_is_said_to_be_done_can_be_taken() {
    bounded(|| {
        let (desk, token) = (Arc::new(Desk::default()), Arc::new(()));
        let worker = started(&desk);
        desk.open((1, Arc::clone(&token)));
        while !desk.is_done() {
            thread::yield_now();
        }
        assert_eq!(desk.take_back().0, 2);
        desk.lay_done((7, token));
        assert!(desk.is_done());
        assert_eq!(desk.take_back().0, 7);
        desk.close();
        worker.join().expect("it ends");
    });
}

#[test]
fn whoever_closes_it_ends_the_work_wherever_that_is() {
    bounded(|| {
        let (desk, token) = (Arc::new(Desk::default()), Arc::new(()));
        let worker = started(&desk);
        desk.open((1, Arc::clone(&token)));
        desk.close();
        worker.join().expect("it ends");
        drop(desk);
        assert_eq!(Arc::strong_count(&token), 1, "nobody has any");
    });
}
