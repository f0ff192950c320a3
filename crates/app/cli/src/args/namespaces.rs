// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Namespaces as the command line asks for them: `kv:512MiB`, `block:256MiB,4096`, `block:256MiB,4096,64KiB`.

use crate::size;

/// Bytes of a block when none are given.
const BLOCK_BYTES: u32 = 4096;

/// A namespace that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamespaceChoice {
    /// Key-value pairs.
    Kv {
        /// Its share of the flash.
        flash_bytes: Option<u64>,
    },
    /// Logical blocks.
    Block {
        /// What its blocks hold.
        bytes: Option<u64>,
        /// Bytes of a block.
        block_bytes: u32,
        /// Memory of the cached mapping table, if the map is to lie on flash.
        map_cache: Option<u64>,
    },
}

/// Reads a namespace.
///
/// # Errors
/// One line that says how to write it.
pub fn parse(text: &str) -> Result<NamespaceChoice, String> {
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    match kind {
        "kv" => Ok(NamespaceChoice::Kv { flash_bytes: optional(rest)? }),
        "block" => {
            let (bytes, rest) = rest.split_once(',').unwrap_or((rest, ""));
            let (block, cache) = rest.split_once(',').unwrap_or((rest, ""));
            let block_bytes = optional(block)?.map_or(Ok(BLOCK_BYTES), u32::try_from);
            let block_bytes = block_bytes.map_err(|_| "a block is smaller than 4GiB".to_owned())?;
            let bytes = optional(bytes)?;
            if bytes == Some(0) {
                return Err("a block namespace holds one block at least".to_owned());
            }
            Ok(NamespaceChoice::Block { bytes, block_bytes, map_cache: optional(cache)? })
        }
        _ => Err("write kv:SIZE or block:SIZE,BLOCK_BYTES,MAP_CACHE, such as block:256MiB,4096 or block:256MiB,4096,64KiB".to_owned()),
    }
}

fn optional(text: &str) -> Result<Option<u64>, String> {
    if text.is_empty() { Ok(None) } else { size::parse(text).map(Some) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_sizes_and_blocks() {
        assert_eq!(parse("kv"), Ok(NamespaceChoice::Kv { flash_bytes: None }));
        assert_eq!(parse("kv:512MiB"), Ok(NamespaceChoice::Kv { flash_bytes: Some(512 << 20) }));
        let block = |bytes, block_bytes| Ok(NamespaceChoice::Block { bytes, block_bytes, map_cache: None });
        let on_flash =
            |bytes, cache| Ok(NamespaceChoice::Block { bytes, block_bytes: 4096, map_cache: Some(cache) });
        assert_eq!(parse("block:1GiB,4096,64KiB"), on_flash(Some(1 << 30), 64 << 10));
        assert_eq!(parse("block:,,1MiB"), on_flash(None, 1 << 20));
        assert_eq!(parse("block"), block(None, 4096));
        assert_eq!(parse("block:256MiB"), block(Some(256 << 20), 4096));
        assert_eq!(parse("block:1GB,512"), block(Some(1_000_000_000), 512));
        assert_eq!(parse("block:,4KiB"), block(None, 4096));
    }

    #[test]
    fn nonsense_says_how_to_write_it() {
        for (text, word) in [
            ("", "kv:SIZE"),
            ("kvs:1MiB", "kv:SIZE"),
            ("kv:lots", "whole number"),
            ("kv:4K", "unknown unit"),
            ("block:0", "one block"),
            ("block:1MiB,8GiB", "4GiB"),
            ("block:1MiB,4096,1,1", "unknown unit"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(word) && !error.contains('\n'), "{text}: {error}");
        }
    }
}
