// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether each device is served once.

use std::path::PathBuf;

use saker::{Backing, DeviceUrl};

use super::{ConfigError, Served, ServerConfig};

/// The image of a subsystem by one path of it, and whether it is only read.
fn image(served: &Served) -> Option<(PathBuf, bool)> {
    // A URL that is not sound is told of when it is opened.
    let url = DeviceUrl::parse(&served.url).ok()?;
    let Backing::File(path) = url.place else { return None };
    Some((path.canonicalize().unwrap_or(path), url.readonly))
}

impl ServerConfig {
    /// Readers share an image; whoever writes it has it alone.
    pub(super) fn check_devices(&self) -> Result<(), ConfigError> {
        let images: Vec<_> = self.subsystems.iter().map(image).collect();
        for (n, (served, image)) in self.subsystems.iter().zip(&images).enumerate() {
            let Some((path, readonly)) = image else { continue };
            let mut before = images.iter().take(n).flatten();
            if before.any(|(other, reads)| other == path && !(*reads && *readonly)) {
                let error = ConfigError::new("its image is served already", "leave one of both out");
                return Err(error.of(&served.place()));
            }
        }
        Ok(())
    }
}
