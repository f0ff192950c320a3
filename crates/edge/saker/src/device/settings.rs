// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a URL asks of engines.

use crate::error::Error;
use crate::url::DeviceUrl;
use saker_device::{DeviceConfig, EngineKind, NamespaceKind, Settings};
use saker_engine::settings::{Idle, Phase};

/// Asks the engines of a device for what its URL says, each for what it has.
///
/// # Errors
/// [`Error::Setting`].
pub(crate) fn ask(config: &mut DeviceConfig, url: &DeviceUrl) -> Result<(), Error> {
    let engine_of = |kind: &NamespaceKind| match kind {
        NamespaceKind::Kv { engine, .. } => Some(*engine),
        NamespaceKind::Block { .. } => None,
    };
    let engines: Vec<_> = config.namespaces.iter().filter_map(|ns| engine_of(&ns.kind)).collect();
    let with_pairs = config.namespaces.iter_mut().filter(|ns| engine_of(&ns.kind).is_some());
    for (namespace, asked) in with_pairs.zip(settings_of(url, &engines)?) {
        let stored = namespace.settings.clone();
        namespace.settings = asked.over(&stored);
        refuse_changes(&namespace.settings, &stored, engine_of(&namespace.kind))?;
        if let Some(engine) = engine_of(&namespace.kind) {
            refuse_idle(engine, &asked, &namespace.settings)?;
        }
    }
    Ok(())
}

/// A setting that does nothing is refused: whoever asks for it expects something.
///
/// # Errors
/// [`Error::Setting`].
pub(crate) fn refuse_idle(engine: EngineKind, asked: &Settings, all: &Settings) -> Result<(), Error> {
    engine.idle(asked, all).map_or(Ok(()), |Idle { name, why, todo }| {
        let what = format!("setting `{name}` does nothing here: {why}");
        Err(Error::Setting { what, todo: todo.into() })
    })
}

/// What was chosen when a namespace was made stays.
fn refuse_changes(asked: &Settings, stored: &Settings, engine: Option<EngineKind>) -> Result<(), Error> {
    let fixed =
        engine.into_iter().flat_map(EngineKind::settings).filter(|s| matches!(s.phase, Phase::Stored(_)));
    for setting in fixed {
        let (now, then) = (asked.get(setting.name).unwrap_or(0), stored.get(setting.name).unwrap_or(0));
        if now != then {
            let what =
                format!("option `{}`: the image was made with {}", setting.name, setting.written(then));
            return Err(Error::Setting { what, todo: "leave it out, or make another image".into() });
        }
    }
    Ok(())
}

/// What is asked of namespaces with these engines, each.
///
/// # Errors
/// [`Error::Setting`].
pub(crate) fn settings_of(url: &DeviceUrl, engines: &[EngineKind]) -> Result<Vec<Settings>, Error> {
    url.settings_for(engines).map_err(|(what, todo)| Error::Setting { what, todo })
}
