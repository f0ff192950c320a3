// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The profiles that are shipped, embedded as text.

use super::ProfileError;

macro_rules! shipped {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_str!(concat!("../profiles/", $name, ".toml")))),+]
    };
}

/// Name and text. The order is the order of every list, so it never changes; new ones go to the end.
static SHIPPED: [(&str, &str); 10] = shipped![
    "default",
    "saker-low",
    "saker-mid",
    "saker-high",
    "cosmos-plus",
    "nvmevirt-970pro",
    "tiny",
    "samsung-kvssd",
    "fixed",
    "kvvirt",
];

pub(super) fn names() -> impl ExactSizeIterator<Item = &'static str> {
    SHIPPED.iter().map(|(name, _)| *name)
}

pub(super) fn text(name: &str) -> Result<&'static str, ProfileError> {
    let found = SHIPPED.iter().find(|(n, _)| *n == name);
    found.map(|(_, text)| *text).ok_or_else(|| ProfileError::UnknownName {
        name: name.chars().take(60).collect(),
        known: names().collect::<Vec<_>>().join(", "),
    })
}
