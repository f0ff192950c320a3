// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Thresholds and cost tables measured on profiles, and how well the policies that use them choose.

use saker_host::transfer::{Auto, ByMethod, CostTable, Method, Objective};
use saker_host::{Pacing, TransferPolicy};
use saker_profile::Profile;
use saker_world::calibrate::{Load, calibrate, measure, response};

fn profile(name: &str) -> Profile {
    Profile::builtin(name).expect("built in")
}

/// Sizes that are no grid points of the calibration, too.
const SIZES: [u32; 18] =
    [1, 20, 35, 36, 60, 90, 92, 100, 130, 200, 333, 700, 1500, 3000, 4095, 4097, 4200, 7000];

fn best(row: &(u32, ByMethod<Option<u64>>)) -> u64 {
    row.1.iter().flatten().copied().min().expect("PRPs carry anything")
}

/// At most 2 % above the best single method, in time.
fn auto_is_near_the_best(name: &str, pacing: Pacing) {
    let profile = profile(name);
    let table = calibrate(&profile, pacing).expect("measures").table;
    let policy = TransferPolicy::Auto(Auto { objective: Objective::Time(table) });
    let chosen = response(&profile, &SIZES, &policy, pacing).expect("runs");
    let single: CostTable = measure(&profile, pacing, Load::ONE, &SIZES).expect("runs");
    for (auto, row) in chosen.iter().zip(&single.rows) {
        let best = best(row);
        assert!(*auto <= best + best / 50, "{name}, {} bytes: {auto} ns, best {row:?}", row.0);
    }
}

#[test]
fn auto_by_time_on_the_board() {
    auto_is_near_the_best("cosmos-plus", Pacing::Passthrough);
    auto_is_near_the_best("cosmos-plus", Pacing::Pipelined);
}

#[test]
fn auto_by_time_on_a_modern_device() {
    auto_is_near_the_best("default", Pacing::Pipelined);
}

/// The grid tells the method that wins at the size below a threshold, and that it loses there.
#[test]
fn thresholds_are_where_the_winner_changes() {
    let profile = profile("cosmos-plus");
    let adaptive = calibrate(&profile, Pacing::Passthrough).expect("measures").adaptive;
    let t1 = adaptive.threshold1;
    assert!(t1 > 4, "{adaptive:?}");
    let rows = measure(&profile, Pacing::Passthrough, Load::ONE, &[t1 - 1, t1]).expect("runs").rows;
    let of = |n: usize, m: Method| rows[n].1[m.index()].expect("carried");
    assert!(of(0, Method::Piggyback) < of(0, Method::Prp), "{t1}: {rows:?}");
    assert!(of(1, Method::Piggyback) >= of(1, Method::Prp), "{t1}: {rows:?}");
    println!("{adaptive:?}");
}

/// Response times on the board by size, for the record.
#[test]
fn responses_on_the_board() {
    let sizes = [4, 32, 64, 128, 256, 512, 1024, 2048, 4096, 4100, 4160, 4224, 8192];
    let table = measure(&profile("cosmos-plus"), Pacing::Passthrough, Load::ONE, &sizes).expect("runs");
    for (bytes, costs) in &table.rows {
        println!("{bytes}: {costs:?}");
    }
    let prp: Vec<_> = table.rows.iter().filter_map(|(_, costs)| costs[Method::Prp.index()]).collect();
    assert!(prp[..9].iter().all(|t| t.abs_diff(prp[0]) * 20 <= prp[0]), "flat within a page: {prp:?}");
    assert!(prp[9] > prp[8], "and a step beyond: {prp:?}");
}
