// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a user changes for a run: `profile.KEY=VALUE`, `ENGINE.NAME=VALUE` such as `lsm.packing=all`, `hash_ftl.table_to_cache=N`, and sweeps
//! over several values.

use crate::plan::Settings;
use saker::{profile_named, url};
use saker_device::{EngineKind, Settings as EngineSettings, Typed};
use saker_engine::settings::find;
use saker_profile::ProfileError;
use thiserror::Error;

/// A change that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SettingError {
    /// Not of the form.
    #[error(
        "`{0}` is no setting: write profile.KEY=VALUE, such as profile.firmware.fetch_ns=500, or ENGINE.NAME=VALUE, such as lsm.packing=all"
    )]
    Form(String),
    /// No setting of the hash FTLs, or a value that it does not take.
    #[error("`{0}`: the hash FTLs have hash_ftl.table_to_cache, a whole number above 0")]
    HashFtl(String),
    /// No setting of an engine, or a value that it does not take.
    #[error("`{engine}.{typed}`: {todo}")]
    Engine {
        /// The engine.
        engine: &'static str,
        /// As asked for.
        typed: String,
        /// What to write instead.
        todo: String,
    },
    /// Of an engine whose settings are not taken there.
    #[error("`{path}`: {taker} takes {}", told(.takes))]
    NotTaken {
        /// As asked for.
        path: String,
        /// What does not take it.
        taker: String,
        /// Whose settings it takes.
        takes: Vec<String>,
    },
    /// No number of that name.
    #[error("profile `{profile}` has no `{path}`: the closest is `{closest}`")]
    Unknown {
        /// The profile.
        profile: String,
        /// As asked for.
        path: String,
        /// What there is.
        closest: String,
    },
    /// A value that does not fit.
    #[error(transparent)]
    Value(ProfileError),
}

/// Whose settings are taken.
fn told(takes: &[String]) -> String {
    if takes.is_empty() {
        "no settings of engines".to_owned()
    } else {
        format!("settings of {}", takes.join(", "))
    }
}

/// One number of the profile and the values it is to take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sweep {
    /// Path in the profile.
    pub path: String,
    /// TOML texts.
    pub values: Vec<String>,
}

/// What a setting of the experiments with hash FTLs begins with; paths of profiles do not.
const HASH_FTL: &str = "hash_ftl.";

/// The engine whose setting that is, and the setting's name.
fn engine_of(path: &str) -> Option<(EngineKind, &str)> {
    let (engine, name) = path.split_once('.')?;
    EngineKind::named(engine).map(|kind| (kind, name))
}

fn is_of_an_engine(path: &str) -> bool {
    path.starts_with(HASH_FTL) || engine_of(path).is_some()
}

/// Reads `profile.KEY=VALUE`, `ENGINE.NAME=VALUE` or `hash_ftl.NAME=VALUE`; the latter two keep their prefix.
///
/// # Errors
/// `Form`.
pub fn setting(text: &str) -> Result<(String, String), SettingError> {
    let rest = text.strip_prefix("profile.").or_else(|| is_of_an_engine(text).then_some(text));
    let parts = rest.and_then(|rest| rest.split_once('='));
    let good = parts.filter(|(path, value)| !path.trim().is_empty() && !value.trim().is_empty());
    let (path, value) = good.ok_or_else(|| SettingError::Form(text.to_owned()))?;
    Ok((path.trim().to_owned(), value.trim().to_owned()))
}

/// What is typed for a setting that was read.
pub fn typed(path: &str, value: &str) -> String {
    let prefix = if is_of_an_engine(path) { "" } else { "profile." };
    format!("{prefix}{path}={value}")
}

/// Reads `profile.KEY=A,B,C`. A value in brackets may hold commas.
///
/// # Errors
/// `Form`.
pub fn sweep(text: &str) -> Result<Sweep, SettingError> {
    let (path, values) = setting(text)?;
    let values = split(&values);
    if values.iter().any(String::is_empty) {
        return Err(SettingError::Form(text.to_owned()));
    }
    Ok(Sweep { path, values })
}

fn split(text: &str) -> Vec<String> {
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for c in text.chars() {
        depth += i32::from(c == '[') - i32::from(c == ']');
        if c == ',' && depth == 0 {
            parts.push(String::new());
        } else if let Some(last) = parts.last_mut() {
            last.push(c);
        }
    }
    parts.iter().map(|part| part.trim().to_owned()).collect()
}

impl Settings {
    /// These settings at every combination of the sweeps' values.
    #[must_use]
    pub fn swept(&self, sweeps: &[Sweep]) -> Vec<Self> {
        sweeps.iter().fold(vec![self.clone()], |all, sweep| {
            let with = |base: &Self, value: &String| {
                let mut changed = base.clone();
                changed.profile.push((sweep.path.clone(), value.clone()));
                changed
            };
            all.iter().flat_map(|base| sweep.values.iter().map(move |value| with(base, value))).collect()
        })
    }

    /// Changes of the profile.
    pub fn of_profile(&self) -> impl Iterator<Item = &(String, String)> {
        self.profile.iter().filter(|(path, _)| !is_of_an_engine(path))
    }

    /// Changes of an engine; of several of one name the last counts.
    ///
    /// # Errors
    /// `Engine`.
    pub fn of_engine(&self, engine: EngineKind) -> Result<EngineSettings, SettingError> {
        let mut typed = Typed::default();
        for (path, value) in &self.profile {
            if let Some((kind, name)) = engine_of(path)
                && kind == engine
            {
                typed.push(name, value);
            }
        }
        let fault = |typed, todo| SettingError::Engine { engine: engine.name(), typed, todo };
        if let Some(name) = typed.unknown(&[engine.settings()]) {
            return Err(fault(name.to_owned(), find(engine.settings(), name).err().unwrap_or_default()));
        }
        typed.of(engine.settings(), url::parse_size).map_err(|(typed, todo)| fault(typed, todo))
    }

    /// Whether what is asked of engines is asked of these: `taker` has no use for others.
    ///
    /// # Errors
    /// `NotTaken`.
    pub fn check_engines(&self, taker: &str, takes: &[String]) -> Result<(), SettingError> {
        let prefix = |path: &str| path.split_once('.').map_or(String::new(), |(engine, _)| engine.to_owned());
        let mut of_engines = self.profile.iter().map(|(path, _)| path).filter(|path| is_of_an_engine(path));
        let wrong =
            of_engines.find(|path| !takes.iter().any(|taken| taken.eq_ignore_ascii_case(&prefix(path))));
        let not_taken = |path: &String| SettingError::NotTaken {
            path: path.clone(),
            taker: taker.to_owned(),
            takes: takes.to_vec(),
        };
        wrong.map_or(Ok(()), |path| Err(not_taken(path)))
    }

    /// Original's table over the cache of the hash FTLs, if it is to be another than the experiment's; of several the
    /// last counts.
    ///
    /// # Errors
    /// `HashFtl`.
    pub fn table_to_cache(&self) -> Result<Option<u64>, SettingError> {
        let mut found = None;
        for (path, value) in self.profile.iter().filter(|(path, _)| path.starts_with(HASH_FTL)) {
            let number = value.parse::<u64>().ok().filter(|n| *n > 0 && path == "hash_ftl.table_to_cache");
            found = Some(number.ok_or_else(|| SettingError::HashFtl(format!("{path}={value}")))?);
        }
        Ok(found)
    }

    /// Whether the changes can be made, those of the profile in the one of that name.
    ///
    /// # Errors
    /// `Unknown` with the closest name there is, `Value` or `Engine`.
    pub fn check(&self, profile: &str) -> Result<(), SettingError> {
        EngineKind::ALL.iter().try_for_each(|engine| self.of_engine(*engine).map(drop))?;
        self.table_to_cache()?;
        self.profile_named(profile).map(|_| ()).map_err(|error| match error {
            ProfileError::UnknownSetting { path } => unknown(profile, path),
            other => SettingError::Value(other),
        })
    }
}

fn unknown(profile: &str, path: String) -> SettingError {
    let rows = profile_named(profile).map(|p| p.rows()).unwrap_or_default();
    let near = |name: &String| (strsim::jaro_winkler(name, &path) * 1e6) as u64;
    let closest = rows.into_iter().map(|row| row.path).max_by_key(near).unwrap_or_default();
    SettingError::Unknown { profile: profile.to_owned(), path, closest }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_strictly() {
        let pair = ("firmware.fetch_ns".to_owned(), "5".to_owned());
        assert_eq!(setting("profile.firmware.fetch_ns = 5"), Ok(pair));
        for text in ["profile.firmware.fetch_ns=5", "lsm.packing=all", "hash_ftl.table_to_cache=2"] {
            let (path, value) = setting(text).unwrap();
            assert_eq!(typed(&path, &value), text);
        }
        for bad in ["firmware.fetch_ns=5", "profile.x", "profile.=5", "profile.x=", ""] {
            assert_eq!(setting(bad), Err(SettingError::Form(bad.to_owned())));
        }
    }

    #[test]
    fn settings_of_the_lsm_engine_have_rocksdb_names() {
        let set = |texts: &[&str]| Settings {
            profile: texts.iter().map(|text| setting(text).unwrap()).collect(),
            ..Settings::default()
        };
        let both = set(&["lsm.compaction_threads=3", "profile.firmware.fetch_ns=5"]);
        assert_eq!(both.of_engine(EngineKind::LSM).unwrap().get("compaction_threads"), Some(3));
        assert_eq!(both.check("tiny"), Ok(()));
        assert_eq!(both.of_profile().count(), 1);
        let wrong = set(&["lsm.level0_trigger=3"]).check("tiny").unwrap_err();
        assert!(wrong.to_string().contains("level0_stop_writes_trigger"), "{wrong}");
        assert!(set(&["lsm.compaction_threads=many"]).check("tiny").is_err());
    }

    #[test]
    fn settings_of_an_engine_that_is_not_there_are_refused_by_name() {
        let texts = ["profile.firmware.fetch_ns=5", "lsm.compaction_threads=3", "hash_ftl.table_to_cache=2"];
        let profile = texts.iter().map(|text| setting(text).unwrap()).collect();
        let asked = Settings { profile, ..Settings::default() };
        let check = |takes: &[&str]| {
            let takes: Vec<String> = takes.iter().map(|name| (*name).to_owned()).collect();
            asked.check_engines("saker-x", &takes).map_err(|e| e.to_string())
        };
        assert_eq!(check(&["lsm", "hash_ftl"]), Ok(()));
        let all = "`lsm.compaction_threads`: saker-x takes no settings of engines".to_owned();
        let some = "`hash_ftl.table_to_cache`: saker-x takes settings of tree, lsm".to_owned();
        assert_eq!((check(&[]), check(&["tree", "lsm"])), (Err(all), Err(some)));
    }

    #[test]
    fn the_cache_of_the_hash_ftls_is_a_setting() {
        let set = |texts: &[&str]| Settings {
            profile: texts.iter().map(|text| setting(text).unwrap()).collect(),
            ..Settings::default()
        };
        assert_eq!(set(&["profile.firmware.fetch_ns=5"]).table_to_cache(), Ok(None));
        let both = set(&["hash_ftl.table_to_cache=4", "hash_ftl.table_to_cache=2"]);
        assert_eq!(
            (both.table_to_cache(), both.check("tiny"), both.of_profile().count()),
            (Ok(Some(2)), Ok(()), 0)
        );
        for bad in [
            "hash_ftl.table_to_cache=0",
            "hash_ftl.table_to_cache=x",
            "hash_ftl.cache=4",
            "hash_ftl.x.table=1",
        ] {
            assert!(set(&[bad]).check("tiny").unwrap_err().to_string().contains("hash_ftl.table_to_cache"));
        }
    }

    #[test]
    fn sweeps_take_lists_and_arrays() {
        assert_eq!(sweep("profile.a=1,2, 3").unwrap().values, ["1", "2", "3"]);
        assert_eq!(sweep("profile.a=[1,2],[3]").unwrap().values, ["[1,2]", "[3]"]);
        assert!(sweep("profile.a=1,,2").is_err());
    }

    #[test]
    fn every_combination_of_sweeps_is_run() {
        let sweeps = [sweep("profile.a=1,2").unwrap(), sweep("profile.b=3,4,5").unwrap()];
        let all = Settings { seed: Some(9), ..Settings::default() }.swept(&sweeps);
        assert_eq!(all.len(), 6);
        assert_eq!(all[5].profile, [("a".into(), "2".into()), ("b".into(), "5".into())]);
        assert!(all.iter().all(|s| s.seed == Some(9)));
        assert_eq!(Settings::default().swept(&[]).len(), 1);
    }

    #[test]
    fn a_wrong_name_is_told_the_closest() {
        let with = |path: &str, value: &str| Settings {
            profile: vec![(path.into(), value.into())],
            ..Settings::default()
        };
        let error = with("firmware.fetchns", "5").check("tiny").unwrap_err();
        assert!(error.to_string().ends_with("the closest is `firmware.fetch_ns`"), "{error}");
        assert!(matches!(with("firmware.fetch_ns", "many").check("tiny"), Err(SettingError::Value(_))));
        assert_eq!(with("firmware.fetch_ns", "5").check("tiny"), Ok(()));
    }
}
