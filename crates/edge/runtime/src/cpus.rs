// SPDX-License-Identifier: Apache-2.0 OR MIT
//! On which processors a thread runs.

use rustix::io;
use rustix::thread::{CpuSet, sched_setaffinity};

/// Puts the calling thread on these processors; those that there are not are passed over.
///
/// # Errors
/// The system has none of them for this thread.
pub fn pin(cpus: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    cpus.iter().filter(|cpu| **cpu < CpuSet::MAX_CPU).for_each(|cpu| set.set(*cpu));
    sched_setaffinity(None, &set)
}

/// Whether threads of this process can run on each of these processors.
#[must_use]
pub fn are_there(cpus: &[usize]) -> bool {
    // Where this thread may run says less: whoever started it may have kept it from processors that others are to have.
    std::thread::scope(|scope| {
        let tried = scope.spawn(|| cpus.iter().all(|cpu| pin(&[*cpu]).is_ok()));
        tried.join().unwrap_or(false)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::thread::sched_getaffinity;

    #[test]
    fn a_thread_runs_where_it_is_put_and_processors_that_are_not_there_are_told() {
        let before = sched_getaffinity(None).expect("the system tells");
        let mine = (0..CpuSet::MAX_CPU).find(|cpu| before.is_set(*cpu)).expect("this thread runs somewhere");
        assert!(are_there(&[mine]) && are_there(&[]));
        for none in [CpuSet::MAX_CPU - 1, CpuSet::MAX_CPU, usize::MAX] {
            assert!(!are_there(&[none]) && !are_there(&[mine, none]), "{none}");
        }
        let here = sched_getaffinity(None).expect("the system tells");
        assert_eq!(here.count(), before.count(), "this thread was not moved");
        std::thread::spawn(move || {
            pin(&[mine, CpuSet::MAX_CPU + 1]).expect("one of them is there");
            let now = sched_getaffinity(None).expect("the system tells");
            assert!(now.count() == 1 && now.is_set(mine));
            assert!(pin(&[CpuSet::MAX_CPU + 1]).is_err());
            assert!(sched_getaffinity(None).expect("the system tells").is_set(mine));
        })
        .join()
        .expect("no panic");
    }
}
