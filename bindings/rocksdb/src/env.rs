// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Databases of the crate `rocksdb` on a device: an `Env` for its options.
//!
//! ```ignore
//! let env = saker_rocksdb::env::open("file:disk.img")?;
//! let mut options = rocksdb::Options::default();
//! options.set_env(&env);
//! let db = rocksdb::DB::open(&options, "/db")?;
//! ```

use crate::border::Text;
use crate::outcome::{Failure, Outcome};
use rocksdb::Env;
use std::ffi::c_void;

unsafe extern "C" {
    fn saker_rocksdb_env(url: Text, told: *mut Outcome) -> *mut c_void;
}

/// The files of a device, as an `Env`. Environments of one URL share the device.
///
/// # Errors
/// Why the device or its files cannot be used.
pub fn open(url: &str) -> Result<Env, Failure> {
    let mut told = Outcome::untold();
    // SAFETY: the text and the place of the outcome are valid for this call.
    let env = unsafe { saker_rocksdb_env(Text::of(url), &raw mut told) };
    if env.is_null() {
        return Err(told.failure());
    }
    // SAFETY: it is a `rocksdb_env_t`, made for whoever has it now.
    Ok(unsafe { Env::from_raw(env.cast()) })
}
