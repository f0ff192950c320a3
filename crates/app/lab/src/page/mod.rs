// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reports as HTML: no scripts, no fonts, nothing from elsewhere. They follow the reader's light or dark
//! setting.

mod compare;
mod experiment;
mod given;
mod glossary;
mod papers;
mod reproduce;
mod table;

use crate::chart::{self, Figure};
use maud::{DOCTYPE, Markup, PreEscaped, html};

pub use compare::{Panel, compare};
pub use given::{About, Run};
pub use reproduce::{Page, name_of, reproduce};

const STYLE: &str = include_str!("style.css");

/// The frame of every page.
fn frame(title: &str, facts: &[(&str, String)], body: Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { (title) }
                    dl.facts { @for (name, value) in facts { div { dt { (name) } dd { (value) } } } }
                }
                main { (body) }
            }
        }
    };
    page.into_string()
}

/// A chart inside a page.
fn drawing(figure: &Figure) -> Markup {
    let svg = chart::themed(&chart::svg(figure));
    html! { figure role="img" aria-label=(figure.title) { (PreEscaped(svg)) } }
}
