// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A live setting in virtual time: of a device that has nothing else to do, and of a store at the host.

use crate::clocked::{PATIENCE, opened};
use saker_assembly::Build;
use saker_engine::{EngineKind, Settings, for_each_engine};
use saker_host::host_kv::{Answer, HostKv, Op, Outcome, SettingRefused, Work};
use saker_host::{Connection, Driver as _, KvClient};
use saker_nvme::Key;
use saker_nvme::vendor_specific::text_of;
use saker_profile::Profile;
use saker_world::Clocked;
use saker_world::stores::host_kv;

const PAIRS: u64 = 3000;

fn open(engine: EngineKind) -> (Connection, KvClient<Clocked>) {
    let profile = Profile::builtin("kvvirt").expect("built in");
    let mut build = Build::kv(&profile, 1 << 28, 1).expect("large enough").with_engine(engine);
    build.set("cache_bytes", 8 << 20).expect("in range");
    if engine == EngineKind::TREE {
        build.set("write_buffer_size", 8 << 10).expect("in range");
    }
    opened(&build)
}

fn key(n: u64) -> Key {
    Key::new(&n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()).expect("eight bytes")
}

fn cached(client: &mut KvClient<Clocked>, name: &str) -> u64 {
    let counters = client.driver_mut().0.stats().namespaces[0].counters.clone();
    counters.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("no counter {name}")).1
}

#[test]
fn an_idle_device_begins_what_has_become_due() {
    for (engine, name) in [(EngineKind::TREE, "node_cache_bytes"), (EngineKind::HASH_ORIGINAL, "cache_bytes")]
    {
        let (mut connection, mut client) = open(engine);
        (0..PAIRS).for_each(|n| client.put(&key(n), &[n as u8; 60]).expect("room"));
        client.flush().expect("flushes");
        (0..PAIRS).for_each(|n| assert_eq!(client.get(&key(n)), Ok(Some(vec![n as u8; 60]))));
        let before = cached(&mut client, name);
        let told = connection.settings(client.driver_mut(), 1).expect("told").expect("ours");
        let place = told.entries.iter().position(|entry| text_of(&entry.name) == "cache_bytes");
        connection.set_setting(client.driver_mut(), 1, place.expect("both have it"), 4096).expect("live");
        // No command follows.
        (0..10_000).for_each(|_| client.driver_mut().drive());
        let after = cached(&mut client, name);
        println!("{}: {before} bytes, then {after}", engine.name());
        assert!(after * 2 < before, "{}: {before} bytes, then {after}", engine.name());
        (0..PAIRS).for_each(|n| assert_eq!(client.get(&key(n)), Ok(Some(vec![n as u8; 60]))));
    }
}

/// A store at the host, and the device below it.
struct AtHost {
    store: HostKv,
    below: Clocked,
}

impl AtHost {
    fn new(engine: EngineKind, asked: &Settings) -> Self {
        let profile = Profile::builtin("kvvirt").expect("built in");
        let mut build = Build::block(&profile, 1 << 28, 1).expect("large enough").with_engine(engine);
        build.ask(asked);
        let host = build.attach(1, 128);
        let mut below = Clocked(build.timed(host.clone()));
        let store = host_kv::connect(&build, &host, 128, &mut below).expect("connects");
        Self { store, below }
    }

    /// Whatever happens next, below and in the background.
    fn go_on(&mut self, ended: &mut Option<Outcome>) {
        self.store.ring();
        self.below.drive();
        self.store.advance(Work::Free, &mut |_, outcome| *ended = Some(outcome));
        self.store.background(1, Work::Free);
    }

    fn run(&mut self, op: Op) -> Answer {
        let mut ended = self.store.submit(op, Work::Free).ok();
        for _ in 0..PATIENCE.polls_max {
            if let Some(ended) = ended {
                return ended.expect("room for all");
            }
            self.go_on(&mut ended);
        }
        panic!("an operation never ends");
    }

    fn counter(&self, name: &str) -> u64 {
        let counters = self.store.counters();
        counters.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("no counter {name}")).1
    }
}

fn pair(n: u64) -> (Vec<u8>, Vec<u8>) {
    (key(n).as_bytes().to_vec(), vec![n as u8; 60])
}

/// No operation follows, as of a device.
#[test]
fn an_idle_store_at_the_host_begins_what_has_become_due() {
    let asked = [("cache_bytes", 8 << 20), ("write_buffer_size", 8 << 10)];
    let mut at_host = AtHost::new(EngineKind::TREE, &Settings::told(&asked));
    for n in 0..PAIRS {
        let (key, value) = pair(n);
        assert_eq!(at_host.run(Op::Put(key, value)), Answer::Done);
    }
    assert_eq!(at_host.run(Op::Flush), Answer::Done);
    let all_are_there = |at_host: &mut AtHost| {
        for (key, value) in (0..PAIRS).map(pair) {
            assert_eq!(at_host.run(Op::Get(key)), Answer::Value(value));
        }
    };
    all_are_there(&mut at_host);
    let before = at_host.counter("node_cache_bytes");
    assert_eq!(at_host.store.set_setting("cache_bytes", 4096), Ok(()));
    assert_eq!(at_host.store.settings().get("cache_bytes"), Some(4096));
    (0..10_000).for_each(|_| at_host.go_on(&mut None));
    let after = at_host.counter("node_cache_bytes");
    assert!(after * 2 < before, "{before} bytes, then {after}");
    all_are_there(&mut at_host);
}

/// Each setting of an engine: live ones are changed within their range and stay so when another one is changed; all else is refused by
/// name, and changes nothing. Of a hash FTL too: the hash store stands in for it.
fn every_setting_is_changed_or_refused_by_name(engine: EngineKind) {
    let mut at_host = AtHost::new(engine, &Settings::NONE);
    let store = &mut at_host.store;
    let runs = engine.over_blocks();
    assert_eq!(store.engine_name(), runs.name());
    for setting in runs.settings() {
        let (before, most) = (store.settings(), setting.range().1.min(1 << 20));
        let answer = store.set_setting(setting.name, most);
        if setting.is_live() {
            assert_eq!((&answer, store.settings().get(setting.name)), (&Ok(()), Some(most)), "{setting:?}");
            let above = setting.range().1.checked_add(1);
            let refused = above.map(|above| store.set_setting(setting.name, above));
            let is_named =
                |refused| matches!(refused, Err(SettingRefused::Value { name, .. }) if name == setting.name);
            assert!(refused.is_none_or(is_named), "{setting:?}");
        } else {
            let is_named =
                matches!(answer, Err(SettingRefused::NotLive { name, .. }) if name == setting.name);
            assert!(is_named, "{setting:?}: {answer:?}");
            assert_eq!(store.settings(), before, "{setting:?}");
        }
    }
    for setting in runs.settings().iter().filter(|setting| setting.is_live()) {
        let most = setting.range().1.min(1 << 20);
        assert_eq!(
            store.settings().get(setting.name),
            Some(most),
            "another one was changed behind {setting:?}"
        );
    }
    let of_another =
        engine.settings().iter().map(|setting| setting.name).filter(|name| !runs.has_setting(name));
    for name in of_another.chain(["cash_bytes"]) {
        let refused = store.set_setting(name, 1).map_err(|refused| refused.to_string());
        let begin = format!("engine {} has no setting `{name}`: ", runs.name());
        assert!(refused.as_ref().is_err_and(|refused| refused.starts_with(&begin)), "{refused:?}");
    }
}

macro_rules! settings {
    ($($name:ident $engine:ident;)*) => {
        /// Of each engine.
        mod at_the_host {
            use super::EngineKind;

            $(#[test]
            fn $name() {
                super::every_setting_is_changed_or_refused_by_name(EngineKind::$engine);
            })*
        }
    };
}

for_each_engine!(settings);
