//! Write stalls: when background work falls behind, writes slow down and then stop, for the reasons that RocksDB has
//! (its wiki, Write Stalls).

use super::options::LsmConfig;

/// Why a write was slowed down or stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The memtable is full and those before it are not flushed; or, of more than three, all but one wait.
    Memtable = 0,
    /// Level 0 has too many tables.
    Level0 = 1,
    /// Compactions owe too many bytes.
    PendingBytes = 2,
}

impl Reason {
    /// Number of reasons.
    pub const COUNT: usize = 3;
}

/// Writes that were held up, by reason. A write that is asked for again and again counts once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StallStats {
    /// Writes that were slowed down.
    pub slowed: [u64; Reason::COUNT],
    /// Writes that were stopped.
    pub stopped: [u64; Reason::COUNT],
}

/// What matters for a write.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// The memtable is full and cannot be replaced.
    pub memtable_stuck: bool,
    /// Memtables that wait to be flushed.
    pub frozen: u32,
    /// Tables in level 0.
    pub level0: u32,
    /// Bytes that compactions owe.
    pub pending_bytes: u64,
}

/// What a write has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Go.
    Go,
    /// Go after a piece of background work.
    Slow(Reason),
    /// Wait.
    Stop(Reason),
}

/// Judges the load.
pub fn judge(config: &LsmConfig, load: &Load) -> Verdict {
    let (level0, bytes) = (load.level0, load.pending_bytes);
    if load.memtable_stuck {
        Verdict::Stop(Reason::Memtable)
    } else if level0 >= config.level0_stop_writes_trigger {
        Verdict::Stop(Reason::Level0)
    } else if bytes >= config.hard_pending_compaction_bytes_limit {
        Verdict::Stop(Reason::PendingBytes)
    } else if config.slowdown
        && config.max_write_buffer_number > 3
        && load.frozen + 1 >= config.max_write_buffer_number
    {
        Verdict::Slow(Reason::Memtable)
    } else if config.slowdown && level0 >= config.level0_slowdown_writes_trigger {
        Verdict::Slow(Reason::Level0)
    } else if config.slowdown && bytes >= config.soft_pending_compaction_bytes_limit {
        Verdict::Slow(Reason::PendingBytes)
    } else {
        Verdict::Go
    }
}

/// Lets writes pass or not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Brake {
    /// Counters.
    pub stats: StallStats,
    /// Slowed writes that background work has paid for.
    credit: u32,
    /// The write that waits was counted.
    counted: bool,
}

impl Brake {
    /// Whether a write may go on now.
    pub fn admit(&mut self, verdict: Verdict) -> bool {
        let (counter, passes) = match verdict {
            Verdict::Go => (None, true),
            Verdict::Slow(why) => (Some(&mut self.stats.slowed[why as usize]), self.credit > 0),
            Verdict::Stop(why) => (Some(&mut self.stats.stopped[why as usize]), false),
        };
        if let Some(counter) = counter.filter(|_| !self.counted) {
            *counter += 1;
        }
        self.counted = !passes;
        if passes && verdict != Verdict::Go {
            self.credit -= 1;
        }
        passes
    }

    /// A piece of background work was done, or there was nothing to do.
    pub fn pay(&mut self) {
        self.credit = 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use saker_segment_store::Geometry;

    fn config() -> LsmConfig {
        let g = Geometry { page_bytes: 4096, oob_bytes: 64, segment_pages: 256, segments: 64 };
        LsmConfig {
            soft_pending_compaction_bytes_limit: 100,
            hard_pending_compaction_bytes_limit: 200,
            ..LsmConfig::new(1, &g, 64, true)
        }
    }

    #[test]
    fn triggers_are_those_of_rocksdb() {
        let at = |memtable_stuck, level0, pending_bytes| {
            judge(&config(), &Load { memtable_stuck, frozen: 0, level0, pending_bytes })
        };
        assert_eq!(at(false, 19, 99), Verdict::Go);
        assert_eq!(at(false, 20, 0), Verdict::Slow(Reason::Level0));
        assert_eq!(at(false, 36, 0), Verdict::Stop(Reason::Level0));
        assert_eq!(at(false, 0, 100), Verdict::Slow(Reason::PendingBytes));
        assert_eq!(at(false, 0, 200), Verdict::Stop(Reason::PendingBytes));
        assert_eq!(at(true, 0, 0), Verdict::Stop(Reason::Memtable));
        let unslowed = LsmConfig { slowdown: false, ..config() };
        let load = Load { memtable_stuck: false, frozen: 1, level0: 30, pending_bytes: 150 };
        assert_eq!(judge(&unslowed, &load), Verdict::Go);
        let waiting = |max_write_buffer_number, frozen| {
            let config = LsmConfig { max_write_buffer_number, ..config() };
            judge(&config, &Load { memtable_stuck: false, frozen, level0: 0, pending_bytes: 0 })
        };
        assert_eq!(waiting(4, 3), Verdict::Slow(Reason::Memtable));
        assert_eq!([waiting(4, 2), waiting(3, 2), waiting(2, 1)], [Verdict::Go; 3]);
    }

    #[test]
    fn a_slowed_write_passes_once_for_each_piece_of_work() {
        let mut brake = Brake::default();
        let slow = Verdict::Slow(Reason::Level0);
        assert!(!brake.admit(slow) && !brake.admit(slow));
        brake.pay();
        brake.pay();
        assert!(brake.admit(slow) && !brake.admit(slow));
        assert_eq!(brake.stats.slowed, [0, 2, 0]);
        assert!(!brake.admit(Verdict::Stop(Reason::Memtable)) && brake.admit(Verdict::Go));
        assert_eq!(brake.stats.stopped, [0, 0, 0], "the waiting write was counted as slowed");
    }
}
