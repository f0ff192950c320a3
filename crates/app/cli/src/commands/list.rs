// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker list`

use std::collections::BTreeSet;

use super::walk::{Walk, Wanted};
use crate::args::list::ListArgs;
use crate::context::{Context, Exit};
use crate::error::CliError;
use crate::key;
use crate::output::ArrayDocument;
use crate::records::escape::escape;
use crate::records::jsonl::Written;
use crate::store::Store;

/// Prints keys.
///
/// # Errors
/// `Usage` for a bad key, `Output`, and those of the device.
pub fn run(args: &ListArgs, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    let wanted = Wanted {
        start: args.from.as_deref().map(key::parse).transpose()?,
        prefix: key::bytes(&args.prefix)?,
        limit: args.limit.filter(|_| !args.sort),
        ..Wanted::default()
    };
    cx.with_store(|store, cx| {
        let walk = Walk::new(store, wanted);
        if cx.global.json {
            let mut array = ArrayDocument::begin(cx.streams.output, "saker.list.v1", "keys")?;
            each(store, walk, args, &mut |key| array.item(&Written::new(key, None)))?;
            array.end()
        } else {
            each(store, walk, args, &mut |key| cx.print(line(key)))
        }
    })?;
    Ok(Exit::Good)
}

type Show<'a> = &'a mut dyn FnMut(&[u8]) -> Result<(), CliError>;

fn each(store: &mut dyn Store, mut walk: Walk, args: &ListArgs, show: Show<'_>) -> Result<(), CliError> {
    if args.sort {
        return least(store, walk, args.limit)?.iter().try_for_each(|key| show(key));
    }
    let mut page = Vec::new();
    while walk.next(store, &mut page)? {
        page.iter().try_for_each(|key| show(key))?;
    }
    Ok(())
}

/// The `limit` least keys of the walk.
fn least(store: &mut dyn Store, mut walk: Walk, limit: Option<u64>) -> Result<BTreeSet<Vec<u8>>, CliError> {
    let (mut keys, mut page) = (BTreeSet::new(), Vec::new());
    while walk.next(store, &mut page)? {
        for key in page.drain(..) {
            keys.insert(key);
            if limit.is_some_and(|limit| keys.len() as u64 > limit) {
                keys.pop_last();
            }
        }
    }
    Ok(keys)
}

fn line(key: &[u8]) -> Vec<u8> {
    let mut line = Vec::with_capacity(key.len() + 1);
    escape(key, None, &mut line);
    line.push(b'\n');
    line
}
