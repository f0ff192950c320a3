// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The verdicts.

use super::cuts::{Ack, Tally};
use super::ways::Way;
use super::{Cell, Parameters, layout};
use crate::context::Context;
use crate::judge::Part;
use crate::report::Check;
use saker_device::EngineKind;
use saker_host::Method;

/// Judges all claims. `unsummed`: what groups are without checksums.
pub fn judge(
    cx: &Context<'_>,
    plan: &Parameters,
    cells: &[Cell],
    tallies: &[Tally],
    unsummed: &str,
) -> Vec<Check> {
    let found = Found { plan, cells, tallies };
    let mut book = cx.book();
    let (wrong, note) = found.miscounted();
    book.numbers("AC-batching-all-1", &[wrong], note);
    let note = "Every cut is behind a put or within a command. A put into a container waits for nobody, so what is in flight is lost \
                with what is open; only a sync ends that.";
    book.order("AC-batching-all-2", &found.lost(), note);
    book.order("AC-batching-all-3", &found.torn(), found.torn_groups());
    let bulk = found.over(Way::Bulk, Way::Group);
    let note = format!("{} {unsummed}", range(&bulk));
    let (_, most) = least_and_most(&bulk);
    book.order("AC-batching-all-4", &[Part::new("bulk put over group, at most", most, most < 1.0)], note);
    book.order("AC-batching-all-5", &found.small(), found.rates());
    let transactions = found.over(Way::Transaction, Way::Group);
    let (least, _) = least_and_most(&transactions);
    let part = Part::new("transaction over group, at least", least, least >= 0.9);
    book.order("AC-batching-all-6", &[part], range(&transactions));
    let rate = found.best(Way::Transaction);
    book.order("AC-batching-all-7", &[Part::new("most pairs a second of transactions", rate, true)], "");
    let rate = found.best(Way::Single(Method::Prp));
    book.order("AC-batching-all-8", &[Part::new("most pairs a second of single stores", rate, true)], "");
    book.finish()
}

struct Found<'a> {
    plan: &'a Parameters,
    cells: &'a [Cell],
    tallies: &'a [Tally],
}

/// A ratio, and where it was found.
type Ratio = (f64, String);

fn least_and_most(ratios: &[Ratio]) -> (f64, f64) {
    let all = || ratios.iter().map(|(ratio, _)| *ratio);
    (all().fold(f64::MAX, f64::min), all().fold(f64::MIN, f64::max))
}

fn range(ratios: &[Ratio]) -> String {
    let by = |a: &&Ratio, b: &&Ratio| a.0.total_cmp(&b.0);
    match (ratios.iter().min_by(by), ratios.iter().max_by(by)) {
        (Some(least), Some(most)) => {
            format!("From {:.2} ({}) to {:.2} ({}).", least.0, least.1, most.0, most.1)
        }
        _ => String::new(),
    }
}

impl Found<'_> {
    fn miscounted(&self) -> (f64, String) {
        let compared: Vec<_> =
            self.cells.iter().filter_map(|c| Some((c, layout::published(self.plan, c)?))).collect();
        let wrong: Vec<_> = compared
            .iter()
            .filter(|(c, published)| layout::moved(c) != *published)
            .map(|(c, published)| {
                let moved = layout::moved(c);
                let place = format!("{}, {} B, depth {}", c.profile, c.value_bytes, c.depth);
                format!("{} x{}, {place}: {moved} for {published}", c.way.name(), c.batch)
            })
            .collect();
        (
            wrong.len() as f64,
            format!(
                "Of {} cells. Sessions are counted when the last put is stored: completions of commands before it that are not posted by \
                 then, 16 B each, are missing. {}",
                compared.len(),
                wrong.join("; ")
            ),
        )
    }

    fn lost(&self) -> Vec<Part> {
        let part = |t: &Tally| {
            let lost = f64::from(t.lost_max);
            let holds = match t.ack {
                Ack::Bulk | Ack::Container => t.lost_max == t.batch - 1,
                Ack::Single | Ack::Synced | Ack::Group | Ack::Transaction => t.lost_max == 0,
            };
            Part::new(
                format!("{:?} with {}, batches of {}: most lost", t.ack, t.engine.name(), t.batch),
                lost,
                holds,
            )
        };
        self.tallies.iter().map(part).collect()
    }

    fn torn(&self) -> Vec<Part> {
        let sum = |ack: Ack, engines: &[EngineKind]| {
            let of = self.tallies.iter().filter(|t| t.ack == ack && engines.contains(&t.engine));
            of.map(|t| t.torn).sum::<u64>() as f64
        };
        let all = EngineKind::ALL;
        let records = [EngineKind::HASH_STORE, EngineKind::LSM, EngineKind::TREE];
        let (transactions, singles) = (sum(Ack::Transaction, all), sum(Ack::Single, all));
        let groups = sum(Ack::Group, &records);
        vec![
            Part::new("torn transactions", transactions, transactions == 0.0),
            Part::new("torn batches of singles", singles, singles > 0.0),
            Part::new("torn groups of hash_store, lsm and tree", groups, groups == 0.0),
        ]
    }

    fn torn_groups(&self) -> String {
        let states: u64 = self.tallies.iter().map(|t| t.states).sum();
        let each = self.tallies.iter().filter(|t| t.torn > 0 && t.ack != Ack::Single);
        let each: Vec<String> =
            each.map(|t| format!("{:?} with {}, {}: {}", t.ack, t.engine.name(), t.batch, t.torn)).collect();
        format!("{states} states. Torn besides singles: {}.", each.join("; "))
    }

    fn rate(&self, like: &Cell, way: Way) -> Option<f64> {
        let is_it = |c: &&Cell| {
            let place = (&c.profile, c.batch, c.value_bytes, c.depth);
            c.way == way && place == (&like.profile, like.batch, like.value_bytes, like.depth)
        };
        self.cells.iter().find(is_it).map(|c| c.result.rate())
    }

    /// One way over another at every place that both have, from batches of two on.
    fn over(&self, way: Way, other: Way) -> Vec<Ratio> {
        let cells = self.cells.iter().filter(|c| c.way == way && c.batch > 1);
        let ratio = |c: &Cell| {
            let place = format!("{}, {} B, depth {}, x{}", c.profile, c.value_bytes, c.depth, c.batch);
            Some((c.result.rate() / self.rate(c, other)?, place))
        };
        cells.filter_map(ratio).collect()
    }

    fn best(&self, way: Way) -> f64 {
        self.cells.iter().filter(|c| c.way == way).map(|c| c.result.rate()).fold(0.0, f64::max)
    }

    /// The most pairs a second on cosmos-plus at depth 1.
    fn at(&self, value_bytes: usize, is_it: impl Fn(Way) -> bool) -> f64 {
        let of = |c: &&Cell| {
            c.profile == "cosmos-plus" && c.depth == 1 && c.value_bytes == value_bytes && is_it(c.way)
        };
        self.cells.iter().filter(of).map(|c| c.result.rate()).fold(f64::NAN, f64::max)
    }

    fn small(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        for size in self.plan.value_bytes.iter().copied() {
            let single = |method| self.at(size, |way| way == Way::Single(method));
            let inline = single(Method::Inline) / single(Method::Prp);
            match size {
                ..=64 => parts.push(Part::new(format!("inline over PRP, {size} B"), inline, inline > 1.0)),
                1024.. => parts.push(Part::new(format!("inline over PRP, {size} B"), inline, inline < 1.0)),
                _ => {}
            }
            let alone = self.at(size, |way| matches!(way, Way::Single(_) | Way::Adaptive));
            let containers = self.at(size, |way| way == Way::Saker(Method::Prp)) / alone;
            parts.push(Part::new(
                format!("containers over the best method alone, {size} B"),
                containers,
                containers > 1.0,
            ));
        }
        parts
    }

    fn rates(&self) -> String {
        let size = |size: &usize| {
            let each: Vec<String> = Way::all()
                .into_iter()
                .map(|way| format!("{} {:.0}", way.name(), self.at(*size, |w| w == way) / 1e3))
                .collect();
            format!("{size} B: {}", each.join(", "))
        };
        let sizes: Vec<String> = self.plan.value_bytes.iter().map(size).collect();
        format!("Thousand pairs a second, cosmos-plus at depth 1, best batch of each: {}.", sizes.join("; "))
    }
}
