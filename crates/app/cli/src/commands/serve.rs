// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker serve`

use crate::args::serve::ServeArgs;
use crate::context::{Context, Exit};
use crate::error::CliError;
use crate::linked::serve;
use crate::report::Serving;

/// Serves until told to stop.
///
/// # Errors
/// `Usage` for a configuration that makes no sense, `Failed` otherwise.
pub fn run(args: &ServeArgs, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    let device = cx.streams.device.clone().filter(|url| !url.is_empty());
    let args = &ServeArgs { device, quiet: cx.global.quiet, ..args.clone() };
    if args.check_config {
        serve::check(args)?;
        cx.note("the configuration is sound");
        cx.document_if_json("saker.serve.check.v1", &serde_json::json!({ "sound": true }))?;
        return Ok(Exit::Good);
    }
    let mut written = Ok(());
    serve::serve(args, &mut |serving| written = announce(serving, cx))?;
    written.map(|()| Exit::Good)
}

/// The readiness line, for scripts that wait for it.
fn announce(serving: &Serving, cx: &mut Context<'_, '_>) -> Result<(), CliError> {
    if cx.global.json {
        cx.document("saker.serve.v1", serving)?;
    } else {
        let metrics: String = serving.metrics.iter().map(|url| format!("metrics {url}\n")).collect();
        for address in &serving.addresses {
            for subsystem in &serving.subsystems {
                cx.print(format!("serving tcp://{address}/{subsystem}\n"))?;
            }
        }
        for address in &serving.redis {
            cx.print(format!("serving redis://{address}\n"))?;
        }
        for socket in &serving.vfio_user {
            cx.print(format!("serving vfio-user:{socket}\n"))?;
        }
        cx.print(metrics)?;
    }
    cx.streams.output.flush().map_err(CliError::Output)
}
