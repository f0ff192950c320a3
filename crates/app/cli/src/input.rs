// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Values that come from standard input or a file.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::context::Context;
use crate::error::CliError;
use crate::key;
use crate::limits::{self, VALUE_BYTES_MAX};

/// Reads a value of the command line: `-` is standard input, `@FILE` a file, anything else bytes as for keys.
///
/// # Errors
/// `File`, or `Usage` for bad hex or base64 and values over 2 MiB.
pub fn value(text: &str, cx: &mut Context<'_, '_>) -> Result<Vec<u8>, CliError> {
    let value = if text == "-" {
        limited(cx.streams.input, Path::new("standard input"))?
    } else if let Some(name) = text.strip_prefix('@') {
        let path = Path::new(name);
        limited(&mut File::open(path).map_err(CliError::file("open", path))?, path)?
    } else {
        key::bytes(text)?
    };
    limits::check_value(&value).map(|()| value)
}

/// Reads at most one byte more than a value may have, which is enough to refuse it.
fn limited(input: &mut dyn Read, name: &Path) -> Result<Vec<u8>, CliError> {
    let mut value = Vec::new();
    let read = input.take(VALUE_BYTES_MAX as u64 + 1).read_to_end(&mut value);
    read.map_err(CliError::file("read", name))?;
    if value.len() > VALUE_BYTES_MAX {
        let what = format!(
            "`{}` has more than {VALUE_BYTES_MAX} bytes (2MiB), the most a value can have",
            name.display()
        );
        return Err(CliError::usage(what, "split it over several keys"));
    }
    Ok(value)
}
