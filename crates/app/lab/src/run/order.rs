// SPDX-License-Identifier: Apache-2.0 OR MIT
//! In which order experiments begin.

use crate::plan::Settings;
use crate::run::plan_of;
use std::cmp::Reverse;

/// Experiments with their settings and their places among all results, in the order in which they begin: the longest first, others as asked.
pub(super) fn in_turn<'a>(
    ids: &'a [String],
    settings: &'a [Settings],
) -> Vec<(usize, &'a str, &'a Settings)> {
    let all = ids.iter().flat_map(|id| settings.iter().map(move |s| (id.as_str(), s)));
    let mut all: Vec<_> = all.enumerate().map(|(place, (id, s))| (place, id, s)).collect();
    all.sort_by_key(|(place, id, _)| (Reverse(plan_of(id).map_or(0, |plan| plan.run_s)), *place));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_begin_first_and_others_as_asked() {
        let ids = ["compound-fig1", "kvaccel-adaptive", "bandslim-dlt"].map(str::to_owned);
        let settings = [1, 2].map(|seed| Settings { seed: Some(seed), ..Settings::default() });
        let order =
            in_turn(&ids, &settings).into_iter().map(|(place, id, s)| (place, id, s.seed.unwrap_or(0)));
        let long = [(2, "kvaccel-adaptive", 1), (3, "kvaccel-adaptive", 2)];
        let short = [
            (0, "compound-fig1", 1),
            (1, "compound-fig1", 2),
            (4, "bandslim-dlt", 1),
            (5, "bandslim-dlt", 2),
        ];
        assert_eq!(order.collect::<Vec<_>>(), [&long[..], &short].concat());
    }
}
