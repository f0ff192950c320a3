// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::*;

const GEOMETRY: Geometry = Geometry { page_bytes: 4096, oob_bytes: 64, segment_pages: 256, segments: 64 };

fn config(asked: &[(&str, u64)]) -> LsmConfig {
    let mut settings = Settings::NONE;
    asked.iter().for_each(|(name, value)| settings.set(&SETTINGS, name, *value).unwrap());
    apply(&settings, LsmConfig::new(1, &GEOMETRY, 64, true), &GEOMETRY)
}

#[test]
fn every_setting_reaches_the_configuration() {
    let plain = config(&[]);
    assert_eq!(plain, LsmConfig::new(1, &GEOMETRY, 64, true));
    for setting in &SETTINGS {
        let (least, most) = setting.range();
        let changed = [least, most].map(|value| config(&[(setting.name, value)]));
        assert!(changed[0] != plain || changed[1] != plain, "{}", setting.name);
    }
}

#[test]
fn sizes_are_the_words_that_ask_for_them() {
    let ask = |name: &str, n: usize| config(&[(name, n as u64)]);
    for (n, word) in BLOB_SIZES.iter().enumerate() {
        let asked = ask(MIN_BLOB_SIZE, n).min_blob_size;
        let expected = if *word == "auto" { AUTO } else { word.parse().unwrap_or(u32::MAX) };
        assert_eq!(asked, expected, "{word}");
        let told = told(&config(&[(MIN_BLOB_SIZE, n as u64)]), 4096).get(MIN_BLOB_SIZE);
        assert_eq!(told, Some(n as u64), "{word}");
    }
    for (n, word) in BLOCK_SIZES.iter().enumerate() {
        assert_eq!(ask(BLOCK_SIZE, n).block_size, word.parse().ok(), "{word}");
    }
}

#[test]
fn what_does_not_fit_pages_is_refused() {
    let fits = |page, asked: &[(&'static str, u64)]| fits(page, &Settings::told(asked));
    assert_eq!((fits(4096, &[(BLOCK_SIZE, 4)]), fits(16, &[])), (Ok(()), Ok(())));
    assert!(fits(4096, &[(BLOCK_SIZE, 5)]).unwrap_err().contains("8192"));
    assert!(fits(256, &[(MIN_BLOB_SIZE, 1)]).unwrap_err().contains("256"));
    assert!(fits(256, &[(MIN_BLOB_SIZE, 0), (BLOCK_SIZE, 0)]).is_ok());
}

#[test]
fn packing_has_the_numbers_of_images() {
    let asked = |n| config(&[("packing", n)]).packing;
    assert_eq!([asked(0), asked(5), asked(6)], [None, Some(Packing::Auto), Some(Packing::AutoTime)]);
    assert_eq!(packing(&asking_for(Packing::Backfill)), Some(Packing::Backfill));
    let words = ["none", "block", "all", "selective", "backfill", "auto", "auto-time"];
    assert_eq!(PACKINGS, words);
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

#[test]
fn what_is_told_asks_for_the_same() {
    let every = |end: fn(&Setting) -> u64| SETTINGS.iter().map(|s| (s.name, end(s))).collect::<Vec<_>>();
    for asked in [vec![], every(|s| s.range().0), every(|s| s.range().1)] {
        let there = config(&asked);
        let told = told(&there, GEOMETRY.page_bytes);
        assert_eq!(apply(&told, config(&[]), &GEOMETRY), there);
        assert!(SETTINGS.iter().all(|setting| told.get(setting.name).is_some()));
    }
}

#[test]
fn only_live_settings_change_while_a_store_is_open() {
    // Levels in memory take their filters with them, and a store is always asked for both.
    for setting in SETTINGS.iter().filter(|setting| setting.name != "pinned_levels") {
        let (least, most) = setting.range();
        let [least, most] = [least, most].map(|value| config(&[(setting.name, value)]));
        let changed =
            retuned(config(&[]), &least) != config(&[]) || retuned(config(&[]), &most) != config(&[]);
        assert_eq!(changed, setting.is_live(), "{}", setting.name);
    }
}

#[test]
fn a_price_that_nobody_asks_for_is_named() {
    let idle = |asked: &[(&'static str, u64)]| idle(&Settings::told(asked)).len();
    assert_eq!((idle(&[(PROGRAM_PRICE, 9)]), idle(&[(PROGRAM_PRICE, 9), (PACKING, 5)])), (1, 1));
    assert_eq!((idle(&[(PROGRAM_PRICE, 9), (PACKING, 6)]), idle(&[(PACKING, 5)])), (0, 0));
}
