// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Settings of namespaces: log page C1h and feature C0h.

use saker_engine::EngineKind;
use saker_nvme::admin::{FeatureSelect, GetLogPage, build};
use saker_nvme::vendor_specific::{
    Capabilities, FID_SETTING, LID_SETTINGS, Methods, SetSetting, SettingEntry, SettingPhase, SettingsHead,
    text_of,
};
use saker_nvme::{NSID_ALL, Sqe, Status};
use zerocopy::FromBytes;

use super::support::*;
use crate::controller::{Action, Identity, NamespaceKind, SettingFacts};

/// A controller with vendor commands, whose pairs an LSM store keeps.
fn bench() -> Bench {
    let vendor = Some(Capabilities::new(Methods::ALL, 0, 0, 0));
    let mut bench = Bench::of(Identity { vendor, ..identity() }, CC_ALL);
    for facts in &mut bench.namespaces {
        if let NamespaceKind::Kv { settings, .. } = &mut facts.kind {
            let all = EngineKind::LSM.settings().iter();
            *settings =
                all.map(|setting| SettingFacts { setting, number: Some(setting.range().0) }).collect();
            settings[1].number = None;
        }
    }
    bench
}

fn ask(nsid: u32, bytes: u64) -> Sqe {
    build::get_log_page(&GetLogPage { nsid, ..log(LID_SETTINGS, bytes, 0) })
}

fn place_of(name: &str) -> u16 {
    EngineKind::LSM.settings().iter().position(|setting| setting.name == name).expect("a setting") as u16
}

#[test]
fn the_page_has_every_setting_of_one_namespace() {
    let mut bench = bench();
    let all = EngineKind::LSM.settings();
    let (head, _) = SettingsHead::read_from_prefix(&bench.data(&ask(KV, 64))).expect("a head");
    assert!(head.is_known() && usize::from(head.count.get()) == all.len() && text_of(&head.engine) == "lsm");
    let page = bench.data(&ask(KV, head.page_bytes().into()));
    let entries = page[64..].chunks_exact(size_of::<SettingEntry>());
    for ((setting, bytes), n) in all.iter().zip(entries).zip(0..) {
        let entry = SettingEntry::read_from_bytes(bytes).expect("an entry");
        assert_eq!(
            (text_of(&entry.name), (entry.least.get(), entry.most.get())),
            (setting.name.into(), setting.range())
        );
        let (number, value) = match n {
            1 => (SettingEntry::NO_NUMBER, setting.default.to_owned()),
            _ => (setting.range().0, setting.written(setting.range().0)),
        };
        assert_eq!((entry.number.get(), text_of(&entry.value)), (number, value));
        let phase = SettingPhase::decode(entry.phase).expect("a phase");
        assert_eq!(phase.name(), setting.phase.name());
    }
    for nsid in [0, BLOCK, NSID_ALL, 99] {
        assert_eq!(bench.refusal(&ask(nsid, 64)), Status::INVALID_NAMESPACE_OR_FORMAT);
    }
}

#[test]
fn only_live_settings_change_and_only_to_what_they_take() {
    let mut bench = bench();
    for setting in EngineKind::LSM.settings() {
        let (place, (least, most)) = (place_of(setting.name), setting.range());
        for number in [least, most] {
            let change = SetSetting { nsid: KV, place, number }.encode();
            if setting.is_live() {
                let name = setting.name;
                assert_eq!(bench.action(&change), Action::SetSetting { nsid: KV, name, number });
            } else {
                assert_eq!(bench.refusal(&change), Status::INVALID_FIELD, "{}", setting.name);
            }
        }
        let above = SetSetting { nsid: KV, place, number: most + 1 }.encode();
        assert_eq!(bench.refusal(&above), Status::INVALID_FIELD);
    }
    let (place, number) = (place_of("slowdown"), 1);
    let beyond = SetSetting { nsid: KV, place: EngineKind::LSM.settings().len() as u16, number }.encode();
    assert_eq!(bench.refusal(&beyond), Status::INVALID_FIELD);
    for nsid in [0, BLOCK, NSID_ALL, 99] {
        let other = SetSetting { nsid, place, number }.encode();
        assert_eq!(bench.refusal(&other), Status::INVALID_NAMESPACE_OR_FORMAT);
    }
    let told = bench.refusal(&get(KV, FID_SETTING, FeatureSelect::Current, 0));
    assert_eq!(told, Status::INVALID_FIELD, "the page tells");
}

#[test]
fn a_controller_without_vendor_commands_knows_neither() {
    let mut bench = Bench::enabled(CC_ALL);
    assert_eq!(bench.refusal(&ask(KV, 64)), Status::INVALID_LOG_PAGE);
    assert_eq!(bench.refusal(&SetSetting { nsid: KV, place: 0, number: 1 }.encode()), Status::INVALID_FIELD);
}
