// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Settings that change while a device is open, joined with openings, Format, iterators, queued puts, sessions, timing and
//! shards, on every engine.

use crate::support::SLOW;
use crate::support::{key, value};
use saker::{EngineKind, Hold, ImagePlan, KeyRange, Kv, Saker, SakerOptions, Setting, WriteStallCause};

const PAIRS: u32 = 400;

fn live(engine: EngineKind) -> impl Iterator<Item = &'static Setting> {
    engine.settings().iter().filter(|setting| setting.is_live())
}

fn plain(engine: EngineKind) -> String {
    format!("mem:?profile=tiny&size=8MiB&seed=1&engine={}", engine.name())
}

/// With buffers so small that they are flushed and merged.
fn url(engine: EngineKind) -> String {
    let small = if engine.has_setting("write_buffer_size") { "&write_buffer_size=2KiB" } else { "" };
    plain(engine) + small
}

fn told_now(kv: &mut Kv, name: &str) -> String {
    let all = kv.settings().expect("told");
    all.into_iter().find(|setting| setting.name == name).expect("a setting").value
}

/// What is told of a setting that the URL asks for: a trigger is never below the one before it.
fn told_when_opened(engine: EngineKind, name: &str, value: &str) -> String {
    told_now(
        &mut Kv::open(&format!("{}&{name}={value}{}", plain(engine), needed(name))).expect("opens"),
        name,
    )
}

/// What a setting needs to do anything.
fn needed(name: &str) -> &'static str {
    match name {
        "doubles_at_percent" => "&layout=fixed",
        "page_mappings" => "&validity=invalid_pages",
        "program_price" => "&packing=auto-time",
        _ => "",
    }
}

fn put_all(kv: &mut Kv, version: u64) {
    for n in 0..PAIRS {
        kv.put_queued(&key(n), &value(n, version, 30 + n % 300)).expect("queued");
    }
    kv.drain().expect("stored");
}

fn has_all(kv: &mut Kv, version: u64, what: &str) {
    for n in 0..PAIRS {
        assert_eq!(kv.get(&key(n)), Ok(Some(value(n, version, 30 + n % 300))), "pair {n}, {what}");
    }
}

#[test]
fn each_takes_every_value_while_pairs_come_and_go() {
    for engine in EngineKind::ALL {
        for setting in live(*engine) {
            let mut kv = Kv::open(&url(*engine)).expect("opens");
            let (least, most) = setting.range();
            let usual: u64 = told_now(&mut kv, setting.name).parse().unwrap_or(1);
            put_all(&mut kv, 1);
            for (version, number) in (2..).zip([most, least, usual, least, most]) {
                let what = format!("{} {}={number}", engine.name(), setting.name);
                // Writes are under way when it changes.
                kv.put_queued(b"queued", what.as_bytes()).expect("queued");
                kv.set_setting(setting.name, &setting.written(number)).expect(&what);
                has_all(&mut kv, version - 1, &what);
                put_all(&mut kv, version);
                has_all(&mut kv, version, &what);
                assert_eq!(kv.get(b"queued"), Ok(Some(what.into_bytes())));
            }
            for n in 0..PAIRS {
                assert_eq!(kv.delete(&key(n)), Ok(true), "{} {}", engine.name(), setting.name);
            }
            assert_eq!(kv.list(None).count(), 1);
        }
    }
}

#[test]
fn all_others_are_refused_by_name_and_nothing_changes() {
    for engine in EngineKind::ALL {
        let mut kv = Kv::open(&url(*engine)).expect("opens");
        let before = kv.settings().expect("told");
        assert_eq!(before.len(), engine.settings().len(), "{}", engine.name());
        let refused = |kv: &mut Kv, name: &str, value: &str| {
            let refused = kv.set_setting(name, value).expect_err("refused").to_string();
            assert!(refused.contains(&format!("`{name}")) && refused.contains("; "), "{refused}");
            refused
        };
        for setting in engine.settings().iter().filter(|setting| !setting.is_live()) {
            let text = refused(&mut kv, setting.name, &setting.written(setting.range().1));
            assert!(text.contains("is chosen when"), "{text}");
        }
        assert!(refused(&mut kv, "weight", "1").contains("has no setting"));
        for setting in live(*engine) {
            assert!(refused(&mut kv, setting.name, "much").contains("write "));
            if let Some(more) = setting.range().1.checked_add(1) {
                refused(&mut kv, setting.name, &more.to_string());
            }
        }
        assert_eq!(kv.settings().expect("told"), before, "{}", engine.name());
    }
}

/// Settings that others bound: triggers by the ones before them, limits by those behind them, tables by the flash.
const BOUND: [&str; 4] = [
    "level0_slowdown_writes_trigger",
    "level0_stop_writes_trigger",
    "soft_pending_compaction_bytes_limit",
    "target_file_size_base",
];

#[test]
fn what_is_told_has_the_names_kinds_and_values_of_the_url() {
    for engine in EngineKind::ALL {
        let all = Kv::open(&url(*engine)).expect("opens").settings().expect("told");
        for (setting, told) in engine.settings().iter().zip(&all) {
            assert_eq!(
                (&told.name[..], told.kind),
                (setting.name, setting.phase.name()),
                "{}",
                engine.name()
            );
            // Blocks and grains of the middle are longer than the pages here, and only a hybrid has a main tree (`hybrid/inside.rs`).
            let not_here = ["block_size", "grain_bytes", "main_min_blob_size"];
            if BOUND.contains(&setting.name) || not_here.contains(&setting.name) {
                continue;
            }
            let number = (setting.range().0 + setting.range().1) / 2;
            let asked = setting.written(number);
            let url = format!("{}&{}={asked}{}", plain(*engine), setting.name, needed(setting.name));
            let mut kv = Kv::open(&url).expect("opens");
            assert_eq!(told_now(&mut kv, setting.name), asked, "{url}");
        }
    }
}

#[test]
fn a_format_leaves_them_and_the_next_opening_has_what_its_url_says() {
    for engine in EngineKind::ALL {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("disk.img");
        ImagePlan { engine: *engine, ..ImagePlan::kv(8 << 20, "tiny", 1) }.create(&path).expect("creates");
        let url = format!("file:{}", path.display());
        let usual = Kv::open(&url).expect("opens").settings().expect("told");
        for setting in live(*engine) {
            let mut kv = Kv::open(&url).expect("opens");
            let least = setting.written(setting.range().0);
            kv.set_setting(setting.name, &least).expect("live");
            let now = told_when_opened(*engine, setting.name, &least);
            put_all(&mut kv, 1);
            kv.format().expect("formats");
            assert_eq!(told_now(&mut kv, setting.name), now, "{}: after a Format", engine.name());
            put_all(&mut kv, 2);
            kv.close().expect("closes");
            let mut kv = Kv::open(&url).expect("opens");
            assert_eq!(kv.settings().expect("told"), usual, "{}: {}", engine.name(), setting.name);
            has_all(&mut kv, 2, setting.name);
            kv.close().expect("closes");
            let more = needed(setting.name);
            let mut kv = Kv::open(&format!("{url}?{}={least}{more}", setting.name)).expect("opens");
            assert_eq!(told_now(&mut kv, setting.name), now);
        }
    }
}

#[test]
fn an_iterator_sees_what_it_saw() {
    for engine in EngineKind::ALL {
        for setting in live(*engine) {
            let mut kv = Kv::open(&url(*engine)).expect("opens");
            let short = |n: u32| format!("{n:05}").into_bytes();
            let put = |kv: &mut Kv, version| {
                (0..PAIRS).for_each(|n| kv.put(&short(n), &value(n, version, 100)).expect("stored"));
            };
            put(&mut kv, 1);
            let Some(mut iterator) = kv.open_iterator(&KeyRange::default()).expect("an answer") else {
                continue;
            };
            let (least, most) = setting.range();
            for (version, number) in (2..).zip([least, most]) {
                kv.set_setting(setting.name, &setting.written(number)).expect("live");
                put(&mut kv, version);
            }
            let mut seen = 0;
            loop {
                let batch = kv.next_pairs(&mut iterator, 0, false, None).expect("pairs");
                for (found, bytes) in batch.pairs() {
                    assert!(
                        found == short(seen) && bytes == value(seen, 1, 100),
                        "{} {}",
                        engine.name(),
                        setting.name
                    );
                    seen += 1;
                }
                if batch.is_last() {
                    break;
                }
            }
            assert_eq!(seen, PAIRS);
            kv.close_iterator(iterator).expect("closed");
        }
    }
}

#[test]
fn they_change_behind_threads_timing_and_shards() {
    for more in ["threads=1", "timing=real", "shards=3", "shards=3&threads=1"] {
        for engine in [EngineKind::LSM, EngineKind::TREE, EngineKind::HASH_PLUS] {
            let mut kv =
                Kv::open(&format!("{}&{more}", url(engine)).replace("8MiB", "24MiB")).expect("opens");
            for setting in live(engine) {
                let (least, most) = setting.range();
                for (version, number) in [(1, least), (2, most)] {
                    kv.put_queued(&key(0), &value(0, version, 30)).expect("queued");
                    kv.set_setting(setting.name, &setting.written(number)).expect("live");
                    let now = told_now(&mut kv, setting.name);
                    let is_so = now == setting.written(number) || BOUND.contains(&setting.name);
                    assert!(is_so, "{more} {} {} is {now}", engine.name(), setting.name);
                    (1..40).for_each(|n| kv.put(&key(n), &value(n, version, 30 + n)).expect("stored"));
                    (1..40).for_each(|n| assert_eq!(kv.get(&key(n)), Ok(Some(value(n, version, 30 + n)))));
                }
            }
        }
    }
}

#[test]
fn they_change_while_sessions_are_at_work() {
    for engine in [EngineKind::LSM, EngineKind::TREE, EngineKind::HASH_PLUS, EngineKind::HASH_STORE] {
        let saker = Saker::open(&url(engine), SakerOptions::default()).expect("opens");
        std::thread::scope(|scope| {
            for lane in 0..3u8 {
                let mut session = saker.session().expect("eight are possible");
                scope.spawn(move || {
                    for n in 0..400u32 {
                        session.put(&[lane, n as u8], &n.to_le_bytes()).expect("stored");
                    }
                    session.sync().expect("durable");
                    assert_eq!(session.get(&[lane, 7]), Ok(Some(263u32.to_le_bytes().to_vec())));
                });
            }
            for setting in live(engine) {
                for number in [setting.range().0, setting.range().1] {
                    saker.set_setting(setting.name, &setting.written(number)).expect("live");
                }
            }
        });
        assert_eq!(saker.settings().expect("told").len(), engine.settings().len());
        saker.close().expect("closes");
    }
}

/// A counter, or a size in bytes, of the device's only namespace.
fn counter(kv: &mut Kv, name: &str) -> u64 {
    let stats = kv.stats().expect("on this thread");
    let counters = &stats.namespaces[0].counters;
    counters.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("no counter {name}")).1
}

#[test]
fn caches_shrink_at_once_and_grow_by_use() {
    for (engine, cached) in
        [(EngineKind::TREE, "node_cache_bytes"), (EngineKind::HASH_ORIGINAL, "cache_bytes")]
    {
        let mut kv = Kv::open(&format!("{}&cache_bytes=1MiB", url(engine))).expect("opens");
        put_all(&mut kv, 1);
        (0..3).for_each(|_| put_all(&mut kv, 2));
        has_all(&mut kv, 2, "a large cache");
        let large = counter(&mut kv, cached);
        kv.set_setting("cache_bytes", "4KiB").expect("live");
        has_all(&mut kv, 2, "a small cache");
        let small = counter(&mut kv, cached);
        assert!(small < large && small <= 24 << 10, "{}: {large} bytes, then {small}", engine.name());
        kv.set_setting("cache_bytes", "1MiB").expect("live");
        has_all(&mut kv, 2, "a large cache again");
        assert!(counter(&mut kv, cached) > small, "{}", engine.name());
    }
}

#[test]
fn triggers_count_from_the_moment_on() {
    let mut kv = Kv::open(&url(EngineKind::LSM)).expect("opens");
    let held_up =
        |kv: &mut Kv| counter(kv, "l0_file_count_limit_delays") + counter(kv, "l0_file_count_limit_stops");
    for (trigger, slowdown) in [("4294967295", "4294967295"), ("1", "1")] {
        kv.set_setting("level0_file_num_compaction_trigger", trigger).expect("live");
        kv.set_setting("level0_slowdown_writes_trigger", slowdown).expect("live");
        let (compactions, before) = (counter(&mut kv, "compactions"), held_up(&mut kv));
        put_all(&mut kv, 1);
        let (merged, waited) = (counter(&mut kv, "compactions") - compactions, held_up(&mut kv) - before);
        assert_eq!(
            (merged > 0, waited > 0),
            (trigger == "1", trigger == "1"),
            "trigger {trigger}: {merged}, {waited}"
        );
    }
    has_all(&mut kv, 1, "both triggers");
}

/// Writes that a limit holds up go on when the limit is raised, whatever background work would have woken them.
#[test]
fn what_a_limit_held_up_goes_on_when_it_is_raised() {
    for more in ["", "&threads=1", "&timing=real"] {
        let mut kv = Kv::open(&format!("{}{more}", url(EngineKind::LSM))).expect("opens");
        for version in 1..6 {
            for (name, tight) in [
                ("hard_pending_compaction_bytes_limit", "1"),
                ("level0_file_num_compaction_trigger", "1"),
                ("level0_stop_writes_trigger", "1"),
                ("max_bytes_for_level_multiplier", "2"),
            ] {
                kv.set_setting(name, tight).expect("live");
            }
            for n in 0..PAIRS {
                kv.put_queued(&key(n), &value(n, version, 30 + n % 300)).expect("queued");
                if n % 40 == 39 {
                    let loose = if n % 80 == 79 { "1" } else { "1000000000" };
                    kv.set_setting("level0_file_num_compaction_trigger", loose).expect("live");
                    kv.set_setting("hard_pending_compaction_bytes_limit", loose).expect("live");
                }
            }
            assert_eq!(kv.drain(), Ok(()), "no write is refused as if the device were full: {more}");
            has_all(&mut kv, version, more);
        }
    }
}

#[test]
fn what_may_be_stored_stays_as_much() {
    for engine in EngineKind::ALL {
        let mut kv = Kv::open(&url(*engine)).expect("opens");
        put_all(&mut kv, 1);
        let room = |kv: &mut Kv| {
            let stats = kv.stats().expect("on this thread");
            (stats.namespaces[0].capacity_bytes, stats.namespaces[0].fits.clone())
        };
        let before = room(&mut kv);
        for setting in live(*engine) {
            for number in [setting.range().0, setting.range().1] {
                kv.set_setting(setting.name, &setting.written(number)).expect("live");
                assert_eq!(room(&mut kv), before, "{} {}={number}", engine.name(), setting.name);
            }
        }
    }
}

/// A table in level 0 is enough to hold writes back; the rate is the least that a delay may come to.
const HELD_BACK: &str =
    "&level0_file_num_compaction_trigger=1&level0_slowdown_writes_trigger=1&delayed_write_rate=64KiB";

/// Delayed and stopped writes through every kind of device in memory.
#[test]
fn writes_that_are_held_back_are_stored_and_told() {
    for more in ["", "&threads=1", "&timing=real"] {
        for (limit, counted) in [("40", "l0_file_count_limit_delays"), ("1", "l0_file_count_limit_stops")] {
            let url = format!("{}{HELD_BACK}&level0_stop_writes_trigger={limit}{more}", url(EngineKind::LSM));
            let mut kv = Kv::open(&url).expect("opens");
            put_all(&mut kv, 1);
            kv.set_setting("slowdown", "off").expect("live");
            put_all(&mut kv, 2);
            has_all(&mut kv, 2, &url);
            kv.delete(&key(7)).expect("deleted");
            assert_eq!(kv.get(&key(7)), Ok(None), "{url}");
            kv.flush().expect("flushes");
            if let Some(stats) = kv.stats() {
                let counters = &stats.namespaces[0].counters;
                let times = counters.iter().find(|(name, _)| *name == counted).expect("a counter").1;
                assert!(times > 0, "{url}");
            }
            let told = kv.write_control().expect("asked").expect("told").stalls;
            let hold = if limit == "1" { Hold::Stopped } else { Hold::Delayed };
            let held = told.of(hold, WriteStallCause::L0FileCountLimit);
            let has_clock = more == "&timing=real";
            assert_eq!(held.periods > 0, has_clock, "{url}: without a clock no time is told: {told:?}");
            assert_eq!(held.writes > 0 && held.time.as_nanos() > 0, has_clock, "{url}: {told:?}");
            assert_eq!(told.recent.iter().any(|period| period.hold == hold), has_clock, "{url}: {told:?}");
        }
    }
}

/// Whichever shard holds writes back, the device says so: all keys are one shard's.
#[test]
fn every_shard_tells_of_its_stalls() {
    for shard in 0..2 {
        let url = format!("{}{HELD_BACK}&level0_stop_writes_trigger=1&shards=2{SLOW}", url(EngineKind::LSM));
        let mut kv = Kv::open(&url).expect("opens");
        let of_shard = |n: &u32| saker_shards::shard_of(&key(*n), 2) == shard;
        // Were this thread stopped for all that time, the device would catch up: then it is tried again.
        let was_stopped = (1..31).any(|round| {
            (0..400).filter(of_shard).for_each(|n| kv.put(&key(n), &value(n, round, 100)).expect("stored"));
            let told = kv.write_control().expect("asked").expect("told").stalls;
            told.all(Hold::Stopped).writes > 0
        });
        assert!(was_stopped, "shard {shard}: in 30 rounds no write was stopped");
    }
}

/// Sessions of several threads write and read while writes are delayed and stopped.
#[test]
fn sessions_go_on_while_writes_are_held_back() {
    for limit in ["40", "1"] {
        let url =
            format!("{}{HELD_BACK}&level0_stop_writes_trigger={limit}&timing=real", url(EngineKind::LSM));
        let saker = Saker::open(&url, SakerOptions::default()).expect("opens");
        std::thread::scope(|scope| {
            for thread in 0..2_u32 {
                let saker = &saker;
                scope.spawn(move || {
                    let mut session = saker.session().expect("a session");
                    for n in (0..PAIRS).map(|n| PAIRS * thread + n) {
                        session.put(&n.to_be_bytes(), &value(n, 1, 30)).expect("taken");
                        let back = PAIRS * thread + n % PAIRS / 2;
                        assert_eq!(session.get(&back.to_be_bytes()), Ok(Some(value(back, 1, 30))));
                    }
                    session.sync().expect("stored");
                });
            }
        });
    }
}
