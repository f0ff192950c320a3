// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Settings of the store's engine: those that are live change while it is open, as in a device.

use super::HostKv;
use saker_engine::settings::find;
use saker_engine::{Engine, EngineKind, Inspect, Settings, Unsupported};
use thiserror::Error;

/// What the store was made with.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    /// `None`: its engine came from elsewhere, and nobody knows what it has.
    pub(super) kind: Option<EngineKind>,
    pub(super) settings: Settings,
}

/// Why a setting keeps its value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SettingRefused {
    /// The engine has none of that name.
    #[error("engine {engine} has no setting `{name}`: {todo}")]
    Unknown {
        /// The engine's name.
        engine: &'static str,
        /// What was asked for.
        name: String,
        /// What to write instead.
        todo: String,
    },
    /// It is chosen before the store is open.
    #[error("setting `{name}` is not live: it is chosen {phase}")]
    NotLive {
        /// Its name.
        name: &'static str,
        /// When it can be chosen.
        phase: &'static str,
    },
    /// It does not take that value.
    #[error("setting `{name}={number}`: {todo}")]
    Value {
        /// Its name.
        name: &'static str,
        /// What was asked for.
        number: u64,
        /// What to write instead.
        todo: String,
    },
    /// The engine has settings that are live, and cannot change them.
    #[error("engine {0} does not change settings while it is open")]
    Unsupported(&'static str),
}

impl HostKv {
    /// The values of the engine's settings.
    pub fn settings(&self) -> Settings {
        self.store.settings()
    }

    /// Gives a live setting another value, for as long as the store is open: what has begun ends as it began, what is stored stays
    /// as it is. The next [`quantum`](Self::quantum) begins what has become due.
    ///
    /// # Errors
    /// [`SettingRefused`]; then nothing has changed.
    pub fn set_setting(&mut self, name: &str, number: u64) -> Result<(), SettingRefused> {
        let (engine, list) = (self.engine_name(), self.asked.kind.map_or(&[][..], EngineKind::settings));
        let unknown = |todo| SettingRefused::Unknown { engine, name: name.to_owned(), todo };
        let setting = find(list, name).map_err(unknown)?;
        if !setting.is_live() {
            return Err(SettingRefused::NotLive { name: setting.name, phase: setting.phase.when() });
        }
        let wrong = |todo| SettingRefused::Value { name: setting.name, number, todo };
        setting.check(number).map_err(wrong)?;
        let asked = Settings::told(&[(setting.name, number)]).over(&self.asked.settings);
        let changed = self.store.retune(&asked, &self.medium);
        changed.map_err(|Unsupported(_)| SettingRefused::Unsupported(engine))?;
        self.asked.settings = asked;
        self.workers.is_idle = false;
        // What waited for its turn may have it now.
        self.look_at_turns();
        Ok(())
    }
}
