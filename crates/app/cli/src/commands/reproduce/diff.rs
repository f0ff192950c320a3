// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker reproduce diff`

use std::path::Path;

use saker_lab::Experiment;
use saker_lab::diff::{Change, diff};
use saker_lab::report::SCHEMA;
use serde_json::{Value, json};

use super::text::cell;
use crate::args::reproduce::DiffArgs;
use crate::context::{Context, Exit};
use crate::error::CliError;
use crate::output::table;

/// Shows what differs; the answer is no when anything does.
///
/// # Errors
/// `File` for a document that cannot be read, `Failed` for one that is none.
pub fn run(args: &DiffArgs, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    let changes = diff(&read(&args.before)?, &read(&args.after)?, args.tolerance);
    if cx.global.json {
        cx.document("saker.reproduce.diff.v1", &json!({ "changes": changes }))?;
    } else {
        cx.print(text(&changes))?;
    }
    Ok(if changes.is_empty() { Exit::Good } else { Exit::No })
}

pub(super) fn read(path: &Path) -> Result<Vec<Experiment>, CliError> {
    let text = std::fs::read_to_string(path).map_err(CliError::file("read", path))?;
    let other = |what: String| {
        CliError::failed(
            format!("`{}` is no result: {what}", path.display()),
            "write one with `saker reproduce all --json`",
        )
    };
    let mut document: Value = serde_json::from_str(&text).map_err(|e| other(e.to_string()))?;
    if document["schema"] != SCHEMA {
        return Err(other(format!("its schema is {}, not {SCHEMA}", document["schema"])));
    }
    serde_json::from_value(document["experiments"].take()).map_err(|e| other(e.to_string()))
}

fn text(changes: &[Change]) -> String {
    if changes.is_empty() {
        return "no differences\n".to_owned();
    }
    let head = ["experiment", "where", "what", "before", "after", "change"].map(str::to_owned).to_vec();
    let row = |c: &Change| {
        let percent = c.percent.map_or_else(String::new, |p| format!("{p:+.2} %"));
        vec![c.experiment.clone(), c.place.clone(), c.what.clone(), cell(&c.before), cell(&c.after), percent]
    };
    let verdicts = changes.iter().filter(|c| c.what == "verdict").count();
    let rows = [head].into_iter().chain(changes.iter().map(row));
    format!(
        "{}{} differences, {verdicts} of them verdicts\n",
        table(&rows.collect::<Vec<_>>()),
        changes.len()
    )
}
