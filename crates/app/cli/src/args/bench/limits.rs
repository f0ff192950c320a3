// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Numbers of `saker bench` that no machine carries out are refused before anything begins.

use super::BenchArgs;
use crate::error::CliError;
use crate::limits::VALUE_BYTES_MAX;
use crate::size;

/// Most operations of a run, as of `saker compare`: at a million a second they take a quarter of an hour.
pub const OPERATIONS_MAX: u64 = 1_000_000_000;
/// Most pairs behind the one that a seek goes to.
pub const PAIRS_SOUGHT_MAX: i64 = 1_000_000;
/// Most writes of a batch.
pub const BATCH_MAX: i64 = 100_000;
/// Most ranges of keys of mixgraph, each with numbers of its own in memory.
pub const KEY_RANGES_MAX: u64 = 1_000_000;
/// Milliseconds of a day.
pub const DAY_MS: u64 = 86_400_000;

/// Without a device the operations and the flash are in memory.
const MEMORY_BYTES_MAX: u64 = 16 << 30;
/// What a batch holds in memory.
const BATCH_BYTES_MAX: u64 = 1 << 30;
/// Bytes of an operation beside its value, about: the key, and what the allocator, two vectors and a record's head take.
const OPERATION_BYTES: u64 = 128;

/// Looks for what memory cannot hold.
///
/// # Errors
/// `Usage` names the most.
pub fn check(args: &BenchArgs, on_device: bool) -> Result<(), CliError> {
    let each = args.value_size.saturating_add(OPERATION_BYTES);
    let most = MEMORY_BYTES_MAX / each;
    // Values that are too long are refused as such.
    let is_value = args.value_size <= VALUE_BYTES_MAX as u64;
    if !on_device && is_value && args.operations > most {
        let what = format!(
            "{} operations with values of {} take more than {} of memory: the most is {most}",
            args.operations,
            size::show(args.value_size),
            size::show(MEMORY_BYTES_MAX),
        );
        return Err(CliError::usage(what, "give fewer --operations, or a device with --device"));
    }
    let most = (BATCH_BYTES_MAX / args.value_size.max(1)).max(1);
    if u64::from(args.db.batch_size) > most {
        let what =
            format!("a batch of {} such values takes more than 1GiB: the most is {most}", args.db.batch_size);
        return Err(CliError::usage(what, "give a smaller --batch_size"));
    }
    Ok(())
}
