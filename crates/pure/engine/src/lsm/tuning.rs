//! Settings by name: what a user changes of [`LsmConfig`], for URLs, profiles and experiments. Names and meaning are those of
//! RocksDB's options where it has them (its `include/rocksdb/options.h` and `advanced_options.h`).

use super::options::{LsmConfig, table_pages};
use saker_medium::Geometry;
use saker_value_log::packing::Packing;

/// A setting: its name, the least and the most it takes, and where it goes.
struct Setting {
    name: &'static str,
    range: (u64, u64),
    put: fn(&mut LsmConfig, &Geometry, u64),
}

const U32: u64 = u32::MAX as u64;
/// More than any device holds.
const BYTES: u64 = 1 << 48;

/// Fewer pages of a table, and its description, which takes whole pages too, would be a large part of it.
const PAGES_MIN: u32 = 4;

/// The one that a profile sets unless a user does.
const PROGRAM_PRICE: &str = "program_price";

/// The one whose values are words: none and the policies, numbered in that order.
const PACKING: &str = "packing";
const NO_PACKING: &str = "none";

const fn setting(name: &'static str, range: (u64, u64), put: fn(&mut LsmConfig, &Geometry, u64)) -> Setting {
    Setting { name, range, put }
}

const SETTINGS: [Setting; LsmTuning::COUNT] = [
    setting("write_buffer_size", (1 << 10, 1 << 32), |c, _, n| c.write_buffer_size = n),
    setting("max_write_buffer_number", (2, 64), |c, _, n| c.max_write_buffer_number = n as u32),
    setting("compaction_threads", (1, 64), |c, _, n| c.compaction_threads = n as u32),
    setting("level0_file_num_compaction_trigger", (1, U32), |c, _, n| {
        c.level0_file_num_compaction_trigger = n as u32;
    }),
    setting("level0_slowdown_writes_trigger", (1, U32), |c, _, n| {
        c.level0_slowdown_writes_trigger = n as u32;
    }),
    setting("level0_stop_writes_trigger", (1, U32), |c, _, n| c.level0_stop_writes_trigger = n as u32),
    setting("soft_pending_compaction_bytes_limit", (1, BYTES), |c, _, n| {
        c.soft_pending_compaction_bytes_limit = n;
    }),
    setting("hard_pending_compaction_bytes_limit", (1, BYTES), |c, _, n| {
        c.hard_pending_compaction_bytes_limit = n;
    }),
    setting("slowdown", (0, 1), |c, _, n| c.slowdown = n == 1),
    setting("target_file_size_base", (1 << 10, BYTES), |c, g, n| {
        c.target_file_pages = table_pages(g, n).max(PAGES_MIN);
    }),
    setting("max_bytes_for_level_base", (1 << 10, BYTES), |c, _, n| c.max_bytes_for_level_base = n),
    setting("max_bytes_for_level_multiplier", (2, 1000), |c, _, n| c.max_bytes_for_level_multiplier = n),
    setting("bloom_bits_per_key", (0, 64), |c, _, n| c.bloom_bits_per_key = n as u32),
    setting("pinned_levels", (0, 7), |c, _, n| c.pinned_levels = n as u32),
    setting(PACKING, (0, Packing::ALL.len() as u64), |c, _, n| {
        c.packing = n.checked_sub(1).and_then(|n| Packing::ALL.get(n as usize)).copied();
    }),
    setting(PROGRAM_PRICE, (0, U32), |c, _, n| c.program_price = n as u32),
];

/// What is set; all else is as the namespace's size has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LsmTuning([Option<u64>; LsmTuning::COUNT]);

impl LsmTuning {
    /// Settings.
    const COUNT: usize = 16;

    /// Their names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SETTINGS.iter().map(|setting| setting.name)
    }

    /// Sets one by its name; switches are 0 or 1.
    ///
    /// # Errors
    /// What to write instead.
    pub fn set(&mut self, name: &str, value: u64) -> Result<(), String> {
        let Some(n) = Self::names().position(|known| known == name) else {
            return Err(format!("write one of {}", Self::names().collect::<Vec<_>>().join(", ")));
        };
        let (least, most) = SETTINGS[n].range;
        if !(least..=most).contains(&value) {
            return Err(format!("write {least} to {most}"));
        }
        self.0[n] = Some(value);
        Ok(())
    }

    /// The number that a word stands for: of switches `on` and `off`, of `packing` its policies.
    ///
    /// # Errors
    /// What to write instead, if the setting takes only words.
    pub fn number_of(name: &str, word: &str) -> Result<Option<u64>, String> {
        match (name, word) {
            (PACKING, NO_PACKING) => Ok(Some(0)),
            (PACKING, word) => {
                let n = Packing::ALL.iter().position(|p| p.name() == word).map(|n| n as u64 + 1);
                let names = Packing::ALL.map(Packing::name).join(", ");
                n.map(Some).ok_or_else(|| format!("write one of {NO_PACKING}, {names}"))
            }
            (_, "on" | "true") => Ok(Some(1)),
            (_, "off" | "false") => Ok(Some(0)),
            _ => Ok(None),
        }
    }

    /// The packing policy that was asked for.
    pub fn packing(&self) -> Option<Packing> {
        self.get(PACKING)?.checked_sub(1).and_then(|n| Packing::ALL.get(n as usize)).copied()
    }

    /// These settings, and those of `base` where they say nothing.
    #[must_use]
    pub fn over(&self, base: &Self) -> Self {
        Self(std::array::from_fn(|n| self.0[n].or(base.0[n])))
    }

    /// Asks for a packing policy.
    pub fn set_packing(&mut self, packing: Option<Packing>) {
        let n = packing.and_then(|asked| Packing::ALL.iter().position(|p| *p == asked));
        let at = Self::names().position(|name| name == PACKING).expect("a setting");
        self.0[at] = Some(n.map_or(0, |n| n as u64 + 1));
    }

    /// Says what programming costs: bytes that a core copies while [`PRICED_BYTES`](saker_value_log::packing::PRICED_BYTES) are programmed.
    pub fn set_program_price(&mut self, price: u32) {
        let at = Self::names().position(|name| name == PROGRAM_PRICE).expect("a setting");
        self.0[at] = Some(u64::from(price));
    }

    /// What a setting was set to.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.0[Self::names().position(|known| known == name)?]
    }

    /// The settings with these changes. Pinned levels go without filters unless both are asked for (PinK, ATC'20, section 3.2),
    /// and triggers are raised to those before them, as RocksDB does, since writes would otherwise stop before anything is due.
    pub fn apply(&self, mut config: LsmConfig, geometry: &Geometry) -> LsmConfig {
        for (setting, value) in SETTINGS.iter().zip(self.0) {
            if let Some(value) = value {
                (setting.put)(&mut config, geometry, value);
            }
        }
        if config.pinned_levels > 0 && self.get("bloom_bits_per_key").is_none() {
            config.bloom_bits_per_key = 0;
        }
        let c = &mut config;
        c.level0_slowdown_writes_trigger =
            c.level0_slowdown_writes_trigger.max(c.level0_file_num_compaction_trigger);
        c.level0_stop_writes_trigger = c.level0_stop_writes_trigger.max(c.level0_slowdown_writes_trigger);
        c.soft_pending_compaction_bytes_limit =
            c.soft_pending_compaction_bytes_limit.min(c.hard_pending_compaction_bytes_limit);
        config
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GEOMETRY: Geometry = Geometry { page_bytes: 4096, oob_bytes: 64, segment_pages: 256, segments: 64 };

    fn config(settings: &[(&str, u64)]) -> LsmConfig {
        let mut tuning = LsmTuning::default();
        settings.iter().for_each(|(name, value)| tuning.set(name, *value).unwrap());
        tuning.apply(LsmConfig::new(1, &GEOMETRY, 64, true), &GEOMETRY)
    }

    #[test]
    fn every_setting_reaches_the_configuration() {
        let plain = config(&[]);
        assert_eq!(plain, LsmConfig::new(1, &GEOMETRY, 64, true));
        for (n, name) in LsmTuning::names().enumerate() {
            let (least, most) = SETTINGS[n].range;
            let changed = [least, most].map(|value| config(&[(name, value)]));
            assert!(changed[0] != plain || changed[1] != plain, "{name}");
        }
    }

    #[test]
    fn values_out_of_range_and_other_names_are_refused() {
        let mut tuning = LsmTuning::default();
        assert_eq!(tuning.set("max_write_buffer_number", 1), Err("write 2 to 64".into()));
        assert!(
            tuning.set("level0_triggers", 1).unwrap_err().starts_with("write one of write_buffer_size, ")
        );
        assert_eq!(tuning, LsmTuning::default());
        assert_eq!(tuning.get("slowdown"), None);
    }

    #[test]
    fn packing_is_asked_for_by_name() {
        assert_eq!(LsmTuning::number_of("packing", "none"), Ok(Some(0)));
        assert_eq!(LsmTuning::number_of("packing", "block"), Ok(Some(1)));
        let refused = "write one of none, block, all, selective, backfill, auto, auto-time";
        assert_eq!(LsmTuning::number_of("packing", "tight"), Err(refused.into()));
        assert_eq!(LsmTuning::number_of("packing", "on"), Err(refused.into()));
        assert_eq!(LsmTuning::number_of("slowdown", "off"), Ok(Some(0)));
        assert_eq!(LsmTuning::number_of("slowdown", "7"), Ok(None));
        assert_eq!(config(&[("packing", 5)]).packing, Some(Packing::Auto));
        assert_eq!(config(&[("packing", 6)]).packing, Some(Packing::AutoTime));
    }

    #[test]
    fn what_is_not_said_is_as_it_was() {
        let (mut base, mut said) = (LsmTuning::default(), LsmTuning::default());
        base.set_packing(Some(Packing::Block));
        base.set("slowdown", 0).unwrap();
        assert_eq!(said.over(&base), base);
        said.set_packing(None);
        base.set_program_price(7);
        let both = said.over(&base);
        assert_eq!(both.apply(LsmConfig::new(1, &GEOMETRY, 64, true), &GEOMETRY).program_price, 7);
        assert_eq!((both.packing(), both.get("slowdown")), (None, Some(0)));
    }

    #[test]
    fn writes_never_stop_before_a_compaction_is_due() {
        let c = config(&[("level0_file_num_compaction_trigger", 50), ("level0_stop_writes_trigger", 2)]);
        assert_eq!((c.level0_slowdown_writes_trigger, c.level0_stop_writes_trigger), (50, 50));
        let c = config(&[("hard_pending_compaction_bytes_limit", 1)]);
        assert_eq!((c.soft_pending_compaction_bytes_limit, c.hard_pending_compaction_bytes_limit), (1, 1));
    }

    #[test]
    fn pinned_levels_do_without_filters_unless_told() {
        assert_eq!(config(&[("pinned_levels", 2)]).bloom_bits_per_key, 0);
        assert_eq!(config(&[("pinned_levels", 2), ("bloom_bits_per_key", 5)]).bloom_bits_per_key, 5);
    }
}
