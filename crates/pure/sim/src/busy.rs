// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What modelled cores were busy with, and for how long.
//!
//! A driver notes each stretch of work at the core that does it. So rates per percent of CPU are figures of a run: a percent is
//! busy time over cores and elapsed time ([`Busy::percent`]).

use crate::Duration;

/// What a core does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Activity {
    /// Operations of users, and commands on their behalf.
    Foreground,
    /// Writing memtables to tables.
    Flush,
    /// Merging tables.
    Compaction,
    /// Emptying segments of what is not needed.
    Collection,
    /// Whatever else is due in the background, or all of it where it is not told apart.
    Maintenance,
    /// Fetching commands and handing them to other cores.
    Dispatch,
    /// Finding and taking completions, and trying again what waited for them.
    Completions,
    /// Looking for completions while there are none: a core that waits for one does nothing else.
    Polling,
}

impl Activity {
    /// Number of them.
    pub const COUNT: usize = 8;
    /// All of them.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Foreground,
        Self::Flush,
        Self::Compaction,
        Self::Collection,
        Self::Maintenance,
        Self::Dispatch,
        Self::Completions,
        Self::Polling,
    ];

    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Foreground => "foreground",
            Self::Flush => "flush",
            Self::Compaction => "compaction",
            Self::Collection => "collection",
            Self::Maintenance => "maintenance",
            Self::Dispatch => "dispatch",
            Self::Completions => "completions",
            Self::Polling => "polling",
        }
    }
}

/// Busy time of one core, by activity.
pub type CoreBusy = [Duration; Activity::COUNT];

/// Busy time of cores, by core and activity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Busy {
    cores: Vec<CoreBusy>,
}

impl Busy {
    /// So many cores that did nothing yet.
    #[must_use]
    pub fn of_cores(count: usize) -> Self {
        Self { cores: vec![CoreBusy::default(); count] }
    }

    /// A core was busy for that long. A core that is not known yet is counted from now on.
    #[inline]
    pub fn add(&mut self, core: usize, activity: Activity, length: Duration) {
        if core >= self.cores.len() {
            self.cores.resize(core + 1, CoreBusy::default());
        }
        self.cores[core][activity as usize] += length;
    }

    /// Each core, in order.
    #[must_use]
    pub fn cores(&self) -> &[CoreBusy] {
        &self.cores
    }

    /// All cores' time with one activity.
    #[must_use]
    pub fn with(&self, activity: Activity) -> Duration {
        self.cores.iter().fold(Duration::ZERO, |sum, core| sum + core[activity as usize])
    }

    /// All cores' time with anything, polling included.
    #[must_use]
    pub fn total(&self) -> Duration {
        Activity::ALL.iter().fold(Duration::ZERO, |sum, activity| sum + self.with(*activity))
    }

    /// What was added since `before`, an earlier state of the same cores.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let mut left = self.clone();
        for (mine, theirs) in left.cores.iter_mut().zip(&before.cores) {
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine = *mine - *theirs);
        }
        left
    }

    /// These cores, and behind them others.
    #[must_use]
    pub fn beside(mut self, others: &Self) -> Self {
        self.cores.extend_from_slice(&others.cores);
        self
    }

    /// Busy time over cores and elapsed time, in percent; polling counts. 100: all of so many cores never rested. 0 if no time went by.
    #[must_use]
    pub fn percent(&self, cores: usize, elapsed: Duration) -> f64 {
        let possible = elapsed.as_secs_f64() * cores as f64;
        if possible > 0.0 { self.total().as_secs_f64() / possible * 100.0 } else { 0.0 }
    }

    /// The same without polling.
    #[must_use]
    pub fn percent_without_polling(&self, cores: usize, elapsed: Duration) -> f64 {
        let possible = elapsed.as_secs_f64() * cores as f64;
        let worked = self.total() - self.with(Activity::Polling);
        if possible > 0.0 { worked.as_secs_f64() / possible * 100.0 } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ns(n: u64) -> Duration {
        Duration::from_nanos(n)
    }

    #[test]
    fn time_adds_up_by_core_and_by_activity() {
        let mut busy = Busy::of_cores(2);
        busy.add(0, Activity::Foreground, ns(30));
        busy.add(1, Activity::Compaction, ns(5));
        let before = busy.clone();
        busy.add(0, Activity::Polling, ns(10));
        busy.add(3, Activity::Compaction, ns(7));
        assert_eq!((busy.cores().len(), busy.total(), busy.with(Activity::Compaction)), (4, ns(52), ns(12)));
        let since = busy.since(&before);
        assert_eq!((since.total(), since.with(Activity::Foreground)), (ns(17), ns(0)));
        assert_eq!(since.cores()[3][Activity::Compaction as usize], ns(7));
        assert_eq!(before.beside(&since).cores().len(), 6);
    }

    #[test]
    fn a_percent_is_busy_time_over_cores_and_time() {
        let mut busy = Busy::default();
        busy.add(0, Activity::Foreground, ns(100));
        busy.add(1, Activity::Polling, ns(50));
        assert!((busy.percent(4, ns(100)) - 37.5).abs() < 1e-9);
        assert!((busy.percent_without_polling(4, ns(100)) - 25.0).abs() < 1e-9);
        assert!(busy.percent(4, Duration::ZERO).abs() < 1e-9);
    }

    #[test]
    fn activities_index_their_times_and_have_names_of_their_own() {
        for (i, activity) in Activity::ALL.into_iter().enumerate() {
            assert_eq!(activity as usize, i);
            assert!(Activity::ALL[..i].iter().all(|other| other.name() != activity.name()));
        }
    }
}
