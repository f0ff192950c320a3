// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Profiles by name or from a file.

use saker_profile::{Profile, ProfileError};

/// A built-in profile, or that of a file: a name with a `/` in it or `.toml` at its end is a path.
///
/// # Errors
/// [`ProfileError`]: no such name or file, or a file that is no profile.
///
/// ```
/// let profile = saker::profile_named("saker-mid")?;
/// assert_eq!(profile.name, "saker-mid");
/// let error = saker::profile_named("mine.toml").unwrap_err(); // a path
/// assert!(error.to_string().contains("mine.toml"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn profile_named(name: &str) -> Result<Profile, ProfileError> {
    if !is_path(name) {
        return Profile::builtin(name);
    }
    let bad = |reason: String| ProfileError::File { path: name.to_owned(), reason };
    let text = std::fs::read_to_string(name).map_err(|e| bad(e.to_string()))?;
    Profile::parse(&text).map_err(|e| bad(e.to_string()))
}

/// The same for an image, which keeps the profile's name alone.
///
/// # Errors
/// As [`profile_named`], and a file whose profile has a built-in one's name but is another.
pub(crate) fn profile_for_image(name: &str) -> Result<Profile, ProfileError> {
    let profile = profile_named(name)?;
    match Profile::builtin(&profile.name) {
        Ok(builtin) if builtin != profile => Err(ProfileError::File {
            path: name.to_owned(),
            reason: format!("a built-in profile is called `{}`; give yours a name of its own", profile.name),
        }),
        _ => Ok(profile),
    }
}

fn is_path(name: &str) -> bool {
    name.contains('/') || name.ends_with(".toml")
}
