// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What crosses the link in each interval of a job.

use super::Driver;
use crate::measured::Measured;

impl<S: Measured> Driver<S> {
    /// What has crossed the link, when a new interval has begun. What was not asked for in between is the last interval's.
    pub(super) fn look_at_link(&mut self) {
        let interval = self.interval.as_nanos();
        let Some(n) = self.store.now().since(self.begun).as_nanos().checked_div(interval) else { return };
        let (n, sums) = (n as usize, &mut self.result.link_timeline);
        if n >= sums.len()
            && let Some(bytes) = self.store.link_bytes()
        {
            sums.resize(n + 1, bytes);
        }
    }
}

/// From sums at the begin of each interval to what each had; `bytes`: the sum at the end.
pub(super) fn end(sums: &mut [u64], bytes: impl FnOnce() -> Option<u64>) {
    if sums.is_empty() {
        return;
    }
    let behind: Vec<u64> = sums.iter().skip(1).copied().chain([bytes().unwrap_or_default()]).collect();
    sums.iter_mut().zip(behind).for_each(|(bytes, next)| *bytes = next.saturating_sub(*bytes));
}

#[cfg(test)]
mod tests {
    #[test]
    fn sums_become_what_each_interval_had() {
        let mut sums = [100, 150, 150, 400];
        super::end(&mut sums, || Some(410));
        assert_eq!(sums, [50, 0, 250, 10]);
        super::end(&mut [], || unreachable!("nobody has asked"));
    }
}
