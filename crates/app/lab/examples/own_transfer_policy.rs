// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A transfer policy of one's own: a table says what each method costs up to each size, the cheapest one is taken. Here
//! the table knows one thing only: inline up to 512 B, pages beyond.
//!
//! `cargo run -p saker-lab --example own_transfer_policy`

use saker_host::transfer::{Auto, CostTable, Objective};
use saker_host::{Method, TransferPolicy};
use saker_lab::rig::{Cell, stores};
use saker_profile::Profile;
use saker_workload::Suite;
use std::sync::Arc;

const STORES: u64 = 2000;

fn own_policy() -> TransferPolicy {
    let row = |inline: u64, page: u64| {
        let mut costs = [None; Method::ALL.len()];
        (costs[Method::Inline.index()], costs[Method::Prp.index()]) = (Some(inline), Some(page));
        costs
    };
    let rows = vec![(512, row(1, 2)), (u32::MAX, row(2, 1))];
    TransferPolicy::Auto(Auto { objective: Objective::Time(Arc::new(CostTable { rows })) })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let profile = Profile::builtin("cosmos-plus")?;
    let policies = [("pages", TransferPolicy::default()), ("own", own_policy())];
    for suite in [Suite::B, Suite::D, Suite::M] {
        for (name, policy) in &policies {
            let cell = Cell { suite, policy: policy.clone(), ..Cell::transfer(Method::Prp, 0) };
            let run = stores(&profile, 1, STORES, &cell)?;
            let bytes = run.result.link_bytes as f64 / run.result.operations as f64;
            let letter = suite.name().to_uppercase();
            println!(
                "W({letter}) {name:<6} {bytes:7.1} B and {:.2} us a store",
                run.result.latency.mean() / 1e3
            );
        }
    }
    Ok(())
}

#[test]
fn it_runs() {
    main().unwrap();
}
