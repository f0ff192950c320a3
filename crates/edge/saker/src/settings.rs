// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Settings of an open device by name: what they are, and live ones changed.

use crate::error::Error;
use crate::url::parse_size;
use saker_host::{Connection, Driver, HostError, NamedSettings};
use saker_nvme::vendor_specific::{SettingEntry, SettingPhase, text_of};

/// A setting of a namespace's engine, as it is now.
///
/// ```
/// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny&engine=tree&cache_bytes=8KiB")?;
/// let settings: Vec<saker::NamedSetting> = kv.settings()?;
/// let cache = settings.iter().find(|setting| setting.name == "cache_bytes").expect("a tree has it");
/// assert_eq!((&cache.value[..], cache.kind), ("8192", "live"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedSetting {
    /// Its name.
    pub name: String,
    /// Its value, as it is written in a URL; in words where no number says it.
    pub value: String,
    /// When it can be chosen: `stored` when the namespace is made, `kept` whenever the device is opened, which an image then
    /// remembers, `at open` whenever it is opened, `live` at any time.
    pub kind: &'static str,
}

/// What a device tells. One that tells nothing has none.
pub(crate) fn settings_of(
    connection: &mut Connection,
    driver: &mut impl Driver,
    nsid: u32,
) -> Result<Vec<NamedSetting>, HostError> {
    let told = connection.settings(driver, nsid)?.unwrap_or_default();
    let named = |entry: &SettingEntry| NamedSetting {
        name: text_of(&entry.name),
        value: text_of(&entry.value),
        kind: SettingPhase::decode(entry.phase).map_or("unknown", SettingPhase::name),
    };
    Ok(told.entries.iter().map(named).collect())
}

/// Changes a live setting.
pub(crate) fn change(
    connection: &mut Connection,
    driver: &mut impl Driver,
    nsid: u32,
    (name, value): (&str, &str),
) -> Result<(), Error> {
    let Some(told) = connection.settings(driver, nsid)? else {
        return refuse(
            format!("setting `{name}`: the device tells of none"),
            "choose it where the device is opened",
        );
    };
    let (place, number) = meant(&told, name, value)?;
    Ok(connection.set_setting(driver, nsid, place, number)?)
}

fn refuse<T>(what: String, todo: impl Into<String>) -> Result<T, Error> {
    Err(Error::Setting { what, todo: todo.into() })
}

/// The place of a live setting, and the number that a text stands for.
fn meant(told: &NamedSettings, name: &str, value: &str) -> Result<(usize, u64), Error> {
    let Some(place) = told.entries.iter().position(|entry| text_of(&entry.name) == name) else {
        return refuse(format!("engine {} has no setting `{name}`", told.engine), choices(told));
    };
    let entry = &told.entries[place];
    match SettingPhase::decode(entry.phase) {
        Some(SettingPhase::Live) => {}
        Some(SettingPhase::Stored) => {
            return refuse(format!("setting `{name}` is chosen when a namespace is made"), choices(told));
        }
        _ => return refuse(format!("setting `{name}` is chosen when the device is opened"), choices(told)),
    }
    match number(entry, value) {
        Ok(number) => Ok((place, number)),
        Err(todo) => refuse(format!("setting `{name}={value}`"), todo),
    }
}

fn choices(told: &NamedSettings) -> String {
    let live = told.entries.iter().filter(|entry| entry.phase == SettingPhase::Live as u8);
    let names: Vec<_> = live.map(|entry| text_of(&entry.name)).collect();
    if names.is_empty() {
        return format!("engine {} has none that can be changed while it is open", told.engine);
    }
    format!("change one of {}", names.join(", "))
}

fn number(entry: &SettingEntry, value: &str) -> Result<u64, String> {
    let (least, most) = (entry.least.get(), entry.most.get());
    let number = match (entry.values, value) {
        (SettingEntry::SWITCH, "on" | "true") => Some(1),
        (SettingEntry::SWITCH, "off" | "false") => Some(0),
        _ => parse_size(value),
    };
    match (number, entry.values) {
        (Some(number), _) if (least..=most).contains(&number) => Ok(number),
        (_, SettingEntry::SWITCH) => Err("write on or off".to_owned()),
        (Some(_), _) => Err(format!("write {least} to {most}")),
        (None, _) => Err("write a number, or a size such as 16MiB".to_owned()),
    }
}
