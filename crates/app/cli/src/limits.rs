// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a record may measure, wherever it comes from.

use crate::error::CliError;

/// Longest key, in bytes. The NVMe KV command set carries 16 in the command itself; the host library stores
/// longer ones under a digest.
pub const KEY_BYTES_MAX: usize = 255;

/// Longest value, in bytes.
pub const VALUE_BYTES_MAX: usize = 2 << 20;

/// Why `key` cannot be a key, if it cannot.
pub fn key_fault(key: &[u8]) -> Option<String> {
    match key.len() {
        0 => Some("the key is empty".to_owned()),
        1..=KEY_BYTES_MAX => None,
        n => Some(format!("the key has {n} bytes, the most is {KEY_BYTES_MAX}")),
    }
}

/// Why `value` cannot be a value, if it cannot.
pub fn value_fault(value: &[u8]) -> Option<String> {
    (value.len() > VALUE_BYTES_MAX)
        .then(|| format!("the value has {} bytes, the most is {VALUE_BYTES_MAX} (2MiB)", value.len()))
}

/// Refuses a value of the command line that is too long.
///
/// # Errors
/// `Usage`.
pub fn check_value(value: &[u8]) -> Result<(), CliError> {
    value_fault(value).map_or(Ok(()), |fault| Err(CliError::usage(fault, "split it over several keys")))
}
