// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The images that are killed, and what is done to each.

use crate::support::held_back::HELD_BACK;
use saker::{EngineKind, Settings};

/// An image and what is done to it.
pub struct Case {
    pub engine: EngineKind,
    pub profile: &'static str,
    pub image_bytes: u64,
    pub keys: u32,
    pub value_bytes_max: u32,
    /// One value in so many is of `LARGE_BYTES`; 0: none.
    pub large_one_in: u64,
    /// A life has fewer operations than this, and those of its last moment.
    pub operations_max: u64,
    /// Superblocks the rounds of the check tier collect at least.
    pub erases_min: u64,
    /// Options of the URL.
    pub options: &'static str,
    /// Which values an LSM store has in its tree; with none of them the image is told nothing.
    pub min_blob_size: &'static str,
}

/// Merges of an LSM store that are put off, on the caller's thread and on the device's.
const PUT_OFF: Case = Case {
    engine: EngineKind::LSM,
    profile: "tiny",
    image_bytes: 16 << 20,
    keys: 1000,
    value_bytes_max: 1 << 10,
    large_one_in: 0,
    operations_max: 4000,
    erases_min: 20,
    options: "write_buffer_size=16KiB",
    min_blob_size: "unlimited",
};

pub const CASES: [Case; 8] = [
    // 64-KiB superblocks: collection, checkpoints and erases all the time.
    Case {
        engine: EngineKind::HASH_STORE,
        profile: "tiny",
        image_bytes: 4 << 20,
        keys: 120,
        value_bytes_max: 8 << 10,
        large_one_in: 0,
        operations_max: 3000,
        erases_min: 40,
        options: "",
        min_blob_size: "",
    },
    Case {
        engine: EngineKind::HASH_STORE,
        profile: "default",
        image_bytes: 288 << 20,
        keys: 300,
        value_bytes_max: 64 << 10,
        large_one_in: 50,
        operations_max: 800,
        erases_min: 0,
        options: "",
        min_blob_size: "",
    },
    // Without a capacitor: a kill keeps the ring all the same.
    Case {
        engine: EngineKind::HASH_STORE,
        profile: "nvmevirt-970pro",
        image_bytes: 256 << 20,
        keys: 300,
        value_bytes_max: 64 << 10,
        large_one_in: 50,
        operations_max: 800,
        erases_min: 0,
        options: "",
        min_blob_size: "",
    },
    // Merges, manifests and collections of the tree store.
    Case {
        engine: EngineKind::TREE,
        profile: "tiny",
        image_bytes: 8 << 20,
        keys: 400,
        value_bytes_max: 8 << 10,
        large_one_in: 0,
        operations_max: 3000,
        erases_min: 20,
        options: "",
        min_blob_size: "",
    },
    // Writes of an LSM store that wait for their rate, and writes that are stopped.
    Case {
        engine: EngineKind::LSM,
        profile: "tiny",
        image_bytes: 8 << 20,
        keys: 200,
        value_bytes_max: 4 << 10,
        large_one_in: 0,
        operations_max: 500,
        erases_min: 0,
        options: HELD_BACK[0],
        min_blob_size: "",
    },
    Case {
        engine: EngineKind::LSM,
        profile: "tiny",
        image_bytes: 8 << 20,
        keys: 200,
        value_bytes_max: 4 << 10,
        large_one_in: 0,
        operations_max: 1500,
        erases_min: 0,
        options: HELD_BACK[1],
        min_blob_size: "",
    },
    PUT_OFF,
    // Values go where the tree decides.
    Case { min_blob_size: "auto", ..PUT_OFF },
];

impl Case {
    /// What the image is told when it is made.
    pub fn stored(&self) -> Settings {
        if self.min_blob_size.is_empty() {
            return Settings::default();
        }
        let known = self.engine.settings().iter().find(|setting| setting.name == "min_blob_size");
        let number =
            known.expect("it has that one").parse(self.min_blob_size, |_| None).expect("a word of it");
        Settings::told(&[("min_blob_size", number)])
    }
}
