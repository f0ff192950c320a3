//! Block namespaces as the commands see them.

use saker_realtime::{Block, Error as DeviceError};
use serde_json::{Value, json};

use super::opened::{described, failed, refused};
use crate::error::CliError;
use crate::store::{Answer, BlockStore};

/// Opens the block namespace of a URL.
pub(super) fn open(url: &str) -> Result<Box<dyn BlockStore>, CliError> {
    Ok(Box::new(Opened(Block::open(url).map_err(|e| refused(&e))?)))
}

/// What a device without key-value namespaces says of itself.
pub(super) fn info(url: &str) -> Result<Value, CliError> {
    let mut block = Block::open(url).map_err(|e| refused(&e))?;
    let head = json!({ "device": url, "profile": block.profile() });
    let info = described(head, block.snapshot());
    block.close().map_err(|e| failed(&e)).map(|()| info)
}

struct Opened(Block);

fn outcome<T>(result: Result<T, DeviceError>) -> Answer<T> {
    result.map_err(|error| match error {
        DeviceError::Range(_) => match failed(&error) {
            CliError::Failed { what, todo } => CliError::usage(what, todo),
            other => other,
        },
        other => failed(&other),
    })
}

impl BlockStore for Opened {
    fn block_bytes(&self) -> u32 {
        self.0.block_bytes()
    }

    fn blocks(&self) -> u64 {
        self.0.blocks()
    }

    fn read(&mut self, first: u64, out: &mut [u8]) -> Answer<()> {
        outcome(self.0.read(first, out))
    }

    fn write(&mut self, first: u64, data: &[u8]) -> Answer<()> {
        outcome(self.0.write(first, data))
    }

    fn trim(&mut self, first: u64, blocks: u64) -> Answer<()> {
        outcome(self.0.trim(first, blocks))
    }

    fn flush(&mut self) -> Answer<()> {
        outcome(self.0.flush())
    }

    fn close(self: Box<Self>) -> Answer<()> {
        self.0.close().map_err(|e| failed(&e))
    }
}
