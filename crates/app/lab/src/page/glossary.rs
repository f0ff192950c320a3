// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the words of a report mean.

use maud::{Markup, html};

const VERDICTS: [(&str, &str); 3] = [
    ("pass", "The measurement lies within the tolerance."),
    ("fail", "It does not. The cause is measured where it could be; a miss is never tuned away."),
    (
        "cannot follow",
        "The claim contradicts the arithmetic of its own publication, or names what no text gives.",
    ),
];

const TOLERANCES: [(&str, &str); 4] = [
    (
        "EXACT",
        "Equal. Over random draws: equal to an independent count over the run's own sizes, and within 0.5 % of the published mean.",
    ),
    ("PP1, PP3", "So many percentage points at most; both numbers are percentages."),
    ("R2 to R25", "So many per cent of the published number at most."),
    ("ORD", "Order or shape: each part that is listed holds, and a part that does not is marked."),
];

const EVIDENCE: [(&str, &str); 5] = [
    ("reproduced", "A mechanism was run and shows it."),
    (
        "arithmetic",
        "It follows from sizes and counts, computed with the program's own encoders and geometry.",
    ),
    ("fitted", "A parameter was chosen so that it does: no evidence."),
    (
        "identity",
        "Both sides are one quantity, or do not depend on what is varied: it could not have come out otherwise.",
    ),
    ("own", "The claim is this program's, not a publication's. It is counted apart."),
];

const OTHERS: [(&str, &str); 4] = [
    (
        "after a fit",
        "What a claim comes to with one number of the profile fitted to another published figure. It is no verdict.",
    ),
    (
        "scale 1/N",
        "The run has one Nth of the published operations, and of the sizes that have to shrink with them.",
    ),
    (
        "profile",
        "The device: its latencies, sizes and prices, each with its source. Times are virtual: they are the profile's.",
    ),
    (
        "\u{25c7} in a chart",
        "A published number, where the text states one. A ratio is drawn over our own line that it refers to.",
    ),
];

/// The section.
pub fn glossary() -> Markup {
    let list = |name: &str, words: &[(&str, &str)]| {
        html! {
            h3 { (name) }
            dl.glossary { @for (word, meaning) in words { div { dt { (word) } dd { (meaning) } } } }
        }
    };
    html! { section id="glossary" {
        h2 { "How to read it" }
        (list("Verdicts", &VERDICTS))
        (list("Tolerances", &TOLERANCES))
        (list("What an agreement is worth", &EVIDENCE))
        (list("Other words", &OTHERS))
    } }
}
