// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker scan`

use std::cell::RefCell;
use std::time::Duration;

use super::walk::{Walk, Wanted};
use crate::args::scan::ScanArgs;
use crate::context::{Context, Exit};
use crate::error::CliError;
use crate::key;
use crate::output::ArrayDocument;
use crate::records::jsonl::Written;
use crate::records::{Format, Writer};
use crate::store::{GoesOn, Range, Store};

/// Prints records.
///
/// # Errors
/// `Usage` for a bad key or an empty range, `Output`, `Failed` when its time is over, and those of the device.
pub fn run(args: &ScanArgs, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    let wanted = wanted(args)?;
    cx.with_store(|store, cx| {
        let clock = cx.streams.clock;
        let mut limits = Limits::new(args, clock());
        if cx.global.json {
            let mut array = ArrayDocument::begin(cx.streams.output, "saker.scan.v1", "records")?;
            pairs(store, wanted, &mut limits, clock, &mut |key, value| {
                array.item(&Written::new(key, Some(value)))
            })?;
            array.end()?;
        } else {
            let mut writer = Writer::new(&mut *cx.streams.output, Format::Tsv);
            pairs(store, wanted, &mut limits, clock, &mut |key, value| {
                writer.write(key, value).map_err(CliError::Output)
            })?;
        }
        limits.end(args)
    })?;
    Ok(Exit::Good)
}

/// What ends a scan early, and what has become of it.
struct Limits {
    records: Option<u64>,
    reverse: bool,
    /// When its time is over, by the clock.
    until: Option<Duration>,
    shown: u64,
    is_over: bool,
}

impl Limits {
    fn new(args: &ScanArgs, now: Duration) -> Self {
        let until = args.timeout.map(|time| now.saturating_add(time));
        Self { records: args.limit, reverse: args.reverse, until, shown: 0, is_over: false }
    }

    /// Looks at the clock: whether there is time left.
    fn has_time(&mut self, clock: &dyn Fn() -> Duration) -> bool {
        self.is_over = self.until.is_some_and(|until| clock() >= until);
        !self.is_over
    }

    fn left(&self) -> u64 {
        self.records.unwrap_or(u64::MAX) - self.shown
    }

    fn end(&self, args: &ScanArgs) -> Result<(), CliError> {
        let Some(time) = args.timeout.filter(|_| self.is_over) else { return Ok(()) };
        let (seconds, shown) = (time.as_secs_f64(), self.shown);
        // Where to go on cannot be said: hash engines have no order, and long keys come behind all others.
        Err(CliError::failed(
            format!("the scan ended with its time, {seconds} s, after {shown} records"),
            "give it more, or ask for fewer with --limit, --from or --prefix",
        ))
    }
}

fn wanted(args: &ScanArgs) -> Result<Wanted, CliError> {
    let from = args.from.as_deref().or(args.from_key.as_deref()).map(key::parse).transpose()?;
    let to = args.to.as_deref().or(args.to_key.as_deref()).map(key::parse).transpose()?;
    if to.is_some() && from > to {
        return Err(CliError::usage("FROM is behind TO", "give the lesser key first"));
    }
    Ok(Wanted { from, to, prefix: key::bytes(&args.prefix)?, ..Wanted::default() })
}

/// Takes a record.
pub(super) type Show<'a> = &'a mut dyn FnMut(&[u8], &[u8]) -> Result<(), CliError>;

/// Shows the pairs that are wanted: as the device reads ranges, else by a walk over its keys.
fn pairs(
    store: &mut dyn Store,
    wanted: Wanted,
    limits: &mut Limits,
    clock: &dyn Fn() -> Duration,
    show: Show<'_>,
) -> Result<(), CliError> {
    if limits.left() == 0 {
        return Ok(());
    }
    let range = Range {
        from: wanted.from.as_deref().unwrap_or_default(),
        to: wanted.to.as_deref().unwrap_or_default(),
        prefix: &wanted.prefix,
        limit: limits.records.unwrap_or(0),
        reverse: limits.reverse,
    };
    let (most, reverse) = (limits.records, limits.reverse);
    let cell = RefCell::new(limits);
    let mut goes_on = || cell.borrow_mut().has_time(clock);
    let mut show = |key: &[u8], value: &[u8]| {
        show(key, value)?;
        cell.borrow_mut().shown += 1;
        Ok(cell.borrow().left() > 0)
    };
    if store.scan(&range, &mut goes_on, &mut show)? {
        return Ok(());
    }
    if reverse {
        return Err(CliError::failed("the device reads no ranges in order", "leave --reverse out"));
    }
    let walk = Walk::new(store, wanted);
    records(store, walk, most, &mut goes_on, &mut |key, value| show(key, value).map(drop))
}

/// Shows every record of the walk. A key that has gone since its page was listed is passed over, which is why the
/// limit is kept here.
pub fn records(
    store: &mut dyn Store,
    mut walk: Walk,
    limit: Option<u64>,
    goes_on: GoesOn<'_>,
    show: Show<'_>,
) -> Result<(), CliError> {
    let (mut left, mut page, mut values) = (limit.unwrap_or(u64::MAX), Vec::new(), Values::default());
    while left > 0 && goes_on() && walk.next(store, &mut page)? {
        let mut rest = &page[..];
        while left > 0 && !rest.is_empty() {
            let (now, later) = rest.split_at(values.count(rest.len(), left));
            for (key, value) in now.iter().zip(values.of(store, now)?) {
                let Some(value) = value else { continue };
                show(key, &value)?;
                left -= 1;
            }
            rest = later;
        }
    }
    Ok(())
}

/// Values asked for at once: as many as a group has.
const VALUES_MAX: usize = 64;
/// What they may come to, if they are no longer than those before; the first ones are few.
const VALUES_BYTES: usize = 4 << 20;
const FIRST_VALUES: usize = 8;

/// Reads values of keys in groups, whose misses overlap, and of which the next is as large as the last one's values allow.
#[derive(Default)]
struct Values {
    /// The longest value of the last group.
    longest: Option<usize>,
}

impl Values {
    /// How many of `listed` keys are asked for next, when `wanted` records are.
    fn count(&self, listed: usize, wanted: u64) -> usize {
        let most = self.longest.map_or(FIRST_VALUES, |n| (VALUES_BYTES / n.max(1)).clamp(1, VALUES_MAX));
        most.min(listed).min(usize::try_from(wanted).unwrap_or(usize::MAX))
    }

    fn of(&mut self, store: &mut dyn Store, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, CliError> {
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let values = store.get_many(&keys)?;
        self.longest = values.iter().flatten().map(Vec::len).max().or(self.longest);
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_read_by_few() {
        let after = |longest| Values { longest };
        assert_eq!(after(None).count(1000, u64::MAX), FIRST_VALUES);
        assert_eq!(after(Some(100)).count(1000, u64::MAX), 64);
        assert_eq!(after(Some(0)).count(1000, u64::MAX), 64);
        assert_eq!(after(Some(1 << 20)).count(1000, u64::MAX), 4);
        assert_eq!(after(Some(2 << 20)).count(1000, u64::MAX), 2);
        // No more than are listed, nor than are wanted.
        assert_eq!((after(Some(100)).count(5, 9), after(Some(100)).count(9, 5)), (5, 5));
    }
}
