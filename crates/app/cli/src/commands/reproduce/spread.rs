// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker reproduce spread`

use saker_lab::spread::{Claim, spread};
use serde_json::json;

use super::diff::read;
use crate::args::reproduce::SpreadArgs;
use crate::context::{Context, Exit};
use crate::error::CliError;
use crate::output::table;

/// Shows how far results with several seeds are apart; the answer is no when a verdict changes.
///
/// # Errors
/// `File` for a document that cannot be read, `Failed` for one that is none, `Usage` for fewer than two.
pub fn run(args: &SpreadArgs, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    let runs = args.results.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    let claims = spread(&runs);
    if cx.global.json {
        cx.document("saker.reproduce.spread.v1", &json!({ "claims": claims }))?;
    } else {
        cx.print(text(&claims))?;
    }
    Ok(if claims.iter().all(Claim::is_firm) { Exit::Good } else { Exit::No })
}

fn text(claims: &[Claim]) -> String {
    let head = ["claim", "verdicts", "least", "most", "apart", "of"].map(str::to_owned).to_vec();
    let row = |claim: &Claim| {
        let first = claim.verdicts.first().map_or("", |verdict| verdict.name());
        let verdicts: Vec<&str> = claim.verdicts.iter().map(|verdict| verdict.name()).collect();
        let verdicts = if claim.is_firm() { first.to_owned() } else { verdicts.join(" ") };
        let number =
            |of: fn(&saker_lab::spread::Number) -> String| claim.widest().map_or_else(String::new, of);
        vec![
            claim.id.clone(),
            verdicts,
            number(|n| format!("{:.4}", n.least)),
            number(|n| format!("{:.4}", n.most)),
            number(|n| n.percent.map_or_else(String::new, |percent| format!("{percent:.2} %"))),
            number(|n| n.what.clone()),
        ]
    };
    let rows = [head].into_iter().chain(claims.iter().map(row));
    let loose = claims.iter().filter(|claim| !claim.is_firm()).count();
    format!(
        "{}{} claims, each with the number that is spread most; the verdicts of {loose} change\n",
        table(&rows.collect::<Vec<_>>()),
        claims.len()
    )
}
