// SPDX-License-Identifier: Apache-2.0 OR MIT
//! In which order experiments begin.

use crate::plan::Settings;
use crate::run::plan_of;
use crate::run::room::{MEMORY_MIB, memory_mib};
use std::cmp::Reverse;

/// Experiments with their settings and their places among all results, in the order in which they begin. First those that take more than half of
/// the memory: few others fit beside them, and at the end none of these would be left. Then the longest, then the rest as asked.
pub(super) fn in_turn<'a>(
    ids: &'a [String],
    settings: &'a [Settings],
) -> Vec<(usize, &'a str, &'a Settings)> {
    let all = ids.iter().flat_map(|id| settings.iter().map(move |s| (id.as_str(), s)));
    let mut all: Vec<_> = all.enumerate().map(|(place, (id, s))| (place, id, s)).collect();
    all.sort_by_key(|(place, id, settings)| {
        let is_large = 2 * memory_mib(id, settings) > MEMORY_MIB;
        (Reverse(is_large), Reverse(plan_of(id).map_or(0, |plan| plan.run_s)), *place)
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_ones_begin_first_then_the_longest_and_others_as_asked() {
        let ids = ["compound-fig1", "kvaccel-adaptive", "bandslim-dlt", "plus-ablation"].map(str::to_owned);
        let settings = [1, 2].map(|seed| Settings { seed: Some(seed), ..Settings::default() });
        let order =
            in_turn(&ids, &settings).into_iter().map(|(place, id, s)| (place, id, s.seed.unwrap_or(0)));
        let large = [(6, "plus-ablation", 1), (7, "plus-ablation", 2)];
        let long = [(2, "kvaccel-adaptive", 1), (3, "kvaccel-adaptive", 2)];
        let short = [
            (0, "compound-fig1", 1),
            (1, "compound-fig1", 2),
            (4, "bandslim-dlt", 1),
            (5, "bandslim-dlt", 2),
        ];
        assert_eq!(order.collect::<Vec<_>>(), [&large[..], &long, &short].concat());
    }
}
