//! `saker scan`

use clap::Args;

use super::walk::{Walk, Wanted};
use crate::args::KEY_HELP;
use crate::context::{Context, Exit};
use crate::error::CliError;
use crate::key;
use crate::output::ArrayDocument;
use crate::records::jsonl::Written;
use crate::records::{Format, Writer};
use crate::store::{Range, Store};

const EXAMPLES: &str = "\
Keys and values, one record a line with a tab between; bytes that cannot be shown are written \
\\t \\n \\r \\\\ \\0 \\xNN. FROM and TO are compared by bytes on every engine. The lsm and tree engines read the range in \
the device, as of one moment, and print in that order (keys of more than 16 bytes come last); the hash engines go through all keys and print in \
their own order.

Examples:
  saker scan --device file:disk.img
  saker scan --device file:disk.img user:1 user:9 --limit 100
  saker scan --device 'mem:?engine=lsm' --prefix user: --from user:1 --to user:9
  saker scan --device file:disk.img --json user:1";

/// Arguments of `saker scan`.
#[derive(Args, Debug)]
#[command(after_help = help())]
pub struct ScanArgs {
    /// The least key
    from: Option<String>,
    /// The key to stop before
    to: Option<String>,
    /// The least key
    #[arg(long = "from", value_name = "KEY", conflicts_with_all = ["from", "to"])]
    from_key: Option<String>,
    /// The key to stop before
    #[arg(long = "to", value_name = "KEY", conflicts_with = "to")]
    to_key: Option<String>,
    /// Only keys that begin with P
    #[arg(long, value_name = "P", default_value = "", hide_default_value = true)]
    prefix: String,
    /// At most N records
    #[arg(long, short = 'n', value_name = "N")]
    limit: Option<u64>,
}

fn help() -> String {
    format!("{KEY_HELP}\n{EXAMPLES}")
}

/// Prints records.
///
/// # Errors
/// `Usage` for a bad key or an empty range, `Output`, and those of the device.
pub fn run(args: &ScanArgs, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    let wanted = wanted(args)?;
    cx.with_store(|store, cx| {
        if cx.global.json {
            let mut array = ArrayDocument::begin(cx.streams.output, "saker.scan.v1", "records")?;
            pairs(store, wanted, args.limit, &mut |key, value| array.item(&Written::new(key, Some(value))))?;
            array.end()
        } else {
            let mut writer = Writer::new(&mut *cx.streams.output, Format::Tsv);
            pairs(store, wanted, args.limit, &mut |key, value| {
                writer.write(key, value).map_err(CliError::Output)
            })
        }
    })?;
    Ok(Exit::Good)
}

fn wanted(args: &ScanArgs) -> Result<Wanted, CliError> {
    let from = args.from.as_deref().or(args.from_key.as_deref()).map(key::parse).transpose()?;
    let to = args.to.as_deref().or(args.to_key.as_deref()).map(key::parse).transpose()?;
    if to.is_some() && from > to {
        return Err(CliError::usage("FROM is behind TO", "give the lesser key first"));
    }
    Ok(Wanted { from, to, prefix: key::bytes(&args.prefix)?, ..Wanted::default() })
}

type Show<'a> = &'a mut dyn FnMut(&[u8], &[u8]) -> Result<(), CliError>;

/// Shows the pairs that are wanted: as the device reads ranges, else by a walk over its keys.
fn pairs(store: &mut dyn Store, wanted: Wanted, limit: Option<u64>, show: Show<'_>) -> Result<(), CliError> {
    if limit == Some(0) {
        return Ok(());
    }
    let range = Range {
        from: wanted.from.as_deref().unwrap_or_default(),
        to: wanted.to.as_deref().unwrap_or_default(),
        prefix: &wanted.prefix,
        limit: limit.unwrap_or(0),
    };
    let mut left = limit.unwrap_or(u64::MAX);
    let shown = store.scan(&range, &mut |key, value| {
        show(key, value)?;
        left -= 1;
        Ok(left > 0)
    })?;
    if shown {
        return Ok(());
    }
    let walk = Walk::new(store, wanted);
    records(store, walk, limit, show)
}

/// Shows every record of the walk. A key that has gone since its page was listed is passed over, which is why the
/// limit is kept here.
pub fn records(
    store: &mut dyn Store,
    mut walk: Walk,
    limit: Option<u64>,
    show: Show<'_>,
) -> Result<(), CliError> {
    let (mut left, mut page) = (limit.unwrap_or(u64::MAX), Vec::new());
    while left > 0 && walk.next(store, &mut page)? {
        for key in page.iter() {
            let Some(value) = store.get(key)? else { continue };
            show(key, &value)?;
            left -= 1;
            if left == 0 {
                break;
            }
        }
    }
    Ok(())
}
