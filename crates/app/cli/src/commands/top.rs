// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker top`

use std::time::{Duration, Instant};

use crate::args::top::TopArgs;
use crate::context::{Context, Exit};
use crate::error::CliError;
use crate::linked::looked::Looked;
use crate::top::lines::{HEAD_EVERY, head, line};
use crate::top::look::Look;
use crate::top::screen::Screen;

/// Looks at a device again and again.
///
/// # Errors
/// Those of the device, and of a device that does not tell.
pub fn run(args: &TopArgs, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    let url = args.url.clone().map_or_else(|| cx.device(), Ok)?;
    let mut looked = Looked::open(&url)?;
    let watched = if cx.global.json || !Screen::is_there() {
        lines(args, &mut looked, cx)
    } else {
        drawn(args, &url, &mut looked)
    };
    let closed = looked.close();
    watched.and(closed).map(|()| Exit::Good)
}

fn lines(args: &TopArgs, looked: &mut Looked, cx: &mut Context<'_, '_>) -> Result<(), CliError> {
    let (interval, mut before) = (Duration::from_secs_f64(args.interval), looked.look()?);
    for n in (0_u64..).take_while(|n| args.count == 0 || *n < args.count) {
        std::thread::sleep((before.at + interval).saturating_duration_since(Instant::now()));
        let now = looked.look()?;
        let look = Look::between(&before, &now);
        if cx.global.json {
            cx.document("saker.top.v1", &look)?;
        } else {
            let head = if n % HEAD_EVERY == 0 { head() } else { String::new() };
            cx.print(format!("{head}{}\n", line(&look)))?;
        }
        cx.streams.output.flush().map_err(CliError::Output)?;
        before = now;
    }
    Ok(())
}

fn drawn(args: &TopArgs, url: &str, looked: &mut Looked) -> Result<(), CliError> {
    let (interval, mut before) = (Duration::from_secs_f64(args.interval), looked.look()?);
    let mut screen = Screen::open(url);
    for _ in (0_u64..).take_while(|n| args.count == 0 || *n < args.count) {
        if screen.waits_until(before.at + interval).map_err(CliError::Output)? {
            break;
        }
        let now = looked.look()?;
        screen.show(Look::between(&before, &now)).map_err(CliError::Output)?;
        before = now;
    }
    Ok(())
}
