// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Settings of a namespace's engine: log page C1h tells them, Set Features C0h changes one that is live.
//!
//! Both are for one active Key Value namespace, else 0Bh. A place that the page does not have, a setting that is not live and a
//! number that it does not take are 02h; no setting can be saved (0Dh). Get Features C0h is 02h: the page tells.

use saker_engine::Setting;
use saker_engine::settings::{Phase, Values};
use saker_nvme::admin::GetLogPage;
use saker_nvme::vendor_specific::{SetSetting, SettingEntry, SettingPhase, SettingsHead, text};
use saker_nvme::{Sqe, Status};
use zerocopy::IntoBytes;
use zerocopy::little_endian::U64;

use super::logs::cut;
use super::namespace::{NamespaceKind, SettingFacts, Visible};
use super::outcome::{Action, Decision, Outcome};

pub(super) fn page(command: &GetLogPage, namespaces: Visible<'_>, bytes_max: u32) -> Decision {
    let (engine, settings) = settings_of(command.nsid, namespaces)?;
    let mut page = SettingsHead::new(engine, settings.len() as u16).as_bytes().to_vec();
    settings.iter().for_each(|facts| page.extend_from_slice(entry(facts).as_bytes()));
    Ok(Outcome::data(cut(&page, command, bytes_max)?))
}

pub(super) fn set(sqe: &Sqe, namespaces: Visible<'_>) -> Decision {
    let SetSetting { nsid, place, number } = SetSetting::decode(sqe)?;
    let (_, settings) = settings_of(nsid, namespaces)?;
    let setting = settings.get(usize::from(place)).map(|facts| facts.setting);
    let takes = |setting: &&Setting| setting.is_live() && setting.check(number).is_ok();
    let setting = setting.filter(takes).ok_or(Status::INVALID_FIELD)?;
    Ok(Outcome::act(Action::SetSetting { nsid, name: setting.name, number }))
}

/// The engine of an active Key Value namespace, and its settings.
fn settings_of(nsid: u32, namespaces: Visible<'_>) -> Result<(&'static str, &[SettingFacts]), Status> {
    match namespaces.find(nsid).map(|facts| &facts.kind) {
        Some(NamespaceKind::Kv { engine, settings, .. }) => Ok((engine, settings)),
        _ => Err(Status::INVALID_NAMESPACE_OR_FORMAT),
    }
}

fn entry(facts: &SettingFacts) -> SettingEntry {
    let SettingFacts { setting, number } = facts;
    let (least, most) = setting.range();
    let value = number.map_or_else(|| setting.default.to_owned(), |number| setting.written(number));
    SettingEntry {
        name: text(setting.name),
        value: text(&value),
        number: U64::new(number.unwrap_or(SettingEntry::NO_NUMBER)),
        least: U64::new(least),
        most: U64::new(most),
        phase: phase(setting.phase) as u8,
        values: match setting.values {
            Values::Number(..) => SettingEntry::NUMBER,
            Values::Switch => SettingEntry::SWITCH,
            Values::Words(_) => SettingEntry::WORDS,
        },
        reserved_138: [0; 14],
    }
}

const fn phase(phase: Phase) -> SettingPhase {
    match phase {
        Phase::Stored(_) => SettingPhase::Stored,
        Phase::Kept(_) => SettingPhase::Kept,
        Phase::AtOpen => SettingPhase::AtOpen,
        Phase::Live => SettingPhase::Live,
    }
}
