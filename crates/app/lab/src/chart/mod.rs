// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Charts: figures from series, drawn as SVG.

pub mod axis;
mod figure;
mod style;
mod svg;
mod text;

pub use figure::{Figure, Line};
pub use style::themed;
pub use svg::svg;
