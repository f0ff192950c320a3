// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The report of experiments: a first page with the index and the words, and a page for each experiment.

use crate::page::experiment::{self, Around};
use crate::page::frame;
use crate::page::given::{About, FIRST, Run, seconds, words};
use crate::page::glossary::glossary;
use crate::page::papers::{OWN, PAPERS, Paper};
use crate::plan::Plan;
use crate::report::{Check, Origin, Verdict};
use maud::{Markup, html};
use std::time::Duration;

/// A file of the report.
#[derive(Clone, Debug)]
pub struct Page {
    /// Its name.
    pub file: String,
    /// What is in it.
    pub html: String,
}

/// The pages, the first one first. `plan_of` knows the titles and charts of experiments.
pub fn reproduce(about: &About, runs: &[Run<'_>], plan_of: &dyn Fn(&str) -> Option<Plan>) -> Vec<Page> {
    let names: Vec<String> = (0..runs.len()).map(|n| name_of(runs, n)).collect();
    let plans: Vec<Option<Plan>> = runs.iter().map(|run| plan_of(&run.experiment.id)).collect();
    let mut pages = vec![Page { file: FIRST.to_owned(), html: first(about, runs, &names, &plans) }];
    for (n, run) in runs.iter().enumerate() {
        let neighbour = |n: Option<usize>| n.and_then(|n| names.get(n)).map(String::as_str);
        let around = Around { before: neighbour(n.checked_sub(1)), after: neighbour(Some(n + 1)) };
        let html = experiment::page(about, run, plans[n].as_ref(), around);
        pages.push(Page { file: format!("{}.html", names[n]), html });
    }
    pages
}

/// Files of a run are named so. Swept experiments share an id.
pub fn name_of(runs: &[Run<'_>], place: usize) -> String {
    let id = &runs[place].experiment.id;
    match runs[..place].iter().filter(|run| run.experiment.id == *id).count() {
        0 => id.clone(),
        earlier => format!("{id}-sweep{earlier}"),
    }
}

/// One value, or that there are several.
fn only(mut values: impl Iterator<Item = u64>) -> String {
    let Some(one) = values.next() else { return "none".to_owned() };
    if values.all(|value| value == one) { one.to_string() } else { "as on each page".to_owned() }
}

fn first(about: &About, runs: &[Run<'_>], names: &[String], plans: &[Option<Plan>]) -> String {
    let checks = || runs.iter().flat_map(|run| &run.experiment.checks);
    let count = |verdict| {
        let of = |origin| checks().filter(|c| c.verdict == verdict && c.origin == origin).count();
        match of(Origin::Own) {
            0 => of(Origin::Published).to_string(),
            own => format!("{} published, {own} own", of(Origin::Published)),
        }
    };
    let took: Option<Duration> = runs.iter().map(|run| run.took).sum();
    let facts = [
        ("saker", about.version.clone()),
        ("commit", about.commit.clone().unwrap_or_else(|| "not known".to_owned())),
        ("date", about.date.clone()),
        ("machine", about.machine.clone()),
        ("command", about.command.clone()),
        ("seed", only(runs.iter().map(|run| run.experiment.seed))),
        ("run time, one after the other", took.map_or_else(|| "not known".to_owned(), seconds)),
        ("experiments", runs.len().to_string()),
        ("pass", count(Verdict::Pass)),
        ("fail", count(Verdict::Fail)),
        ("cannot follow", count(Verdict::CannotFollow)),
    ];
    let body = html! {
        section {
            p { "A claim passes when the measurement lies within its tolerance. A miss stays a miss, with its measured cause. "
                "\u{201c}Cannot follow\u{201d} marks a claim that contradicts the arithmetic of its own publication. "
                "Times are those of the named profile in virtual time; the same seed gives the same numbers on any machine. "
                a href="#glossary" { "How to read it" } "." }
        }
        @for paper in PAPERS.iter().chain([&OWN]) { (of_paper(paper, runs, names, plans)) }
        (glossary())
    };
    frame("Published claims, measured", &facts, body)
}

/// The experiments of a paper.
fn of_paper(paper: &Paper, runs: &[Run<'_>], names: &[String], plans: &[Option<Plan>]) -> Markup {
    let is_of = |n: &usize| Paper::of(&runs[*n].experiment.id).name == paper.name;
    let mine: Vec<usize> = (0..runs.len()).filter(is_of).collect();
    html! { @if !mine.is_empty() { section {
        h2 { (paper.name) }
        p.source { (paper.citation) }
        table.index {
            thead { tr { th { "experiment" } th { "what it shows" } th { "verdicts" } th.number { "time" } } }
            tbody { @for n in mine { tr {
                td { a href={ (names[n]) ".html" } { (names[n]) } }
                td { (plans[n].as_ref().map_or("", |plan| plan.title.as_str())) }
                td { (verdicts(&runs[n].experiment.checks)) }
                td.number { (runs[n].took.map_or(String::new(), seconds)) }
            } } }
        }
    } } }
}

fn verdicts(checks: &[Check]) -> Markup {
    let count = |verdict| checks.iter().filter(|c| c.verdict == verdict).count();
    html! { @for verdict in [Verdict::Pass, Verdict::Fail, Verdict::CannotFollow] {
        @if count(verdict) > 0 { span class={ "badge " (verdict.name()) } { (count(verdict)) " " (words(verdict)) } " " }
    } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Settings;
    use crate::report::Experiment;
    use crate::run::{plan_of, run};

    fn pages(ids: &[&str], changed: &[(String, String)]) -> Vec<Page> {
        let settings = Settings { scale: Some(100_000), profile: changed.to_vec(), ..Settings::default() };
        let done: Vec<Experiment> = ids.iter().map(|id| run(id, &settings).unwrap()).collect();
        let took = Some(Duration::from_millis(1500));
        let runs: Vec<Run<'_>> = done.iter().map(|experiment| Run { experiment, took, changed }).collect();
        let about = About { commit: Some("abc123".into()), machine: "a machine".into(), ..About::default() };
        reproduce(&about, &runs, &plan_of)
    }

    #[test]
    fn every_experiment_has_a_page_and_a_line_in_the_index() {
        let pages = pages(&["bandslim-fig8", "compound-tkey", "bandslim-fig8"], &[]);
        let files: Vec<&str> = pages.iter().map(|page| page.file.as_str()).collect();
        assert_eq!(
            files,
            ["report.html", "bandslim-fig8.html", "compound-tkey.html", "bandslim-fig8-sweep1.html"]
        );
        for file in &files[1..] {
            assert!(pages[0].html.contains(&format!("href=\"{file}\"")), "{file} is not in the index");
        }
        for words in
            ["BandSlim", "Compound commands", "abc123", "a machine", "4.50 s", "PP1, PP3", "identity"]
        {
            assert!(pages[0].html.contains(words), "{words} is not on the first page");
        }
        assert!(!pages[0].html.contains("ByteExpress"), "a paper of which nothing was run");
    }

    /// Claim, figure, verdict, cause, chart, published points, knobs, run time, command.
    #[test]
    fn a_page_has_what_an_artifact_appendix_has() {
        let changed = [("transfer.page_dma_ns".to_owned(), "1500".to_owned())];
        let pages = pages(&["bandslim-fig8"], &changed);
        let expected = [
            "half of the baseline&#39;s|half of the baseline's",
            "Fig. 8",
            "badge fail",
            "Cause",
            "<svg",
            "published: up to 97.9 %",
            "value_bytes",
            "1.50 s",
            "saker reproduce run bandslim-fig8 --scale 100000 --set &#39;profile.transfer.page_dma_ns=1500&#39;|--set 'profile.transfer.page_dma_ns=1500'",
            "All 36 points",
        ];
        for words in expected {
            assert!(
                words.split('|').any(|words| pages[1].html.contains(words)),
                "{words} is not on the page"
            );
        }
    }
}
